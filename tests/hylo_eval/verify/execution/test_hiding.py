"""A hidden folder is out of a command's reach, and untouched for everybody else."""

import sys
import threading

import pytest

from hylo_eval.verify.execution.command import run_command
from hylo_eval.verify.execution.hiding import covering, is_possible

needs_namespaces = pytest.mark.skipif(not is_possible(), reason="this process may not make mount namespaces")


@needs_namespaces
def test_folder_is_hidden(tmp_path):
    """The command finds the folder empty, while it stays whole outside."""
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "output_1.txt").write_text("42")
    code = "import os, sys; print(os.listdir(sys.argv[1]))"
    argv = [sys.executable, "-c", code, str(folder)]
    assert run_command(argv, cwd=tmp_path, timeout_seconds=30.0, hidden=folder).stdout == b"[]\n"
    assert run_command(argv, cwd=tmp_path, timeout_seconds=30.0).stdout == b"['output_1.txt']\n"
    assert (folder / "output_1.txt").read_text() == "42"


@needs_namespaces
def test_cover_cannot_be_taken_off(tmp_path):
    """Neither unmounting the cover nor looking at the disk through the grader's process helps."""
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "output_1.txt").write_text("42")
    code = (
        "import ctypes, os, sys\n"
        "assert ctypes.CDLL(None).umount2(sys.argv[1].encode(), 2) != 0\n"
        "try: print(open(f'/proc/{os.getppid()}/root{sys.argv[1]}/output_1.txt').read())\n"
        "except OSError: print('refused')\n"
    )
    argv = [sys.executable, "-c", code, str(folder)]
    result = run_command(argv, cwd=tmp_path, timeout_seconds=30.0, hidden=folder)
    assert result.stdout == b"refused\n", result.stderr


def test_not_beside_other_threads(tmp_path):
    """With another thread in the process nothing runs between fork and exec, so nothing is hidden."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert covering(tmp_path) is None
    finally:
        done.set()
        thread.join()
