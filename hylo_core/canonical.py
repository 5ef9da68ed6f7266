"""Canonical JSON (RFC 8785) and the digests made from it."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Any, cast

from hylo_core.errors import ContractError

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly (RFC 8785 section 3.2.2.3)."""

MAX_DEPTH = 64
"""Deepest nesting a contract accepts: far above any real task, far below the interpreter's recursion limit."""

LEAVES = frozenset({str, int, float, bool, type(None)})
"""The types of JSON values that hold no others; the check for one is much cheaper than that for a mapping."""

_EXPONENT_FROM = 1e21
"""From here on RFC 8785 writes a number with an exponent, and readers take it for a float."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def check_json(value: Any, path: str = "", depth: int = 0) -> None:  # noqa: C901, PLR0912 - one case a JSON type
    """Refuse what canonical JSON cannot hold exactly.

    Raises:
        ContractError: An integer of 2**53 or more, NaN or an infinity, a key that is not text, a lone surrogate,
            nesting deeper than 64, or a type JSON does not have. The path names the place.
    """
    if depth > MAX_DEPTH:
        raise ContractError(f"is nested deeper than {MAX_DEPTH} levels", path=path)
    match value:
        case None | bool():
            return
        case str():
            check_text(value, path)
        case int():
            if abs(value) > MAX_SAFE_INTEGER:
                raise ContractError(
                    f"holds the integer {_short(value)}, which JSON readers round; write it as text",
                    path=path,
                )
        case float():
            if not math.isfinite(value):
                raise ContractError(f"holds {value!r}; JSON has only finite numbers", path=path)
            if MAX_SAFE_INTEGER < abs(value) < _EXPONENT_FROM and value.is_integer():
                raise ContractError(
                    f"holds {value!r}, which is written as an integer that JSON readers round", path=path
                )
        case list() | tuple():
            for index, item in enumerate(cast("list[Any]", value)):
                if not _is_plain(item):
                    check_json(item, f"{path}[{index}]", depth + 1)
        case Mapping():
            for key, item in cast("Mapping[Any, Any]", value).items():
                if type(key) is not str or not key.isascii():
                    _check_key(key, path)
                if not _is_plain(item):
                    check_json(item, join(path, key), depth + 1)
        case _:
            raise ContractError(
                f"holds a {type(value).__name__}; only JSON values are allowed (convert it explicitly)",
                path=path,
            )


def _is_plain(value: object) -> bool:
    """Whether a leaf is certainly JSON; most are, and then nobody needs the path of it."""
    if type(value) is str:
        return value.isascii()
    if type(value) is int or type(value) is float:
        return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER  # NaN is not
    return value is None or type(value) is bool


def is_flat(members: Mapping[Any, Any]) -> bool:
    """Whether a mapping certainly is JSON and holds leaves alone; the cheap question before :func:`check_json`."""
    return all(type(key) is str and key.isascii() and _is_plain(item) for key, item in members.items())


def check_text(text: str, path: str) -> None:
    """Refuse text that UTF-8 cannot encode.

    Raises:
        ContractError: It holds a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContractError("holds a lone surrogate, which UTF-8 cannot encode", path=path) from error


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 encoding of a JSON value; ``1`` and ``1.0`` are the same number.

    Raises:
        ContractError: The value has no canonical encoding (see :func:`check_json`).
    """
    import rfc8785

    check_json(value)
    return rfc8785.dumps(_plain(value))


def digest(value: Any) -> str:
    """``sha256:<hex>`` of the canonical JSON of a value."""
    return digest_bytes(canonical_json(value))


def digest_bytes(data: bytes) -> str:
    """``sha256:<hex>`` of bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def is_digest(text: str) -> bool:
    """Whether a text has the form ``sha256:<64 hexadecimal digits>``."""
    return _DIGEST.fullmatch(text) is not None


def describe(value: object) -> str:
    """A value as an error text shows it: short, and with its type when the text alone would mislead."""
    text = _short(value) if isinstance(value, int) and not isinstance(value, bool) else _representation(value)
    if len(text) > 60:
        text = f"{text[:57]}..."
    return text if isinstance(value, (str, bool, int, float)) or value is None else f"{text} ({type(value).__name__})"


def join(path: str, key: str) -> str:
    """The path of a member: ``params`` and ``layout`` give ``params.layout``."""
    name = key if key.isidentifier() else repr(key)
    return f"{path}.{name}" if path else name


def _check_key(key: object, path: str) -> None:
    if not isinstance(key, str):
        raise ContractError(f"has the key {key!r} of type {type(key).__name__}; keys are text", path=path)
    check_text(key, path)


def _plain(value: Any) -> Any:
    """Frozen mappings and tuples as the dicts and lists that rfc8785 knows."""
    if type(value) in LEAVES:
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    return value


def _short(value: int) -> str:
    # Python refuses to print integers of more than 4300 digits.
    return str(value) if abs(value) < 10**40 else f"of {value.bit_length()} bits"


def _representation(value: object) -> str:
    try:
        return repr(value)
    except (Exception, SystemExit):  # noqa: BLE001 - it holds such an integer, or its __repr__ is somebody else's code
        return f"<{type(value).__name__}>"
