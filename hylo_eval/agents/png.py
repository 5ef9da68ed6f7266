"""Pictures as PNG, lossless, with the standard library: what a model is sent is what the environment showed."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from hylo_eval.errors import AgentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 3: 2}
"""Channels to PNG colour type: grey and RGB."""


def encode_png(picture: NDArray[np.uint8]) -> bytes:
    """A PNG of the same size and values (RFC 2083).

    Args:
        picture: uint8, shape (height, width), (height, width, 1) or (height, width, 3), top row first, RGB.

    Raises:
        AgentError: It has another shape or dtype.
    """
    channels = 1 if picture.ndim == 2 else picture.shape[-1]
    if str(picture.dtype) != "uint8" or picture.ndim not in (2, 3) or channels not in _COLOUR_TYPES or not picture.size:
        raise AgentError(f"a picture of shape {picture.shape} and dtype {picture.dtype} cannot be sent as PNG")
    height, width = picture.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    # Each row starts with its filter type; 0 is none.
    rows = b"".join(b"\x00" + picture[row].tobytes() for row in range(height))
    return b"".join(
        [_SIGNATURE, _chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows, 6)), _chunk(b"IEND", b"")]
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
