"""Whole files, and never over another."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hylo_eval import read_evallog, read_evallog_header, read_trace
from hylo_eval.errors import EvalError
from hylo_eval.traces.files import write_atomically, write_once
from hylo_eval.traces.manifest import read_manifest


def test_a_name_that_is_taken_keeps_what_it_has(tmp_path: Path) -> None:
    """The first writer wins, and nothing is left lying about."""
    path = tmp_path / "log.json"
    write_once(path, b"first")
    with pytest.raises(FileExistsError):
        write_once(path, b"second")
    assert [file.name for file in tmp_path.iterdir()] == ["log.json"]
    assert path.read_bytes() == b"first"


def test_a_file_system_without_hard_links_does_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is reserved first."""

    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    test_a_name_that_is_taken_keeps_what_it_has(tmp_path)


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    """A rename would do that to a device as well."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(EvalError, match="it is no regular file"):
        write_atomically(path, b"data")
    assert path.is_fifo()


def test_a_link_stays_one(tmp_path: Path) -> None:
    """What it leads to is written, a file that is not there yet too."""
    (tmp_path / "link").symlink_to("target")
    for data in (b"first", b"second"):
        write_atomically(tmp_path / "link", data)
        assert (tmp_path / "target").read_bytes() == data
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "target"]


def test_a_name_that_is_too_long_is_an_error_of_ours(tmp_path: Path) -> None:
    """Its neighbour's name is longer still."""
    with pytest.raises(EvalError, match="File name too long"):
        write_atomically(tmp_path / ("a" * 251), b"data")


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    """Trace, manifest, log and its header: refused with what it is."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for read in (read_trace, read_manifest, read_evallog, read_evallog_header):
        with pytest.raises(EvalError, match="it is a pipe, a socket or a device"):
            read(path)
