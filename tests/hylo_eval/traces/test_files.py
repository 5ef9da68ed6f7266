"""Whole files, and never over another."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from hylo_eval.traces.files import write_once


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
