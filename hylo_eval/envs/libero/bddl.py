"""Reading the goal out of a BDDL file.

LIBERO's own reader passes angles to ``eval``; ours reads names and brackets, nothing else. LIBERO folds the whole
file to lower case, and so do we.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import attrs

from hylo_core.errors import ContractError
from hylo_core.expression import canonical_expression
from hylo_eval.errors import ABSENT, EnvError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32

_COMMENT = re.compile(r";[^\n]*")
_TOKEN = re.compile(r"[()]|[^\s()]+")

Group: TypeAlias = "list[str | Group]"


@attrs.frozen
class BddlProblem:
    """What we need of a BDDL problem.

    Attributes:
        name: The problem class, lower case (``libero_floor_manipulation``).
        language: The file's own instruction, as written.
        goal: The canonical S-expression of ``:goal``, lower case.
    """

    name: str
    language: str
    goal: str


def read_problem(path: Path) -> BddlProblem:
    """Read a BDDL file.

    Raises:
        EnvError: It cannot be read, or is no problem definition.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EnvError(
            f"cannot read the task definition {path}: {error.strerror}", lasting=isinstance(error, ABSENT)
        ) from error
    if len(content) > MAX_BYTES:
        raise EnvError(f"{path}: is larger than {MAX_BYTES} bytes, too large for a task definition")
    try:
        return parse_problem(content.decode())
    except UnicodeDecodeError as error:
        raise EnvError(f"{path}: is not UTF-8 text") from error
    except ContractError as error:
        raise EnvError(f"{path}: {error}") from error


def parse_problem(text: str) -> BddlProblem:
    """Read the text of a BDDL problem.

    Raises:
        ContractError: It is no problem definition, or lacks name, language or goal.
    """
    groups = _parse(text)
    if not groups or groups[0] != "define":
        raise ContractError("must begin with (define")
    members: dict[str, Group] = {}
    for group in groups[1:]:
        if not isinstance(group, str) and group and isinstance(group[0], str):
            members.setdefault(group[0].lower(), group)
    name = _one_word(members, "problem")
    language = _words(members, ":language")
    goal = members.get(":goal", [])
    if len(goal) != 2 or isinstance(goal[1], str):
        raise ContractError("must hold one bracketed expression", path=":goal")
    try:
        expression = canonical_expression(_format(goal[1]).lower())
    except ContractError as error:
        raise error.under(":goal") from None
    return BddlProblem(name=name.lower(), language=language, goal=expression)


def _parse(text: str) -> Group:
    stack: list[Group] = [[]]
    for word in _words_and_brackets(text):
        if word == "(":
            if len(stack) > MAX_DEPTH:
                raise ContractError(f"is nested deeper than {MAX_DEPTH} brackets")
            stack.append([])
        elif word == ")":
            if len(stack) == 1:
                raise ContractError("closes a bracket that was never opened")
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    if len(stack) > 1:
        raise ContractError("lacks a closing bracket")
    top = stack[0]
    if len(top) != 1 or isinstance(top[0], str):
        raise ContractError("must be one bracketed (define ...)")
    return top[0]


def _words_and_brackets(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(_COMMENT.sub("", text)):
        yield match.group()


def _one_word(members: dict[str, Group], key: str) -> str:
    words = _words(members, key)
    if len(words.split()) != 1:
        raise ContractError("must be one word", path=key)
    return words


def _words(members: dict[str, Group], key: str) -> str:
    if key not in members:
        raise ContractError("is missing", path=key)
    words = [word for word in members[key][1:] if isinstance(word, str)]
    if len(words) != len(members[key]) - 1:
        raise ContractError("must hold words only", path=key)
    return " ".join(words)


def _format(group: Group) -> str:
    parts = (part if isinstance(part, str) else _format(part) for part in group)
    return f"({' '.join(parts)})"
