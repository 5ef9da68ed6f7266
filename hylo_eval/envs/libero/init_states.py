"""Reading LIBERO's recorded initial states, running nothing that stands in the file.

Two containers hold the same numbers: ``.npz`` in the self-contained package, and the original ``.pruned_init``, a
zip that ``torch.save`` wrote around one pickled numpy array. That pickle uses eighteen opcodes and four names; we
interpret exactly those, so there is neither torch nor :mod:`pickle` here, and anything else in the file is refused.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from hylo_eval.errors import EnvError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    States: TypeAlias = NDArray[np.float64]

MAX_BYTES: Final = 16 * 1024 * 1024
"""A file of 50 states is 20-70 kB; one larger than this is refused unread."""

_URI = re.compile(r"libero://([a-z][a-z0-9_]*)/([A-Za-z0-9_]+)\.pruned_init")
_MARK: Final = object()


def parse_uri(uri: str) -> tuple[str, str]:
    """Suite and task name of ``libero://<suite>/<task>.pruned_init``.

    Raises:
        EnvError: The URI has another form.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise EnvError(f"initial states have the form libero://<suite>/<task>.pruned_init, not {uri!r}")
    return match[1], match[2]


def resolve(uri: str, init_folder: Path) -> Path:
    """The file that a URI names, in whichever container is installed.

    Raises:
        EnvError: No such file, or a malformed URI.
    """
    suite, task = parse_uri(uri)
    original = init_folder / suite / f"{task}.pruned_init"
    converted = original.with_name(f"{original.name}.npz")
    for path in (original, converted):
        if path.is_file():
            return path
    raise EnvError(
        f"the installed LIBERO has no initial states for {uri} (looked for {original} and {converted.name})",
        fix="python -m pip install 'hylo-eval[libero]'",
    )


def read_states(path: Path, *, count: int) -> States:
    """Read a file of initial states.

    Args:
        path: A ``.pruned_init`` or ``.npz`` file.
        count: How many states there must be.

    Returns:
        Array of shape (count, 1 + nq + nv), float64: time, positions, velocities.

    Raises:
        EnvError: The file is missing, damaged, hostile, or holds something else.
    """
    import numpy as np

    try:
        if path.stat().st_size > MAX_BYTES:
            raise _Refused(f"is larger than {MAX_BYTES} bytes")
        states = _read_npz(path) if path.suffix == ".npz" else _read_torch_zip(path)
        if states.ndim != 2 or states.shape[0] != count or states.shape[1] < 3:
            raise _Refused(f"has shape {states.shape}; {count} rows of states are expected")
        if not np.isfinite(states).all():
            raise _Refused("holds numbers that are not finite")
    except OSError as error:
        raise EnvError(f"cannot read the initial states {path}: {error}") from error
    except zipfile.BadZipFile as error:
        raise EnvError(f"the initial states {path} are not a zip archive: {error}") from error
    except _Refused as error:
        raise EnvError(f"the initial states {path}: {error}") from error
    states.flags.writeable = False
    return states


def states_digest(states: States) -> str:
    """Digest of the numbers: the same whichever container they come from."""
    import numpy as np

    head = f"{states.shape[0]}x{states.shape[1]}:float64-le|".encode()
    body = np.ascontiguousarray(states, dtype="<f8").tobytes()
    return f"sha256:{hashlib.sha256(head + body).hexdigest()}"


class _Refused(Exception):
    """What is wrong with a file, as the end of a sentence."""


def _read_npz(path: Path) -> States:
    import numpy as np

    content = _member(path, lambda name: name == "states.npy")
    try:
        array: Any = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except ValueError as error:
        raise _Refused(f"hold no readable array: {error}") from error
    if array.dtype != np.dtype("<f8"):
        raise _Refused(f"hold {array.dtype}, not float64")
    return np.array(array, dtype=np.float64)


def _read_torch_zip(path: Path) -> States:
    found = _interpret(_member(path, lambda name: name == "data.pkl" or name.endswith("/data.pkl")))
    if not isinstance(found, _Array):
        raise _Refused("hold no numpy array")
    return found.build()


def _member(path: Path, wanted: Callable[[str], bool]) -> bytes:
    with zipfile.ZipFile(path) as archive:
        infos = [info for info in archive.infolist() if wanted(info.filename)]
        if len(infos) != 1:
            raise _Refused(f"hold {len(infos)} members of the expected name, not one")
        if infos[0].file_size > MAX_BYTES:
            raise _Refused(f"unpack to more than {MAX_BYTES} bytes")
        with archive.open(infos[0]) as stream:
            content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise _Refused(f"unpack to more than {MAX_BYTES} bytes")
    return content


@attrs.frozen
class _Name:
    """A global the pickle mentions; only named, never imported."""

    text: str


@attrs.define
class _Dtype:
    code: str
    order: str = "|"

    def set_state(self, state: Any) -> None:
        if not (isinstance(state, tuple) and len(state) >= 2 and isinstance(state[1], str)):
            raise _Refused("hold a dtype of unknown form")
        self.order = state[1]


@attrs.define
class _Array:
    """An array under construction, as ``numpy.ndarray.__setstate__`` gets it."""

    shape: tuple[int, ...] = ()
    dtype: _Dtype | None = None
    fortran: bool = False
    content: bytes = b""

    def set_state(self, state: Any) -> None:
        match state:
            case (int(), tuple() as shape, _Dtype() as dtype, bool() as fortran, bytes() as content):
                if not all(type(size) is int and 0 <= size <= MAX_BYTES for size in shape):
                    raise _Refused("hold an array of impossible shape")
                self.shape, self.dtype, self.fortran, self.content = shape, dtype, fortran, content
            case _:
                raise _Refused("hold an array of unknown form")

    def build(self) -> States:
        import math

        import numpy as np

        if self.dtype is None or self.dtype.code != "f8" or self.dtype.order != "<":
            raise _Refused("hold numbers that are not little-endian float64")
        if len(self.content) != 8 * math.prod(self.shape):
            raise _Refused("hold fewer or more bytes than their shape says")
        flat = np.frombuffer(self.content, dtype="<f8")
        return np.array(
            flat.reshape(self.shape, order="F" if self.fortran else "C"), dtype=np.float64, order="C"
        )


def _call(function: Any, arguments: Any) -> Any:
    """The three calls numpy's own pickles make."""
    match function, arguments:
        case _Name("numpy.core.multiarray._reconstruct" | "numpy._core.multiarray._reconstruct"), (
            _Name("numpy.ndarray"),
            tuple(),
            bytes(),
        ):
            return _Array()
        case _Name("numpy.dtype"), (str() as code, *_):
            return _Dtype(code)
        case _Name("_codecs.encode"), (str() as text, "latin1"):
            try:
                return text.encode("latin1")
            except UnicodeEncodeError as error:
                raise _Refused("hold bytes that are none") from error
        case _:
            named = function.text if isinstance(function, _Name) else type(function).__name__
            raise _Refused(f"want to call {named}, which no file of states needs")


def _interpret(content: bytes) -> Any:
    """Run the few pickle opcodes a numpy array needs; refuse every other."""
    import pickletools

    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name == "STOP":
                return stack.pop()
            _execute(opcode.name, argument, stack, memo)
    except (ValueError, IndexError, KeyError, UnicodeDecodeError) as error:
        raise _Refused(f"are damaged ({error})") from error
    raise _Refused("end too early")


def _execute(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    match name:
        case "PROTO" | "FRAME":
            pass
        case "GLOBAL":
            stack.append(_Name(str(argument).replace(" ", ".")))
        case (
            "BINUNICODE"
            | "SHORT_BINUNICODE"
            | "BINBYTES"
            | "SHORT_BINBYTES"
            | "BININT"
            | "BININT1"
            | "BININT2"
        ):
            stack.append(argument)
        case "NONE" | "NEWTRUE" | "NEWFALSE":
            stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[name])
        case "EMPTY_TUPLE":
            stack.append(())
        case "MARK":
            stack.append(_MARK)
        case "TUPLE":
            start = _last_mark(stack)
            stack[start:] = [tuple(stack[start + 1 :])]
        case "TUPLE1" | "TUPLE2" | "TUPLE3":
            size = int(name[-1])
            if len(stack) < size:
                raise _Refused("are damaged (a tuple without members)")
            stack[-size:] = [tuple(stack[-size:])]
        case "BINPUT" | "LONG_BINPUT":
            memo[argument] = stack[-1]
        case "BINGET" | "LONG_BINGET":
            stack.append(memo[argument])
        case "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(_call(function, arguments))
        case "BUILD":
            state, target = stack.pop(), stack[-1]
            if not isinstance(target, (_Array, _Dtype)):
                raise _Refused(f"want to change a {type(target).__name__}, which no file of states needs")
            target.set_state(state)
        case _:
            raise _Refused(f"use the pickle opcode {name}, which no file of states needs")


def _last_mark(stack: list[Any]) -> int:
    for index in range(len(stack) - 1, -1, -1):
        if stack[index] is _MARK:
            return index
    raise _Refused("are damaged (a tuple without a beginning)")
