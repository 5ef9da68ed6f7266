"""The template grammar of instructions.

An instruction is static text, or a template with fields ``{name}`` that the environment fills at reset (RoboCasa:
``pick the {obj} from the {source}``). ``{{`` and ``}}`` stand for literal braces. A field is a plain identifier:
no attribute, index, conversion or format, so filling one never runs code.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hylo_core.errors import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def instruction_fields(template: str) -> tuple[str, ...]:
    """The field names of a template in order of first use; empty for static text.

    Raises:
        ContractError: A single brace, or a field that is not a plain identifier.
    """
    names: dict[str, None] = {}
    for match in _PART.finditer(template):
        if match.group(1) is not None:
            if not match.group(1).isidentifier():
                raise ContractError(
                    f"has the field {match.group(0)!r}; a field is a plain name such as {{obj}}, "
                    "and literal braces are written {{ and }}"
                )
            names[match.group(1)] = None
        elif match.group(0) in "{}":
            raise ContractError(
                f"has a single {match.group(0)!r} at character {match.start()}; write it twice for a literal brace"
            )
    return tuple(names)


def render_instruction(template: str, values: Mapping[str, str]) -> str:
    """Fill a template.

    Raises:
        ContractError: A field without a value, or a value without a field (it would change nothing).
    """
    fields = instruction_fields(template)
    missing = [name for name in fields if name not in values]
    unused = [name for name in values if name not in fields]
    if missing or unused:
        what = f"has no value for {{{missing[0]}}}" if missing else f"has no field for the value {unused[0]!r}"
        raise ContractError(what)

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        return match.group(0)[0] if name is None else values[name]

    return _PART.sub(fill, template)


def matches_instruction(template: str, text: str) -> bool:
    """Whether ``text`` can have come from ``template`` by filling its fields with something.

    Each literal is searched for from the left: if any division of the text matches, the one with the shortest fields
    does. So one pass is enough, where a regular expression with many fields would try every division.
    """
    literals, gaps = _literals(template)
    if not gaps:
        return text == literals[0]
    if not text.startswith(literals[0]) or not text.endswith(literals[-1]):
        return False
    position = len(literals[0])
    for literal, gap in zip(literals[1:-1], gaps, strict=False):
        # Each field takes at least one character.
        found = text.find(literal, position + gap)
        if found < 0:
            return False
        position = found + len(literal)
    return position + gaps[-1] <= len(text) - len(literals[-1])


def templates_meet(first: str, second: str) -> bool:
    """Whether there is a text that both templates can give; each field takes at least one character.

    Args:
        first: A template, or static text.
        second: Another.
    """
    ours, theirs = _tokens(first), _tokens(second)
    # reached[j]: whether ours up to the present token and theirs up to j can have come from one text.
    reached = [True, *(False for _ in theirs)]
    for j, token in enumerate(theirs):
        reached[j + 1] = reached[j] and token is _MORE
    for one in ours:
        before, reached = reached, [reached[0] and one is _MORE]
        for j, other in enumerate(theirs):
            if one is _MORE or other is _MORE:
                both = before[j + 1] or reached[j]
            else:
                both = before[j] and (one == other or one is _ANY or other is _ANY)
            reached.append(both)
    return reached[-1]


_ANY: Final = object()
"""One character of whatever kind."""
_MORE: Final = object()
"""Any number of them."""


def _tokens(template: str) -> list[object]:
    literals, gaps = _literals(template)
    tokens: list[object] = list(literals[0])
    for fields, literal in zip(gaps, literals[1:], strict=True):
        tokens += [*fields * [_ANY], _MORE, *literal]
    return tokens


@lru_cache(maxsize=256)  # asked at every reset of a task
def _literals(template: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The literal texts around the fields, and how many fields stand between each two: adjacent fields are one gap."""
    literals, gaps = [""], list[int]()
    position = 0
    for match in _PART.finditer(template):
        literals[-1] += template[position : match.start()]
        position = match.end()
        if match.group(1) is None:
            literals[-1] += match.group(0)[0]
        elif gaps and not literals[-1]:
            gaps[-1] += 1
        else:
            gaps.append(1)
            literals.append("")
    literals[-1] += template[position:]
    return tuple(literals), tuple(gaps)
