"""What the value of a true answer must be under its declared type.

A value of another type is one that no response equals: the benchmark would look like a model that is always wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from hylo_core.canonical import MAX_SAFE_INTEGER, describe
from hylo_core.errors import ContractError

_DIGITS: Final = re.compile(r"-?[0-9]{1,4300}")
"""As many as a response's integer may have."""
_EXPONENT_FROM: Final = 1e21


def check_answer_value(answer_type: str, value: object) -> None:
    """Refuse a value that is none of its type. Of a type that the contract does not register, every value is one.

    Raises:
        ContractError: With the path ``answer.value``.
    """
    fits, wanted = _VALUES.get(answer_type.strip(), (_anything, ""))
    if not fits(value):
        reason = f"must be {wanted} because its type is {answer_type.strip()!r}, not {describe(value)}"
        raise ContractError(reason, path="answer.value")


def written_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """The typed answer with the number that its text denotes, where a number was written as text."""
    if answer["type"].strip() in ("integer", "number") and isinstance(answer["value"], str):
        return {**answer, "value": int(answer["value"])}
    return answer


def written_by_digits(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The typed answer as a benchmark file can hold it: of a number that JSON readers would round, the digits as text.

    Raises:
        ContractError: Such a number stands within the value, where no text means one.
    """
    value = answer["value"]
    if answer["type"].strip() in ("integer", "number") and _is_rounded(value):
        return {**answer, "value": str(int(value))}
    if rounded := next((item for item in _numbers(value) if _is_rounded(item)), None):
        raise ContractError(
            f"holds the number {describe(rounded)}, which JSON readers round; only an answer that is one number "
            "(type integer or number) may be that large",
            path="answer.value",
        )
    return dict(answer)


def _is_rounded(value: object) -> bool:
    """Whether JSON writes it as an integer that readers may round; larger floats have an exponent there."""
    if isinstance(value, float):
        return MAX_SAFE_INTEGER < abs(value) < _EXPONENT_FROM and value.is_integer()
    return isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER


def _numbers(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for item in cast("Mapping[str, object]", value).values():
            yield from _numbers(item)
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[object]", value):
            yield from _numbers(item)
    else:
        yield value


def _anything(_: object) -> bool:
    return True


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_filled_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return _DIGITS.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return _is_number(value) and (not isinstance(value, float) or value.is_integer())


def _is_plain_integer(value: object) -> bool:
    return _is_integer(value) and not isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _is_index_list(value: object) -> bool:
    return _is_list(value) and all(map(_is_plain_integer, cast("Sequence[object]", value)))


_VALUES: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "integer": (_is_integer, "an integer (beyond 2**53: its digits as text)"),
    "number": (_is_number, "a number (beyond 2**53: its digits as text)"),
    "string": (_is_text, "a text"),
    "option_letter": (_is_filled_text, "the letter as text"),
    "pi_expression": (lambda value: _is_filled_text(value) or _is_number(value), "a text such as '18pi'"),
    "index_list": (_is_index_list, "a list of integers"),
    "matrix": (_is_list, "a list"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "object": (lambda value: isinstance(value, Mapping), "a table"),
}
"""By type: whether a value is one, and what it must be in words."""
