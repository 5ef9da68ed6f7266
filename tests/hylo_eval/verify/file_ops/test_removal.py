"""Folders that somebody else filled are removed whole, and nothing outside them is."""

import os

from hylo_eval.verify.execution.folders import private_folder
from hylo_eval.verify.file_ops.removal import remove_folder


def dig(folder, depth):
    """Makes a nest of folders too deep for paths and for recursion, with a file at its bottom."""
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)


def test_deep_nest(tmp_path):
    """A nest deeper than Python's recursion limit and the longest path is removed."""
    dig(tmp_path, 3000)
    parent = os.open(tmp_path, os.O_RDONLY)
    remove_folder("d", parent=parent)
    os.close(parent)
    assert list(tmp_path.iterdir()) == []


def test_links_are_not_followed(tmp_path):
    """Links in the folder are removed, what they point to stays; a read-only folder is no obstacle."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file").write_text("untouched")
    (tmp_path / "folder/inner").mkdir(parents=True)
    (tmp_path / "folder/inner/link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "folder/inner").chmod(0o500)
    parent = os.open(tmp_path, os.O_RDONLY)
    remove_folder("folder", parent=parent)
    os.close(parent)
    assert (tmp_path / "elsewhere/file").read_text() == "untouched"
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]


def test_private_folder():
    """A private folder is its user's alone and gone at the end, whatever was put into it."""
    with private_folder("test") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        dig(folder, 1200)
    assert not folder.exists()
