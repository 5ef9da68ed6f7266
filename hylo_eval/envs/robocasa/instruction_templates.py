"""Templates of RoboCasa's instructions, read from the source of its tasks; nothing is run.

A task words its instruction in ``get_ep_meta``, mostly as one text with values in it. Where that is so, its template is
that text with named fields; where the wording has branches or is put together in steps, it is the one field
``{instruction}``, which says only that the text is known after the reset.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any, Final

UNKNOWN: Final = "{instruction}"
"""The template of a task whose wording cannot be told from one text."""

_CHANGES_LETTERS_ALONE = ("capitalize", "lower", "upper", "replace", "strip")


def template_of(task_class: type[Any]) -> str:
    """The template of a task's instruction.

    Args:
        task_class: A class with ``get_ep_meta``, whose source can be read.
    """
    written: list[ast.expr] = []
    for owner in task_class.__mro__:
        method = vars(owner).get("get_ep_meta")
        if method is None:
            continue
        function = ast.parse(textwrap.dedent(inspect.getsource(method))).body[0]
        written = _assignments(function)
        if written:
            break
    # The text that is sampled instead (novel_instructions) is another setting of the env, which Hylo leaves off.
    plain = [value for value in written if "novel_instructions" not in ast.unparse(value)]
    if len(plain) != 1:
        return UNKNOWN
    return _template(plain[0]) or UNKNOWN


def _assignments(function: ast.AST) -> list[ast.expr]:
    """What is written to the member ``lang``, in order; an addition to it counts as one more."""
    found: list[ast.expr] = []
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if not isinstance(node, ast.Assign | ast.AugAssign):
            continue
        if any(isinstance(target, ast.Subscript) and ast.unparse(target.slice) == "'lang'" for target in targets):
            found.append(node.value)
    return found


def _template(value: ast.expr) -> str | None:
    parts = value.values if isinstance(value, ast.JoinedStr) else [value]
    written: list[str] = []
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            written.append(part.value.replace("{", "{{").replace("}", "}}"))
        elif isinstance(part, ast.FormattedValue):
            written.append(f"{{{_field(part.value)}}}")
        else:
            return None
    return "".join(written)


def _field(value: ast.expr) -> str:
    """A plain name for an expression: ``self.fxtr.nat_lang`` is ``fxtr``, ``self.get_obj_lang('cup')`` is ``cup``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in _CHANGES_LETTERS_ALONE:
            value = value.func.value
        elif value.func.attr == "get_obj_lang":
            return _plain(ast.unparse(value.args[0]) if value.args else "obj")
        else:
            break
    return _plain(ast.unparse(value).removeprefix("self.").removesuffix(".nat_lang"))


def _plain(text: str) -> str:
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return name if name.isidentifier() else "value"
