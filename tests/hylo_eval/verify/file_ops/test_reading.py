"""Files of the candidate are read bounded, as regular files, and never through a link."""

import os

import pytest

from hylo_eval.verify.file_ops.reading import UnreadableFile, UnreadableReason, read_beneath, read_bounded


def reason(call, *arguments, **options):
    with pytest.raises(UnreadableFile) as caught:
        call(*arguments, **options)
    return caught.value.reason


def test_regular_file(tmp_path):
    """A regular file of exactly the limit is read whole, by both readers."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/answer.txt").write_bytes(b"12345")
    assert read_bounded(tmp_path / "out/answer.txt", limit_bytes=5) == b"12345"
    assert read_beneath(tmp_path, "out/answer.txt", limit_bytes=5) == b"12345"


def test_too_large(tmp_path):
    """One byte over the limit is too large, and so is a sparse file of a terabyte."""
    (tmp_path / "answer.txt").write_bytes(b"123456")
    assert reason(read_bounded, tmp_path / "answer.txt", limit_bytes=5) is UnreadableReason.TOO_LARGE
    os.truncate(tmp_path / "answer.txt", 2**40)
    assert reason(read_beneath, tmp_path, "answer.txt", limit_bytes=5) is UnreadableReason.TOO_LARGE


def test_growing_file():
    """A file that claims no size (as those of /proc do) is bounded by what is read."""
    assert reason(read_bounded, "/proc/self/maps", limit_bytes=10) is UnreadableReason.TOO_LARGE


@pytest.mark.parametrize("name", ["absent", "absent/answer.txt", "file/answer.txt", "dangling"])
def test_missing(tmp_path, name):
    """A path that leads to no file is missing or no regular file, never an error of another kind."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "dangling").symlink_to("nowhere")
    expected = UnreadableReason.NOT_REGULAR if name == "dangling" else UnreadableReason.MISSING
    assert reason(read_beneath, tmp_path, name, limit_bytes=5) is expected


def test_not_regular(tmp_path):
    """A folder, a fifo, a device and a link are no regular files, and none of them blocks the reader."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "secret").write_text("42")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    for name in ("folder", "fifo", "link"):
        assert reason(read_bounded, tmp_path / name, limit_bytes=5) is UnreadableReason.NOT_REGULAR
        assert reason(read_beneath, tmp_path, name, limit_bytes=5) is UnreadableReason.NOT_REGULAR
    assert reason(read_bounded, "/dev/zero", limit_bytes=5) is UnreadableReason.NOT_REGULAR


def test_linked_folder(tmp_path):
    """A linked folder on the way to the file is not followed, while the root itself may be a link."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/answer.txt").write_text("42")
    (tmp_path / "app").mkdir()
    (tmp_path / "app/out").symlink_to(tmp_path / "hidden")
    assert reason(read_beneath, tmp_path / "app", "out/answer.txt", limit_bytes=5) is not None
    (tmp_path / "root").symlink_to(tmp_path / "hidden")
    assert read_beneath(tmp_path / "root", "answer.txt", limit_bytes=5) == b"42"


@pytest.mark.parametrize("relative", ["", "/etc/passwd", "../answer.txt", "a/../../b", "a\0b"])
def test_outside(tmp_path, relative):
    """A path that is empty, absolute, holds two dots or a NUL is refused before anything is opened."""
    assert reason(read_beneath, tmp_path, relative, limit_bytes=5) is UnreadableReason.OUTSIDE
