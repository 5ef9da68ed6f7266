"""What the machine lacks, or a mistyped path, is an infrastructure error in every mode, and never a zero."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hylo_eval.verify.bounded_call import close_bounded_calls
from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.execution import hiding, strays
from hylo_eval.verify.file_ops.reading import UnreadableFile, UnreadableReason, read_beneath
from hylo_eval.verify.grade import grade
from hylo_eval.verify.machine_faults import is_machine_fault
from hylo_eval.verify.spec import parse_spec
from hylo_eval.verify.verdict import GradingInfraError, Status

SHORTAGES = [errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.ENOSPC]
COMMAND_MODES = {
    "stdio": 'command = "./main"',
    "stdio with a build": 'command = "./main"\nbuild = "true"',
    "pytest": "",
    "pytest with a file": 'restore = ["check.sh"]',
    "junit": 'command = "./main"',
    "gotest": "",
    "script": 'path = "check.sh"',
}
ANSWER_MODES = {"mcq": 'expected = "C"', "exact": 'expected = "C"', "json-schema": ""}


@pytest.fixture
def task(tmp_path):
    """A task whose files serve every mode, and a workspace with a program and an answer that are right."""
    (tmp_path / "tests/cases").mkdir(parents=True)
    for name, content in {"input_1.txt": "7", "output_1.txt": "7", "../check.sh": "", "../schema.json": "{}"}.items():
        (tmp_path / "tests/cases" / name).write_text(content)
    (tmp_path / "app").mkdir()
    (tmp_path / "app/main").write_text("#!/bin/sh\ncat\n")
    (tmp_path / "app/main").chmod(0o755)
    (tmp_path / "app/answer.txt").write_text("C")
    return tmp_path


def graded(task, mode, workspace="app", more=""):
    fields = {**COMMAND_MODES, **ANSWER_MODES}[mode]
    spec = parse_spec(f'mode = "{mode.partition(" ")[0]}"\n{fields}\n{more}\n')
    return grade(spec, task / "tests", task / workspace)


def failing(number):
    def fail(*_arguments, **_options):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", SHORTAGES)
def test_shortages_are_the_machines(number):
    """What runs short on a machine is told from what a file or program lacks."""
    assert is_machine_fault(OSError(number, ""))
    for other in (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG):
        assert not is_machine_fault(OSError(other, ""))


@pytest.mark.parametrize("mode", COMMAND_MODES)
@pytest.mark.parametrize("number", [errno.EMFILE, errno.EAGAIN])
def test_no_program_can_be_started(task, monkeypatch, mode, number):
    """A right program is not scored where nothing can be started."""
    monkeypatch.setattr(subprocess.Popen, "__init__", failing(number))
    with pytest.raises(GradingInfraError, match=os.strerror(number)):
        graded(task, mode)


@pytest.mark.parametrize("mode", ANSWER_MODES)
def test_no_file_can_be_opened(task, monkeypatch, mode):
    """A right answer is not taken for a missing one where no file can be opened any more."""
    opened = os.open

    def limited(path, *arguments, **options):
        if path == "answer.txt":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", limited)
    with pytest.raises(GradingInfraError, match=r"answer\.txt"):
        graded(task, mode)


def test_the_cases_cannot_be_listed(task, monkeypatch):
    """Cases that cannot be found are not taken for none."""
    monkeypatch.setattr(os, "scandir", failing(errno.EMFILE))
    with pytest.raises(GradingInfraError, match="Too many open files"):
        graded(task, "stdio")


@pytest.mark.parametrize("descriptors", range(6, 12))
def test_few_descriptors(task, descriptors):
    """With few descriptors a command's right program earns its reward or is not scored, and never a zero."""
    (task / "tests/verifier.toml").write_text('mode = "stdio"\ncommand = "cat"\n')  # a shell asks for a tenth
    code = (
        "import resource, sys\nfrom hylo_eval.verify.commands import main_verify\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({descriptors},) * 2)\nsys.exit(main_verify())\n"
    )
    arguments = [task / "tests/verifier.toml", "--workspace", task / "app", "--logs-dir", task / "logs"]
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True)
    verdict = json.loads((task / "logs/verdict.json").read_text())
    assert (verdict["status"], verdict["reward"]) in [("infra_error", 0.0), ("scored", 1.0)]


@pytest.mark.parametrize("mode", [*COMMAND_MODES, *ANSWER_MODES])
@pytest.mark.parametrize("workspace", ["nowhere/deep", "file"])
def test_mistyped_workspace(task, mode, workspace):
    """A workspace that is no folder is named, not scored and not made."""
    (task / "file").write_text("")
    with pytest.raises(GradingInfraError, match=workspace):
        graded(task, mode, workspace)
    assert not (task / "nowhere").exists()


@pytest.mark.parametrize("mode", COMMAND_MODES)
def test_folder_that_the_workspace_lacks(task, mode):
    """A folder of the workspace that the task names was the candidate's to make or keep: a zero."""
    verdict = graded(task, mode, more='workspace = "/app/robot"')
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (Status.SCORED, 0.0, "no_workspace")
    assert not (task / "app/robot").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change users")
@pytest.mark.parametrize("mode", [mode for mode in COMMAND_MODES if mode != "script"])
def test_workspace_closed_to_the_candidates_user(task, monkeypatch, mode):
    """A workspace that the configured user may not enter is named; the task's own script is not that user's."""
    monkeypatch.setenv("HYLO_VERIFY_USER", "nobody")
    (task / "app").chmod(0o700)
    with pytest.raises(GradingInfraError, match=r"app.* nobody"):
        graded(task, mode)


def test_defects_of_the_task_come_first(task):
    """A missing file of the task is reported where the workspace is missing too."""
    (task / "tests/check.sh").unlink()
    assert graded(task, "pytest with a file", "nowhere").status is Status.INVALID_TASK


def test_program_that_points_beyond_its_end(task):
    """A program that the kernel cannot read to the end of what it declares is its author's failure."""
    header = b"\x7fELF\2\1\1" + bytes(9)
    for value, size in [(2, 2), (62, 2), (1, 4), (1 << 22, 8), (64, 8), (0, 8), (0, 4), (64, 2), (56, 2), (1, 2)]:
        header += value.to_bytes(size, "little")
    interpreter = b"".join(value.to_bytes(size, "little") for value, size in [(3, 4), (4, 4), (10**5, 8), (0, 8)])
    interpreter += b"".join(value.to_bytes(8, "little") for value in (0, 20, 20, 1))
    (task / "app/main").write_bytes(header + bytes(6) + interpreter)
    assert graded(task, "stdio").detail["reason"] == "command_failed"


def test_descriptor_of_a_process_that_cannot_be_had(task, monkeypatch):
    """A command is waited for as well without a process descriptor."""
    monkeypatch.setattr(os, "pidfd_open", failing(errno.EMFILE), raising=False)
    assert graded(task, "stdio").reward == 1.0


def test_strays_that_cannot_be_looked_for(monkeypatch):
    """A process that has gone is none; one that cannot be looked at is an infrastructure error."""
    monkeypatch.setattr(Path, "read_bytes", failing(errno.ENOENT))
    assert not strays._carries(os.getpid(), "marker")
    monkeypatch.setattr(Path, "read_bytes", failing(errno.EMFILE))
    with pytest.raises(GradingInfraError, match="left behind"):
        strays._carries(os.getpid(), "marker")


def test_folder_that_cannot_be_hidden_this_time(tmp_path, monkeypatch):
    """A shortage does not have the program run with the cases in its view; a machine that refuses does."""
    monkeypatch.setattr(hiding, "is_possible", lambda: True)
    monkeypatch.setattr(hiding, "_cover", failing(errno.ENOMEM))
    with pytest.raises(GradingInfraError, match="cannot be hidden"), hiding.hiding(tmp_path):
        pass
    monkeypatch.setattr(hiding, "_cover", failing(errno.EPERM))
    with hiding.hiding(tmp_path) as launcher:
        assert launcher is None


@pytest.mark.parametrize(
    ("number", "reason"), [(errno.ENOENT, UnreadableReason.MISSING), (errno.EAGAIN, UnreadableReason.MISSING)]
)
def test_errors_of_a_file(tmp_path, monkeypatch, number, reason):
    """A missing file is the candidate's, and so is one that it holds a lease on."""
    opened = os.open
    refuse = failing(number)
    monkeypatch.setattr(os, "open", lambda path, *rest, **by: (refuse if path == "a" else opened)(path, *rest, **by))
    with pytest.raises(UnreadableFile) as caught:
        read_beneath(tmp_path, "a", limit_bytes=1)
    assert caught.value.reason is reason


def test_errors_of_a_device(tmp_path, monkeypatch):
    """What a device or fifo in the place of a file answers is no fault of the machine."""
    os.mkfifo(tmp_path / "a")
    opened = os.open
    refuse = failing(errno.EIO)
    monkeypatch.setattr(os, "open", lambda path, *rest, **by: (refuse if path == "a" else opened)(path, *rest, **by))
    with pytest.raises(UnreadableFile) as caught:
        read_beneath(tmp_path, "a", limit_bytes=1)
    assert caught.value.reason is UnreadableReason.NOT_REGULAR


def test_no_grading_process_can_be_started(monkeypatch):
    """A mode that needs a process of its own says that it could not have it."""
    close_bounded_calls()
    monkeypatch.setattr(subprocess.Popen, "__init__", failing(errno.EAGAIN))
    verdict = grade_candidate(candidate_spec("math", {"expected": "3"}), "3", {})
    assert (verdict.status, "cannot be started" in verdict.detail["error"]) == (Status.INFRA_ERROR, True)


def test_current_folder_that_is_gone(task, monkeypatch):
    """A removed current folder changes nothing, unless a path is relative to it."""
    close_bounded_calls()
    gone = task / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        assert grade_candidate(candidate_spec("math", {"expected": "3"}), "3", {}).reward == 1.0
        assert graded(task, "mcq").reward == 1.0
        assert graded(task, "stdio").reward == 1.0
        with pytest.raises(GradingInfraError, match="current folder"):
            graded(task, "mcq", more='output = "answer.txt"')
    finally:
        monkeypatch.undo()
        close_bounded_calls()
