"""What the fields of the queue's values may hold; a file somebody else wrote is checked by the same rules."""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from hylo_core.canonical import MAX_SAFE_INTEGER, describe, is_digest
from hylo_eval.errors import QueueError

if TYPE_CHECKING:
    from collections.abc import Callable

    import attrs

    Check = Callable[[Any, attrs.Attribute[Any], Any], None]

MAX_TEXT = 4096
"""Characters of a key, a name or a path: far above any real one."""

MAX_ERROR_TEXT = 16384
"""Characters of an error text; a longer one is cut to half of that."""


def _refuse(attribute: attrs.Attribute[Any], value: object, wanted: str) -> QueueError:
    return QueueError(f"{attribute.name} must be {wanted}, not {describe(value)}")


def text(*, empty: bool = False, limit: int = MAX_TEXT) -> Check:
    """A check for text that UTF-8 can hold, of at most ``limit`` characters."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not isinstance(value, str):
            raise _refuse(attribute, value, "text")
        if not value and not empty:
            raise _refuse(attribute, value, "a text that is not empty")
        if len(value) > limit:
            raise _refuse(attribute, value, f"a text of at most {limit} characters")
        # Lone surrogates are no text that a file can hold.
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise _refuse(attribute, value, "text without lone surrogates") from error

    return check


def whole_number(minimum: int = 0) -> Check:
    """A check for an integer from ``minimum`` to 2**53 - 1; a bool is none."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if type(value) is not int or not minimum <= value <= MAX_SAFE_INTEGER:
            raise _refuse(attribute, value, f"a whole number of at least {minimum}")

    return check


def finite(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Refuse what is no finite number."""
    if type(value) not in {int, float} or not math.isfinite(value):
        raise _refuse(attribute, value, "a finite number")


def flag(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Refuse what is neither true nor false; 0 and 1 are refused too."""
    if type(value) is not bool:
        raise _refuse(attribute, value, "true or false")


def flag_or_none(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Refuse what is neither true, false nor None; 0 and 1 are refused too."""
    if value is not None and type(value) is not bool:
        raise _refuse(attribute, value, "true, false or None")


def digest_or_empty(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Refuse what is neither empty nor ``sha256:<64 hexadecimal digits>``."""
    if not isinstance(value, str) or (value and not is_digest(value)):
        raise _refuse(attribute, value, "empty or 'sha256:<64 hexadecimal digits>'")


_relative_text = text(empty=True)


def relative_path_or_empty(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Refuse a path that is absolute or climbs out of the folder of the run."""
    _relative_text(instance, attribute, value)
    if value and (value[0] == "/" or "\0" in value or (".." in value and ".." in PurePosixPath(value).parts)):
        raise _refuse(attribute, value, "a path below the folder of the run")
