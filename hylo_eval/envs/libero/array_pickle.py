"""Reading the one numpy array in a pickle, without :mod:`pickle`.

A pickle is a program. The ones numpy writes for an array of numbers use two dozen opcodes and make three calls; this
interpreter knows those and nothing else, so a file can neither import, nor call, nor allocate more than it holds.
Opcodes: ``pickletools`` of the standard library, and PEP 307.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MARK: Final = object()


class RefusedFile(Exception):
    """What is wrong with a file, as the end of a sentence."""


@attrs.define
class Dtype:
    """A dtype by its code, such as ``f8``, and byte order."""

    code: str
    order: str = "|"

    def set_state(self, state: Any) -> None:
        """Take the byte order, as ``numpy.dtype.__setstate__`` does."""
        match state:
            case (_, str() as order, *_):
                self.order = order
            case _:
                raise RefusedFile("hold a dtype of unknown form")


@attrs.define
class ArrayRecord:
    """A two-dimensional array under construction."""

    shape: tuple[int, int] = (0, 0)
    dtype: Dtype | None = None
    fortran: bool = False
    content: bytes = b""

    def set_state(self, state: Any) -> None:
        """Take shape, dtype and bytes, as ``numpy.ndarray.__setstate__`` does."""
        match state:
            case (int(), (int() as rows, int() as columns), Dtype() as dtype, bool() as fortran, bytes() as content):
                if rows < 0 or columns < 0 or 8 * rows * columns != len(content):
                    raise RefusedFile("hold fewer or more bytes than their shape says")
                self.shape, self.dtype, self.fortran, self.content = (rows, columns), dtype, fortran, content
            case _:
                raise RefusedFile("hold an array of unknown form")

    def build(self) -> NDArray[np.float64]:
        """The array itself, float64."""
        import numpy as np

        if self.dtype is None or self.dtype.code != "f8" or self.dtype.order != "<":
            raise RefusedFile("hold numbers that are not little-endian float64, in two dimensions")
        flat = np.frombuffer(self.content, dtype="<f8")
        return np.array(flat.reshape(self.shape, order="F" if self.fortran else "C"), dtype=np.float64, order="C")


def read_array(content: bytes) -> NDArray[np.float64]:
    """The array in a pickle.

    Args:
        content: A pickle of one two-dimensional float64 array.

    Raises:
        RefusedFile: It is damaged, or anything else.
    """
    try:
        found = _interpret(io.BytesIO(content))
    except (ValueError, IndexError, KeyError) as error:
        raise RefusedFile(f"are damaged ({error})") from error
    if not isinstance(found, ArrayRecord):
        raise RefusedFile("hold no numpy array")
    return found.build()


@attrs.frozen
class _Name:
    """A global the pickle mentions; only named, never imported."""

    text: str


def _interpret(stream: io.BytesIO) -> Any:
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    while True:
        code = _exactly(stream, 1)
        if code == b".":
            return stack.pop()
        if code in _PUSHED:
            stack.append(_PUSHED[code](stream))
        elif code in _TUPLES:
            _make_tuple(stack, _TUPLES[code])
        elif code in _REMEMBER:
            memo[_REMEMBER[code](stream)] = stack[-1]
        elif code in _RECALL:
            stack.append(memo[_RECALL[code](stream)])
        elif code == b"R":
            arguments, function = stack.pop(), stack.pop()
            stack.append(_call(function, arguments))
        elif code == b"b":
            _set_state(stack.pop(), stack[-1])
        elif code == b"\x80":
            _exactly(stream, 1)
        else:
            raise RefusedFile(f"use the pickle opcode {code!r}, which no file of states needs")


def _exactly(stream: io.BytesIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise ValueError("they end too early")
    return content


def _integer(size: int, *, signed: bool = False) -> Callable[[io.BytesIO], int]:
    return lambda stream: int.from_bytes(_exactly(stream, size), "little", signed=signed)


def _bytes(length: int) -> Callable[[io.BytesIO], bytes]:
    return lambda stream: _exactly(stream, int.from_bytes(_exactly(stream, length), "little"))


def _text(length: int) -> Callable[[io.BytesIO], str]:
    read = _bytes(length)
    return lambda stream: read(stream).decode()


def _name(stream: io.BytesIO) -> _Name:
    module, name = stream.readline(256), stream.readline(256)
    return _Name(f"{module.decode().strip()}.{name.decode().strip()}")


def _constant(value: Any) -> Callable[[io.BytesIO], Any]:
    return lambda _: value


_PUSHED: Final[Mapping[bytes, Callable[[io.BytesIO], Any]]] = {
    b"N": _constant(None),
    b"\x88": _constant(value=True),
    b"\x89": _constant(value=False),
    b")": _constant(()),
    b"(": _constant(_MARK),
    b"c": _name,
    b"X": _text(4),
    b"\x8c": _text(1),
    b"B": _bytes(4),
    b"C": _bytes(1),
    b"J": _integer(4, signed=True),
    b"K": _integer(1),
    b"M": _integer(2),
}
_TUPLES: Final[Mapping[bytes, int | None]] = {b"t": None, b"\x85": 1, b"\x86": 2, b"\x87": 3}
_REMEMBER: Final = {b"q": _integer(1), b"r": _integer(4)}
_RECALL: Final = {b"h": _integer(1), b"j": _integer(4)}


def _make_tuple(stack: list[Any], size: int | None) -> None:
    if size is None:
        start = next((index for index in range(len(stack) - 1, -1, -1) if stack[index] is _MARK), None)
        if start is None:
            raise ValueError("a tuple without a beginning")
        stack[start:] = [tuple(stack[start + 1 :])]
    elif len(stack) < size:
        raise ValueError("a tuple without members")
    else:
        stack[-size:] = [tuple(stack[-size:])]


def _set_state(state: Any, target: Any) -> None:
    if not isinstance(target, (ArrayRecord, Dtype)):
        raise RefusedFile(f"want to change a {type(target).__name__}, which no file of states needs")
    target.set_state(state)


def _call(function: Any, arguments: Any) -> Any:
    """The three calls numpy's own pickles make."""
    match function, arguments:
        case _Name("numpy.core.multiarray._reconstruct" | "numpy._core.multiarray._reconstruct"), (
            _Name("numpy.ndarray"),
            tuple(),
            bytes(),
        ):
            return ArrayRecord()
        case _Name("numpy.dtype"), (str() as code, *_):
            return Dtype(code)
        case _Name("_codecs.encode"), (str() as text, "latin1"):
            return text.encode("latin1")
        case _:
            named = function.text if isinstance(function, _Name) else type(function).__name__
            raise RefusedFile(f"want to call {named}, which no file of states needs")
