"""A hidden folder is out of a command's reach, and untouched for everybody else."""

import os
import signal
import sys
import threading

import pytest

from hylo_eval.verify.execution.command import run_command
from hylo_eval.verify.execution.hiding import hiding, is_possible

needs_namespaces = pytest.mark.skipif(not is_possible(), reason="this process may not make mount namespaces")


@needs_namespaces
def test_folder_is_hidden(tmp_path):
    """The command finds the folder empty, while it stays whole outside."""
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "output_1.txt").write_text("42")
    code = "import os, sys; print(os.listdir(sys.argv[1]))"
    argv = [sys.executable, "-c", code, str(folder)]
    with hiding(folder) as launcher:
        for _ in range(3):  # all commands of a grade, not the first alone
            assert run_command(argv, cwd=tmp_path, timeout_seconds=30.0, launcher=launcher).stdout == b"[]\n"
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
    with hiding(folder) as launcher:
        result = run_command(argv, cwd=tmp_path, timeout_seconds=30.0, launcher=launcher)
    assert result.stdout == b"refused\n", result.stderr


@needs_namespaces
def test_also_beside_other_threads(tmp_path):
    """Other threads of the process keep their view, and a command that one of them asks for has none."""
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "output_1.txt").write_text("42")
    done = threading.Event()
    seen = []
    thread = threading.Thread(target=lambda: (done.wait(), seen.append(sorted(folder.iterdir()))))
    thread.start()
    try:
        with hiding(folder) as launcher:
            shown = run_command(["ls", str(folder)], cwd=tmp_path, timeout_seconds=30.0, launcher=launcher)
            done.set()
            thread.join()
    finally:
        done.set()
        thread.join()
    assert (shown.stdout, seen) == (b"", [[folder / "output_1.txt"]])


@needs_namespaces
def test_what_cannot_be_started_is_an_error_as_without(tmp_path):
    """A missing program and an argument with a NUL are reported to the caller, and the launcher goes on."""
    with hiding(tmp_path / "cases") as nothing_to_hide:
        assert nothing_to_hide is None
    (tmp_path / "cases").mkdir()
    with hiding(tmp_path / "cases") as launcher:
        with pytest.raises(FileNotFoundError):
            run_command(["./none"], cwd=tmp_path, timeout_seconds=30.0, launcher=launcher)
        with pytest.raises(ValueError, match="null byte"):
            run_command(["a\0b"], cwd=tmp_path, timeout_seconds=30.0, launcher=launcher)
        assert run_command(["true"], cwd=tmp_path, timeout_seconds=30.0, launcher=launcher).succeeded


@needs_namespaces
def test_strays_are_ended_as_without(tmp_path):
    """The launcher is no other thread: a process that left its group and its environment is found."""
    (tmp_path / "cases").mkdir()
    program = "env -i setsid sleep 300 & echo $!"
    with hiding(tmp_path / "cases") as launcher:
        result = run_command(["sh", "-c", program], cwd=tmp_path, timeout_seconds=30.0, launcher=launcher)
    with pytest.raises(ProcessLookupError):
        os.kill(int(result.stdout), 0)
    assert threading.active_count() == 1


@needs_namespaces
def test_a_signal_while_a_process_starts_leaves_none_behind(tmp_path, monkeypatch):
    """The interrupt is passed on after the process that was being started has ended."""
    (tmp_path / "cases").mkdir()
    with hiding(tmp_path / "cases") as launcher:
        waiting = launcher._answered.wait
        monkeypatch.setattr(launcher._answered, "wait", interrupted_once(waiting))
        with pytest.raises(KeyboardInterrupt):
            launcher.popen(args=["sleep", "300"])
        assert launcher._outcome.returncode == -signal.SIGKILL
        assert run_command(["true"], cwd=tmp_path, timeout_seconds=30.0, launcher=launcher).succeeded


def interrupted_once(wait):
    """The first wait is cut short by an interrupt; the others are as they were."""
    interrupts = [KeyboardInterrupt()]

    def waited():
        if interrupts:
            raise interrupts.pop()
        return wait()

    return waited
