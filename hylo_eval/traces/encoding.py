"""Numbers and pictures as trace lines hold them.

JSON has no NaN and orjson writes null for it in silence, so non-finite numbers are written as the texts ``"NaN"``,
``"Infinity"`` and ``"-Infinity"``. Pictures are kept out of the trace: it holds their digests.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from hylo_core.canonical import MAX_DEPTH
from hylo_core.errors import ContractError

MAX_INLINE_NUMBERS = 4096
"""An observation with more numbers than this is kept as a digest, as pictures are."""

NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode_number(value: float) -> float | str:
    """A number, or the text that stands for it when it is not finite."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def encode_value(value: Any) -> Any:  # noqa: PLR0911 - one case a kind of value
    """A value as orjson takes it (with ``OPT_SERIALIZE_NUMPY``), at any depth, with texts for non-finite numbers."""
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, np.dtype[Any]]", value)
        # orjson knows neither an array of no dimensions nor foreign byte orders and widths.
        unknown = array.ndim == 0 or not array.dtype.isnative or array.dtype.itemsize > 8
        if unknown or (array.dtype.kind == "f" and not np.isfinite(array).all()):
            return encode_value(array.tolist())
        return np.ascontiguousarray(array)
    if isinstance(value, np.floating):
        return encode_number(float(cast("Any", value)))
    if isinstance(value, np.generic):
        return encode_value(cast("Any", value).item())
    if isinstance(value, float):
        return encode_number(float(value))
    if isinstance(value, Mapping):
        return {key: encode_value(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [encode_value(item) for item in cast("list[Any]", value)]
    return value


def decode_numbers(value: Any, depth: int = 0) -> Any:
    """Undo :func:`encode_value` for numbers: the three texts become floats again, down to 64 levels.

    Raises:
        ContractError: The lists are nested deeper than any array is.
    """
    if isinstance(value, list):
        if depth > MAX_DEPTH:
            raise ContractError(f"is nested deeper than {MAX_DEPTH} levels")
        return [decode_numbers(item, depth + 1) for item in cast("list[Any]", value)]
    if isinstance(value, str):
        return NON_FINITE.get(value, value)
    return value


def is_picture(value: Any) -> bool:
    """Whether an observation is kept as a digest: a picture, or an array too large for a line."""
    if not isinstance(value, np.ndarray):
        return False
    array = cast("np.ndarray[Any, np.dtype[Any]]", value)
    return bool(array.dtype == np.uint8 and array.ndim >= 2) or array.size > MAX_INLINE_NUMBERS


def picture_digest(value: Any) -> str:
    """``sha256:`` digest of the raw pixels in row order; shape and dtype stand in the start event."""
    return f"sha256:{hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()}"


def split_observation(observation: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys kept as numbers or text, and the keys kept as digests."""
    pictures = tuple(key for key, value in observation.items() if is_picture(value))
    return tuple(key for key in observation if key not in pictures), pictures
