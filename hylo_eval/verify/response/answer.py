"""The answer score: exact equality after canonical normalisation.

The canonical form of text is stripped and in lower case; of a finite number with an integral value, the
integer. True and False are no numbers, and a number that is not finite equals nothing: JSON has neither
equality. The order of mappings and sets does not matter, the order of sequences does.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from hylo_eval.verify.response.parsing import LenientParser


def answers_match(value: object, truth: object, answer_type: str, parser: LenientParser) -> bool:
    """Whether a predicted answer equals the truth.

    For every type but `string`, a text may also be the JSON of the answer: `"12"` equals the integer 12.
    The truth is never parsed, so the string "7" is not the number 7.

    Args:
        value: The predicted answer, or the whole response as text.
        truth: The true value.
        answer_type: The truth's declared type.
        parser: The parser of the response.
    """
    try:
        if same_value(truth, value):
            return True
        if not isinstance(value, str) or answer_type == "string":
            return False
        parsed = parser.parse(value)
        return parsed is not None and same_value(truth, parsed)  # what is nothing stays text, which is not null
    except RecursionError:  # a truth nested deeper than the stack; no answer is compared with it
        return False


def same_value(truth: object, value: object) -> bool:  # noqa: PLR0911 - one return a kind of value
    """Whether two values have the same canonical form. Recursion follows the truth, never the answer."""
    kind = type(truth)
    if kind is type(value) and (kind is int or kind is bool):
        return truth == value
    truth, value = _plain(truth), _plain(value)
    if isinstance(truth, str):
        return isinstance(value, str) and _text(truth) == _text(value)
    if isinstance(truth, bool) or isinstance(value, bool):
        return truth is value
    if isinstance(truth, Real):
        number = _number(truth)
        return number is not None and isinstance(value, Real) and number == _number(value)
    if isinstance(truth, Mapping):
        return isinstance(value, Mapping) and _same_mapping(
            cast("Mapping[object, object]", truth), cast("Mapping[object, object]", value)
        )
    if isinstance(truth, AbstractSet):
        if not isinstance(value, list | tuple | set | frozenset):
            return False
        return _same_members(list(cast("AbstractSet[object]", truth)), list(cast("Iterable[object]", value)))
    if _is_sequence(truth):
        return _same_sequence(cast("Sequence[object]", truth), value)
    return truth is value or (type(truth) is type(value) and bool(truth == value))


def answer_text(value: object) -> str | None:
    """An answer as text for scorers that compare text: compact JSON of its canonical form.

    Returns:
        Text as it is; None for a value that has no finite text.
    """
    value = _plain(value)
    if isinstance(value, str):
        return value
    try:
        return _canonical_text(value)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return str(value)
    except (ValueError, RecursionError):
        return None


def canonical_form(value: object) -> object:  # noqa: PLR0911 - one return a kind of value
    """The canonical form as JSON values; what JSON cannot hold stays as it is.

    Raises:
        RecursionError: The value nests deeper than the stack.
    """
    value = _plain(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Real):
        return _number(value)
    if isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        return {_key_text(key): canonical_form(item) for key, item in mapping.items()}
    if isinstance(value, AbstractSet):
        return sorted((canonical_form(item) for item in cast("AbstractSet[object]", value)), key=_json_text)
    if _is_sequence(value):
        return [canonical_form(item) for item in cast("Sequence[object]", value)]
    return value


def _plain(value: object) -> object:
    """NumPy scalars and arrays as Python values, an ellipsis as the text it is written as."""
    if value is ...:
        return "..."
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return cast("Any", value).tolist()
    return value


def _text(value: str) -> str:
    return value.strip().lower()


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)


def _number(value: Real) -> int | float | None:
    """An exact integer where the value is integral, else the float; None if it is not finite."""
    if isinstance(value, Integral):
        return int(value)
    try:
        number = float(value)
        return int(number) if number.is_integer() else number if math.isfinite(number) else None
    except OverflowError:
        return None


def _same_sequence(truth: Sequence[object], value: object) -> bool:
    if isinstance(value, set | frozenset):
        value = sorted(cast("Iterable[object]", value), key=_sort_key)
    if not isinstance(value, list | tuple):
        return False
    items = cast("Sequence[object]", value)
    return len(truth) == len(items) and all(map(same_value, truth, items))


def _same_mapping(truth: Mapping[object, object], value: Mapping[object, object]) -> bool:
    """Keys are compared as canonical text; of keys that collide, the last counts."""
    expected = {_key_text(key): item for key, item in truth.items()}
    given = {_key_text(key): item for key, item in value.items()}
    return expected.keys() == given.keys() and all(same_value(item, given[key]) for key, item in expected.items())


def _same_members(truth: list[object], items: list[object]) -> bool:
    """Whether two collections hold the same values, in any order and equally often."""
    if len(truth) != len(items):
        return False
    atoms: tuple[Counter[Hashable], Counter[Hashable]] = (Counter(), Counter())
    others: tuple[list[object], list[object]] = ([], [])
    for side, members in enumerate((truth, items)):
        for member in members:
            atom = _atom(_plain(member))
            if atom is None:
                others[side].append(member)
            else:
                atoms[side][atom] += 1
    if atoms[0] != atoms[1] or len(others[0]) != len(others[1]):
        return False
    left = others[1]
    for member in others[0]:
        position = next((index for index, item in enumerate(left) if same_value(member, item)), None)
        if position is None:
            return False
        left.pop(position)
    return True


def _atom(value: object) -> Hashable | None:
    """A key that equal simple values share; None for containers and for what equals nothing."""
    if value is None or isinstance(value, bool):
        return ("constant", value)
    if isinstance(value, str):
        return ("text", _text(value))
    if isinstance(value, Real):
        number = _number(value)
        return None if number is None else ("number", number)
    return None


def _key_text(key: object) -> str:
    """The text a mapping's key is compared by: 1 and "1" are one key, as in JSON."""
    key = _plain(key)
    if isinstance(key, str):
        return _text(key)
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, Real):
        number = _number(key)
        return hex(number) if isinstance(number, int) and number.bit_length() > 10_000 else str(number)
    return answer_text(key) or ""


def _sort_key(member: object) -> str:
    """Where a set's member stands when a set is compared with a sequence: by its compact JSON."""
    try:
        return _json_text(canonical_form(member))
    except (TypeError, ValueError):
        return answer_text(member) or ""


def _canonical_text(value: object) -> str:
    """Compact JSON of the canonical form.

    Raises:
        TypeError: The value holds something that JSON does not have.
        ValueError: It holds an integer too long to write.
    """
    form = canonical_form(value)
    return json.dumps(form, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
