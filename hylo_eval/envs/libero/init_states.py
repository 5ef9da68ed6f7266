"""Reading LIBERO's recorded initial states, running nothing that stands in the file.

Two containers hold the same numbers: ``.npz`` in the self-contained package, and the original ``.pruned_init``, a
zip that ``torch.save`` wrote around one pickled numpy array. Neither torch nor :mod:`pickle` is used here.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
import zlib
from typing import TYPE_CHECKING, Final, TypeAlias

from hylo_eval.envs.libero.array_pickle import ArrayRecord, Dtype, RefusedFile, read_array
from hylo_eval.errors import ABSENT, EnvError
from hylo_eval.installing import install_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    States: TypeAlias = NDArray[np.float64]

MAX_BYTES: Final = 16 * 1024 * 1024
"""A file of 50 states is 20-70 kB; one larger than this is refused unread."""

_URI = re.compile(r"libero://([a-z][a-z0-9_]*)/([A-Za-z0-9_]+)\.pruned_init")


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
        fix=install_command("hylo-eval[libero]"),
        lasting=True,
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
    try:
        states = _read_container(path)
        _check_states(states, count)
    except OSError as error:
        lasting = isinstance(error, ABSENT)
        raise EnvError(f"cannot read the initial states {path}: {error}", lasting=lasting) from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        # The last two are how zipfile speaks of foreign compression and of encryption.
        raise EnvError(f"the initial states {path} are not a readable zip archive: {error}", lasting=True) from error
    except RefusedFile as error:
        raise EnvError(f"the initial states {path} {error}", lasting=True) from error
    states.flags.writeable = False
    return states


def states_digest(states: States) -> str:
    """Digest of the numbers: the same whichever container they come from."""
    import numpy as np

    head = f"{states.shape[0]}x{states.shape[1]}:float64-le|".encode()
    body = np.ascontiguousarray(states, dtype="<f8").tobytes()
    return f"sha256:{hashlib.sha256(head + body).hexdigest()}"


def _read_container(path: Path) -> States:
    if path.stat().st_size > MAX_BYTES:
        raise RefusedFile(f"take more than {MAX_BYTES} bytes")
    return _read_npz(path) if path.suffix == ".npz" else _read_torch_zip(path)


def _check_states(states: States, count: int) -> None:
    import numpy as np

    if states.ndim != 2 or states.shape[0] != count or states.shape[1] < 3:
        raise RefusedFile(f"have shape {states.shape}; {count} rows of states are expected")
    if not np.isfinite(states).all():
        raise RefusedFile("hold numbers that are not finite")


def _read_npz(path: Path) -> States:
    import numpy as np

    content = _member(path, lambda name: name == "states.npy")
    stream = io.BytesIO(content)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise RefusedFile("hold an array in a format newer than 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except ValueError as error:
        raise RefusedFile(f"hold no readable array: {error}") from error
    array = ArrayRecord()
    array.set_state((1, shape, Dtype(dtype.str[1:], dtype.str[0]), fortran, content[stream.tell() :]))
    return array.build()


def _read_torch_zip(path: Path) -> States:
    return read_array(_member(path, lambda name: name == "data.pkl" or name.endswith("/data.pkl")))


def _member(path: Path, wanted: Callable[[str], bool]) -> bytes:
    with zipfile.ZipFile(path) as archive:
        infos = [info for info in archive.infolist() if wanted(info.filename)]
        if len(infos) != 1:
            raise RefusedFile(f"hold {len(infos)} members of the expected name, not one")
        if infos[0].file_size > MAX_BYTES:
            raise RefusedFile(f"unpack to more than {MAX_BYTES} bytes")
        with archive.open(infos[0]) as stream:
            content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise RefusedFile(f"unpack to more than {MAX_BYTES} bytes")
    return content
