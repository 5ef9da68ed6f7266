"""A program is found where the start of a process would find it."""

import os

import pytest

from hylo_eval.verify.execution.command import run_command
from hylo_eval.verify.execution.programs import program_path


def write_program(path, exit_code, mode=0o755):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    path.chmod(mode)


def test_the_first_one_that_can_run_is_found(tmp_path, monkeypatch):
    """Neither a folder of that name nor a file that nobody may run is taken for the program."""
    (tmp_path / "a/grip").mkdir(parents=True)
    write_program(tmp_path / "b/grip", 3, mode=0o644)
    write_program(tmp_path / "c/grip", 4)
    write_program(tmp_path / "d/grip", 5)
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in "abcd"))
    assert program_path("grip") == str(tmp_path / "c/grip")
    assert run_command(["grip"], cwd=tmp_path, timeout_seconds=30.0).exit_code == 4


@pytest.mark.parametrize("folders", ["tools", "", "/usr/bin:tools"])
def test_folders_below_the_workspace_are_left_to_the_start(tmp_path, monkeypatch, folders):
    """A relative folder of the search is one of the folder that the program runs in."""
    write_program(tmp_path / "tools/hylo-grip", 6)
    monkeypatch.setenv("PATH", folders)
    assert program_path("hylo-grip") is None
    if folders:
        assert run_command(["hylo-grip"], cwd=tmp_path, timeout_seconds=30.0).exit_code == 6


def test_what_is_nowhere_or_named_by_a_path_is_not_found():
    """The start itself says what is missing."""
    assert program_path("no-such-program") is None
    assert program_path("/bin/sh") is None


def test_the_path_of_a_command_that_has_its_own_counts(tmp_path, monkeypatch):
    """A caller that sets ``PATH`` names where its programs are, not where this process's are."""
    write_program(tmp_path / "ours/grip", 7)
    write_program(tmp_path / "given/grip", 8)
    monkeypatch.setenv("PATH", str(tmp_path / "ours"))
    given = str(tmp_path / "given")
    assert program_path("grip", {b"PATH": os.fsencode(given)}) == f"{given}/grip"
    assert run_command(["grip"], cwd=tmp_path, timeout_seconds=30.0, environment={"PATH": given}).exit_code == 8
