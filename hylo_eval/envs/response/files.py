"""Picture files beside a benchmark file: found by a relative path, known by their SHA-256, decoded and never changed.

A picture is refused rather than converted where a conversion would change what is seen or where coordinates
lie: transparency, more than 8 bits, an EXIF rotation that viewers apply and pixel coordinates do not know of.
"""

from __future__ import annotations

import hashlib
import io
import stat
import warnings
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import attrs

from hylo_core.contract import Contract, integer, text
from hylo_core.errors import ContractError
from hylo_eval.errors import ABSENT, EnvError, MissingSimulator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_FILE_BYTES = 64 * 1024 * 1024
"""A picture file larger than this is refused unread."""
MAX_PIXELS = 50_000_000
"""A picture of more pixels than this is refused undecoded."""

_FORMATS = ("PNG", "JPEG", "WEBP", "BMP")
_MODES = ("RGB", "L")
_ORIENTATION_TAG = 0x0112


@attrs.frozen(kw_only=True)
class PictureFile(Contract):
    """A picture that a task shows.

    Attributes:
        path: Relative to the folder of the benchmark file, with ``/``, never out of that folder.
        sha256: Hex digest of the file.
        width: Columns, in pixels.
        height: Rows, in pixels.
    """

    path: str = attrs.field(validator=text(empty=False))
    sha256: str = attrs.field(validator=text(empty=False))
    width: int = attrs.field(validator=integer(minimum=1))
    height: int = attrs.field(validator=integer(minimum=1))

    def __attrs_post_init__(self) -> None:
        parts = PurePosixPath(self.path)
        if parts.is_absolute() or ".." in parts.parts or "\\" in self.path or "\0" in self.path:
            raise ContractError(
                f"must be relative to the benchmark file's folder and stay in it, not {self.path!r}", path="path"
            )
        if len(self.sha256) != 64 or set(self.sha256) - set("0123456789abcdef"):
            raise ContractError("must be 64 hex digits in lower case", path="sha256")


def describe_picture(folder: Path, path: str) -> PictureFile:
    """What a benchmark records of a picture file.

    Raises:
        EnvError: The file cannot be read, or is no picture that can be shown as it is.
        ContractError: The path leaves the folder.
    """
    unread = PictureFile(path=path, sha256="0" * 64, width=1, height=1)
    content = _read(folder, unread.path)
    pixels = _decode(content, unread.path)
    return attrs.evolve(
        unread, sha256=hashlib.sha256(content).hexdigest(), width=pixels.shape[1], height=pixels.shape[0]
    )


def load_picture(folder: Path, picture: PictureFile) -> NDArray[np.uint8]:
    """The pixels of a recorded picture: RGB, shape (height, width, 3), top row first.

    Raises:
        EnvError: The file cannot be read, or is not the one that was recorded.
        MissingSimulator: Pillow is not installed.
    """
    content = _read(folder, picture.path)
    if hashlib.sha256(content).hexdigest() != picture.sha256:
        message = f"the picture {picture.path!r} is not the one the benchmark was made with: its SHA-256 differs"
        raise EnvError(message, lasting=True)
    pixels = _decode(content, picture.path)
    if pixels.shape[:2] != (picture.height, picture.width):
        raise EnvError(
            f"the picture {picture.path!r} is {pixels.shape[1]} x {pixels.shape[0]} pixels, "
            f"the benchmark says {picture.width} x {picture.height}"
        )
    return pixels


def _read(folder: Path, path: str) -> bytes:
    """The bytes of a file in a folder; a link that leads out of the folder is refused."""
    try:
        found = (folder / path).resolve(strict=True)
        if not found.is_relative_to(folder.resolve()):
            raise EnvError(f"the picture {path!r} is a link out of the benchmark file's folder")
        status = found.stat()
        if not stat.S_ISREG(status.st_mode):
            raise EnvError(f"the picture {path!r} is no file")
        if status.st_size > MAX_FILE_BYTES:
            raise EnvError(f"the picture {path!r} is larger than {MAX_FILE_BYTES} bytes")
        return found.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot read the picture {path!r} beside the benchmark file ({folder}): {reason}"
        raise EnvError(message, lasting=isinstance(error, ABSENT)) from error


def _decode(content: bytes, path: str) -> NDArray[np.uint8]:
    import numpy as np

    image_module = _pillow()
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            image_module.open(io.BytesIO(content), formats=_FORMATS) as image,
        ):
            _refuse_what_would_change(image, path)
            return np.asarray(image.convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        raise EnvError(f"{path!r} is no picture that can be read ({', '.join(_FORMATS)}): {error}") from error


def _refuse_what_would_change(image: Any, path: str) -> None:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise EnvError(f"the picture {path!r} has {width} x {height} pixels, more than {MAX_PIXELS}")
    if image.mode not in _MODES or "transparency" in image.info:
        raise EnvError(
            f"the picture {path!r} has the mode {image.mode!r}; "
            "save it as 8-bit RGB or grey without transparency, so that everyone sees the same"
        )
    if image.getexif().get(_ORIENTATION_TAG, 1) != 1:
        raise EnvError(
            f"the picture {path!r} is stored rotated (EXIF orientation); save it upright, "
            "because pixel coordinates do not know of the rotation"
        )


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingSimulator("response", "response", "Pillow reads picture files and is missing") from error
    return Image
