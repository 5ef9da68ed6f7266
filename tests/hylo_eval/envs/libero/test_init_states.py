"""Recorded initial states are read without running anything that stands in the file."""

import io
import os
import pickle
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.envs.libero.init_states import MAX_BYTES, parse_uri, read_states, resolve, states_digest
from hylo_eval.errors import EnvError

STATES = np.arange(50 * 5, dtype=np.float64).reshape(50, 5) / 7.0


def torch_zip(path, content, *, name="archive/data.pkl", compression=zipfile.ZIP_STORED):
    """Write a file as ``torch.save`` lays it out."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(name, content)
        archive.writestr("archive/version", "3\n")
    return path


class Bomb:
    """Runs a command where it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("order", ["C", "F"])
def test_torch_zip_and_npz_hold_the_same_numbers(tmp_path, order):
    """Both containers give the array bit by bit, and so the same digest."""
    original = torch_zip(tmp_path / "t.pruned_init", pickle.dumps(np.asarray(STATES, order=order), protocol=2))
    converted = tmp_path / "t.pruned_init.npz"
    np.savez_compressed(converted, states=STATES)
    first, second = read_states(original, count=50), read_states(converted, count=50)
    assert first.tobytes() == second.tobytes() == STATES.tobytes()
    assert states_digest(first) == states_digest(second) == states_digest(STATES)
    assert not first.flags.writeable


def test_names_of_old_and_new_numpy_are_read(tmp_path):
    """Upstream's files say ``numpy.core``, those written by numpy 2 ``numpy._core``."""
    content = pickle.dumps(STATES, protocol=2)
    old = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert read_states(torch_zip(tmp_path / "t.pruned_init", old), count=50).tobytes() == STATES.tobytes()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("function", [os.system, eval, exec, open, getattr, np.fromfile, np.dtype])
def test_pickle_bombs_are_refused_and_never_run(tmp_path, function, protocol):
    """No call but the three of numpy's arrays is made, whatever the protocol and wherever it stands."""
    trace = tmp_path / "ran"
    bomb = Bomb(function, f"touch {trace}")
    for content in (bomb, [STATES, bomb], {"states": STATES, "x": bomb}):
        path = torch_zip(tmp_path / "t.pruned_init", _dumps(content, protocol))
        with pytest.raises(EnvError):
            read_states(path, count=50)
    assert not trace.exists()


def _dumps(value, protocol):
    stream = io.BytesIO()
    pickle.Pickler(stream, protocol=protocol).dump(value)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "damaged"),
        (b"\x80\x02.", "damaged"),
        (b"\x80\x02N.", "no numpy array"),
        (b"\x80\x02" + b"(" * 1000, "damaged"),
        (b"\x80\x02r\xff\xff\xff\x7f.", "damaged"),
        (b"\x80\x02j\xff\xff\xff\x7f.", "damaged"),
        (b"cos\nsystem\n(S'true'\ntR.", "opcode b'S'"),
        (b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.", "builtins.eval"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "opcode b'\\x93'"),
        (b"\x80\x02U\x051/arr\x51.", "opcode b'U'"),
        (pickle.dumps(np.array([object()]), protocol=2)[:-5], "needs"),
        (pickle.dumps(STATES.astype(np.float32), protocol=2), "shape says"),
        (pickle.dumps(STATES.astype(">f8"), protocol=2), "little-endian"),
        (pickle.dumps(STATES.astype(np.int64), protocol=2), "little-endian"),
        (pickle.dumps(STATES.ravel(), protocol=2), "unknown form"),
        (pickle.dumps(STATES[:49], protocol=2), "50 rows"),
        (pickle.dumps(np.where(STATES == 0, np.nan, STATES), protocol=2), "not finite"),
    ],
)
def test_everything_but_an_array_of_states_is_refused(tmp_path, content, reason):
    """A damaged or foreign file ends with a sentence that names the file and the defect."""
    path = torch_zip(tmp_path / "t.pruned_init", content)
    with pytest.raises(EnvError) as caught:
        read_states(path, count=50)
    assert reason in str(caught.value)
    assert str(path) in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_anywhere_is_refused_or_harmless(tmp_path_factory, data):
    """Changing, dropping or adding bytes of a file never raises anything but our own error."""
    content = bytearray(pickle.dumps(STATES[:, :3], protocol=2))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, min(len(content) - 1, 200)))
        content[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    path = torch_zip(tmp_path_factory.getbasetemp() / "fuzz.pruned_init", bytes(content))
    try:
        states = read_states(path, count=50)
    except EnvError:
        return
    assert states.shape[0] == 50
    assert np.isfinite(states).all()


def test_archives_that_unpack_to_too_much_are_refused(tmp_path):
    """A zip bomb is refused by its declared size, before it is unpacked."""
    path = torch_zip(tmp_path / "t.pruned_init", b"\0" * (MAX_BYTES + 1), compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(EnvError, match="unpack to more than"):
        read_states(path, count=50)


def test_an_npz_that_promises_more_than_it_holds_is_refused(tmp_path):
    """The shape in a header is checked against the bytes that follow; nothing is allocated for it."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (50, 10**12)})
    path = torch_zip(tmp_path / "t.npz", header.getvalue() + b"\0" * 80, name="states.npy")
    with pytest.raises(EnvError, match="shape says"):
        read_states(path, count=50)


def test_an_npz_with_objects_is_refused(tmp_path):
    """Object arrays are pickles in disguise."""
    path = tmp_path / "t.npz"
    np.savez(path, states=np.array([[Bomb(os.system, "true")] * 3] * 50, dtype=object))
    with pytest.raises(EnvError):
        read_states(path, count=50)


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04" + b"\0" * 40])
@pytest.mark.parametrize("name", ["t.pruned_init", "t.npz"])
def test_what_is_no_archive_is_refused(tmp_path, name, content):
    """A file that is no zip archive is named in the error."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(EnvError, match="zip archive"):
        read_states(path, count=50)


@pytest.mark.parametrize(
    "uri",
    [
        "libero://libero_object/../../etc/passwd.pruned_init",
        "libero://../x.pruned_init",
        "libero://libero_object/x.init",
        "libero://libero_object/x.pruned_init.npz",
        "file:///x.pruned_init",
        "libero://libero_object/a/b.pruned_init",
        "",
    ],
)
def test_uris_cannot_lead_out_of_the_folder(uri):
    """Only a suite and a task are named; everything else is refused."""
    with pytest.raises(EnvError, match="libero://"):
        parse_uri(uri)


def test_resolve_finds_either_container(tmp_path):
    """The original container is taken where it is installed, else the converted one, else an error names both."""
    (tmp_path / "libero_object").mkdir()
    uri = "libero://libero_object/pick.pruned_init"
    with pytest.raises(EnvError, match=r"pick\.pruned_init"):
        resolve(uri, tmp_path)
    converted = tmp_path / "libero_object" / "pick.pruned_init.npz"
    converted.touch()
    assert resolve(uri, tmp_path) == converted
    original = tmp_path / "libero_object" / "pick.pruned_init"
    original.touch()
    assert resolve(uri, tmp_path) == original
