"""The commands: arguments, files and exit statuses."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hylo_eval.cli import verify as commands
from hylo_eval.credentials import SECRET_VARIABLES
from hylo_eval.verify.commands import main_candidate, main_show, main_verify, record_verdict
from hylo_eval.verify.grade import grade_file, verdict_of
from hylo_eval.verify.initial_environment import blank_initial_credentials


@pytest.fixture
def task(tmp_path):
    """A multiple-choice task with a right answer."""
    for name in ("tests", "app", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "tests" / "verifier.toml").write_text('mode = "mcq"\nexpected = "C"\n')
    (tmp_path / "tests" / "resources.json").write_text("[]")
    (tmp_path / "app" / "answer.txt").write_text("Answer: C")
    return tmp_path


def verify(task, spec="verifier.toml"):
    arguments = [
        str(task / "tests" / spec),
        "--workspace",
        str(task / "app"),
        "--logs-dir",
        str(task / "logs"),
    ]
    return main_verify(arguments), recorded(task)


def verify_candidate(task, answer="/app/answer.txt", manifest="resources.json", spec="verifier.toml"):
    arguments = ["--spec", str(task / "tests" / spec), "--answer", answer, "--workspace", str(task / "app")]
    arguments += ["--logs-dir", str(task / "logs"), "--resources-manifest", str(task / "tests" / manifest)]
    return main_candidate(arguments), recorded(task)


def recorded(task):
    path = task / "logs" / "verdict.json"
    return json.loads(path.read_text()) if path.exists() else None


def test_verify_writes_a_verdict_and_exits_with_zero_for_every_status(task):
    """Scored, invalid and failed gradings are told apart in the file, not by the exit status."""
    assert verify(task) == (
        0,
        {"reward": 1.0, "status": "scored", "detail": {"extracted": "C", "expected": "C"}},
    )
    (task / "tests" / "verifier.toml").write_text('mode = "mcq"\n')
    status, verdict = verify(task)
    assert (status, verdict["status"]) == (0, "invalid_task")
    assert not (task / "logs" / "reward.json").exists()
    (task / "tests" / "verifier.toml").write_text('mode = "judge"\nreferences = ["x"]\n')
    assert verify(task)[0] == 0


def test_a_machine_of_no_container_gets_no_folder_that_nobody_asked_for(task, monkeypatch):
    """Without a logs folder and without the contract's, the verdict is printed; with the contract's it is written."""
    from hylo_eval.verify import commands as module

    logs = task / "contract" / "verifier"
    monkeypatch.setattr(module, "DEFAULT_LOGS_DIR", logs)
    arguments = [str(task / "tests" / "verifier.toml"), "--workspace", str(task / "app")]
    done = CliRunner().invoke(commands.verify, arguments, standalone_mode=False)
    assert (done.return_value, json.loads(done.stdout)["reward"]) == (0, 1.0)
    assert "--logs-dir" in done.stderr
    assert not logs.parent.exists()
    logs.parent.mkdir()
    CliRunner().invoke(commands.verify, arguments, standalone_mode=False)
    assert json.loads((logs / "verdict.json").read_text())["reward"] == 1.0


def test_a_verdict_that_cannot_be_written_is_exit_status_two(task, capsys):
    """A file in the place of the logs folder leaves nothing and says why."""
    (task / "logs").rmdir()
    (task / "logs").write_text("")
    status = main_verify(
        [
            str(task / "tests" / "verifier.toml"),
            "--workspace",
            str(task / "app"),
            "--logs-dir",
            str(task / "logs"),
        ]
    )
    assert status == 2
    assert "cannot be written" in capsys.readouterr().err


def test_wrong_usage_is_exit_status_two(capsys):
    """argparse says what is missing."""
    for command in (main_verify, main_candidate):
        with pytest.raises(SystemExit) as caught:
            command([])
        assert caught.value.code == 2
    assert "required" in capsys.readouterr().err


def test_a_candidate_file_is_graded_whole(task):
    """No answer line is looked for: the text is the candidate."""
    status, verdict = verify_candidate(task)
    assert (status, verdict["reward"], verdict["detail"]["reason"]) == (0, 0.0, "out_of_range")
    (task / "app" / "answer.txt").write_text("C\n")
    assert verify_candidate(task)[1]["reward"] == 1.0


def test_a_missing_candidate_file_scores_zero(task):
    """And is not mistaken for a defect of the task."""
    assert verify_candidate(task, answer="/app/gone.txt")[1] == {
        "reward": 0.0,
        "status": "scored",
        "detail": {"reason": "no_output"},
    }


def test_resources_come_from_the_manifest_only(task):
    """A schema that lies in the folder but is not listed is missing."""
    (task / "tests" / "d").mkdir()
    (task / "tests" / "d" / "s.json").write_text('{"type": "array"}')
    (task / "tests" / "schema.toml").write_text('mode = "json-schema"\nschema = "d/s.json"\n')
    (task / "app" / "answer.txt").write_text("[1]")
    assert verify_candidate(task, spec="schema.toml")[1]["status"] == "invalid_task"
    (task / "tests" / "resources.json").write_text('["d/s.json"]')
    assert verify_candidate(task, spec="schema.toml")[1]["reward"] == 1.0


@pytest.mark.parametrize(
    "manifest",
    ["{}", "[1]", "[", '["gone.json"]', '["../app/answer.txt"]', '["/etc/hostname"]', "[" * 100_000],
)
def test_a_manifest_that_is_no_list_of_the_tasks_files_is_an_invalid_task(task, manifest):
    """There is a verdict, and no reward of an earlier run survives."""
    (task / "logs" / "reward.json").write_text('{"reward": 1.0}')
    (task / "tests" / "resources.json").write_text(manifest)
    status, verdict = verify_candidate(task)
    assert (status, verdict["status"]) == (0, "invalid_task")
    assert not (task / "logs" / "reward.json").exists()


@pytest.mark.parametrize(
    "text", ["mode = ", 'mode = "script"\npath = "a"', 'mode = "structured_exact"\nexpected = "1"', "\0"]
)
def test_a_specification_without_a_text_grader_is_an_invalid_task(task, text):
    """Malformed ones, other modes, and modes whose candidates are decoded values."""
    (task / "tests" / "verifier.toml").write_text(text)
    assert verify_candidate(task)[1]["status"] == "invalid_task"


def test_a_candidate_that_is_no_utf8_is_graded_all_the_same(task):
    """What the candidate wrote decides between one and zero, never between a verdict and none."""
    (task / "app" / "answer.txt").write_bytes(b"\xff\xfe")
    assert verify_candidate(task)[1]["status"] == "scored"


def test_the_command_imports_nothing_heavy(task):
    """Grading a letter loads neither numpy nor a grading library."""
    program = (
        "import sys; from hylo_eval.verify.commands import main_verify; code = main_verify(sys.argv[1:]);"
        "heavy = {'numpy', 'scipy', 'sympy', 'jsonschema', 'yaml', 'httpx', 'cattrs'} & set(sys.modules);"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    arguments = [
        str(task / "tests" / "verifier.toml"),
        "--workspace",
        str(task / "app"),
        "--logs-dir",
        str(task / "logs"),
    ]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, recorded(task)["reward"]) == (0, 1.0), done.stderr


def test_the_command_group_reads_the_arguments_once(task):
    """``hylo-eval verify`` loads no second parser of arguments, and no logging where there is nothing to log."""
    program = (
        "import sys; from hylo_eval.cli.group import cli; code = cli.main(sys.argv[1:], standalone_mode=False);"
        "spare = {'argparse', 'logging', 'tempfile', 'shutil', 'difflib'} & set(sys.modules);"
        "sys.exit(f'{code} {spare}' if code or spare else 0)"
    )
    folders = ["--workspace", str(task / "app"), "--logs-dir", str(task / "logs")]
    command = [sys.executable, "-c", program, "verify", *folders, "--", str(task / "tests" / "verifier.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, recorded(task)["reward"]) == (0, 1.0), done.stderr


def write_failing_task(task):
    """A task whose grading fails, and is neither the task's nor the candidate's fault."""
    (task / "tests" / "verifier.toml").write_text('mode = "script"\npath = "grade.sh"\n')
    (task / "tests" / "grade.sh").write_text("exit 3\n")


def test_a_failure_of_the_grader_is_a_sentence_and_its_traceback_a_file(task, capsys, caplog):
    """What makes a verdict an infra_error is said in a line; where it happened can be looked up, until the next grade."""
    write_failing_task(task)
    assert verify(task)[1]["status"] == "infra_error"
    said = capsys.readouterr().err
    assert "status=infra_error the script failed" in said
    assert "Traceback" not in said
    assert caplog.records == []
    assert "GradingInfraError: the script failed" in (task / "logs" / "traceback.txt").read_text()
    (task / "tests" / "grade.sh").write_text("echo 1\n")
    assert verify(task)[1]["status"] == "scored"
    assert not (task / "logs" / "traceback.txt").exists()


def test_a_traceback_that_cannot_be_written_takes_no_verdict_with_it(task, monkeypatch, capsys):
    """The verdict counts without it, and no file is named that is not there."""
    write_failing_task(task)
    monkeypatch.setattr("hylo_eval.verify.verdict_files.TRACEBACK_TXT", "missing/traceback.txt")
    assert verify(task)[1]["status"] == "infra_error"
    assert "where grading failed" not in capsys.readouterr().err


def test_a_traceback_holds_no_credential(task, monkeypatch):
    """An exception quotes what it was given; the file that quotes the exception is kept."""
    secret = "sk-0123456789abcdef"  # noqa: S105 - nobody's
    monkeypatch.setenv(SECRET_VARIABLES[0], secret)

    def crash(spec_path, workspace, *, failed):
        del spec_path, workspace

        def raises():
            raise ValueError(f"not with {secret}")

        return verdict_of(raises, failed)

    monkeypatch.setattr(sys.modules["hylo_eval.verify.grade"], "grade_file", crash)
    verify(task)
    written = (task / "logs" / "traceback.txt").read_text()
    assert "ValueError: not with [key]" in written
    assert secret not in written


def test_a_missing_workspace_is_named_with_its_fix_before_anything_else(task, tmp_path, capsys):
    """Whoever grades on a machine without /app reads what to give, with a folder for the files and without."""
    spec, missing = task / "tests" / "verifier.toml", tmp_path / "missing"
    assert record_verdict(spec, logs_dir=task / "logs", workspace=missing) == 0
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert f"the folder '{missing}' cannot be entered" in first
    assert second == "  fix: --workspace DIR names the candidate's folder"
    assert main_show(spec, missing) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["status"] == "infra_error"
    assert said.err.splitlines()[:3] == [first, second, "--debug shows where grading failed"]
    assert main_show(spec, missing, debug=True) == 0
    assert capsys.readouterr().err.startswith("Traceback")


def test_a_missing_relative_workspace_has_the_same_fix_where_commands_are_run(task, tmp_path, monkeypatch, capsys):
    """There the message names the folder as the commands would, by its absolute path."""
    spec = task / "tests" / "verifier.toml"
    spec.write_text('mode = "pytest"\n')
    monkeypatch.chdir(tmp_path)
    assert record_verdict(spec, logs_dir=task / "logs", workspace=Path("missing")) == 0
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert f"the folder '{tmp_path / 'missing'}' cannot be entered" in first
    assert second == "  fix: --workspace DIR names the candidate's folder"


def test_a_library_that_grades_a_file_logs_what_failed(task, caplog):
    """Nobody reads a command's standard error there."""
    write_failing_task(task)
    grade_file(task / "tests" / "verifier.toml", task / "app")
    assert [record.message for record in caplog.records] == ["the grader failed"]
    assert "GradingInfraError: the script failed" in caplog.text


_ENDS_ITS_GRADER = """
import os, pathlib, signal, time
pathlib.Path("pid").write_text(str(os.getpid()))
os.kill(os.getppid(), signal.{signal})
time.sleep(60)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_what_the_grader_started(task, name):
    """No program of the candidate outlives an interrupted grader, and no verdict is left, an older one included."""
    cases = task / "tests" / "cases"
    cases.mkdir()
    (cases / "input_1.txt").write_text("")
    (cases / "output_1.txt").write_text("")
    (task / "tests" / "verifier.toml").write_text('mode = "stdio"\ncommand = "python3 program.py"\n')
    (task / "app" / "program.py").write_text(_ENDS_ITS_GRADER.format(signal=name))
    (task / "logs" / "reward.json").write_text('{"reward": 1.0}')
    program = "import sys; from hylo_eval.verify.commands import main_verify; sys.exit(main_verify())"
    folders = ["--workspace", str(task / "app"), "--logs-dir", str(task / "logs")]
    command = [sys.executable, "-c", program, str(task / "tests" / "verifier.toml"), *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted before there was a verdict\n")
    assert list((task / "logs").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((task / "app" / "pid").read_text()), 0)


def test_the_signals_are_the_callers_again_after_the_command(task):
    """A program that calls the command keeps its own way to end."""
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    assert verify(task)[0] == 0
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before


def test_names_that_look_like_options_are_names(task, monkeypatch):
    """A specification or an answer whose name begins with a dash is read by both commands of the group."""
    monkeypatch.chdir(task)
    (task / "tests" / "verifier.toml").rename(task / "-v.toml")
    (task / "app" / "answer.txt").unlink()
    (task / "-a.txt").write_text("C")
    folders = ["--workspace", "app", "--logs-dir", "logs"]
    manifest = ["--resources-manifest", "tests/resources.json"]
    CliRunner().invoke(commands.verify, [*folders, "--", "-v.toml"])
    assert recorded(task)["detail"] == {"reason": "no_output"}
    CliRunner().invoke(commands.verify_candidate, ["--spec", "-v.toml", "--answer", "-a.txt", *folders, *manifest])
    assert recorded(task)["reward"] == 1.0


_RUNS_HYLO_VERIFY = "import sys; from hylo_eval.verify.commands import main_verify; sys.exit(main_verify())"
_PROGRAMS = pytest.mark.parametrize("program", [_RUNS_HYLO_VERIFY, "from hylo_eval.cli import main; main()"])


def command_of(program, task):
    """A command line that verifies the task in a process of its own."""
    group = [] if program is _RUNS_HYLO_VERIFY else ["verify"]
    folders = ["--workspace", str(task / "app"), "--logs-dir", str(task / "logs")]
    return [sys.executable, "-c", program, *group, *folders, str(task / "tests" / "verifier.toml")]


def stdio_task(task, program):
    """Makes the task one of a program that must print nothing."""
    (task / "tests" / "cases").mkdir()
    for name in ("input_1.txt", "output_1.txt"):
        (task / "tests" / "cases" / name).write_text("")
    (task / "tests" / "verifier.toml").write_text('mode = "stdio"\ncommand = "python3 program.py"\n')
    (task / "app" / "program.py").write_text(program)


@_PROGRAMS
@pytest.mark.parametrize(
    "spec", ['mode = "mcq"\nexpected = "C"\n', 'mode = "mcq"\n', 'mode = "judge"\ncriteria = ["a"]\n']
)
def test_who_reads_standard_error_decides_nothing(task, program, spec):
    """A verdict that was written ends with 0, also where what is said of it can be kept by nobody."""
    (task / "tests" / "verifier.toml").write_text(spec)
    command = command_of(program, task)
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") as full, os.fdopen(writer, "wb") as left:
        for stderr in (full, left):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, check=False)
            assert (done.returncode, done.stdout) == (0, b"")
            assert recorded(task)["status"]
    closed = subprocess.run(["bash", "-c", 'exec "$@" 2>&-', "bash", *command], stdout=subprocess.PIPE, check=False)
    assert (closed.returncode, closed.stdout) == (0, b"")


@_PROGRAMS
def test_a_parent_that_ignores_its_children(task, program):
    """How the candidate's program ended is known, whatever the parent has the kernel do with its own children."""
    stdio_task(task, "raise SystemExit(3)")
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", ignoring, *command_of(program, task)]
    assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0
    assert recorded(task)["detail"]["reason"] == "runtime_error"


def test_a_caller_that_ignores_its_children_does_so_afterwards(task):
    """The command gives back what it took."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert verify(task)[0] == 0
        assert signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGCHLD, before)


_PRINTS_CREDENTIALS = """
import os, sys
block = open(f"/proc/{os.getppid()}/environ", "rb").read()
assert b"TRAY=left" in block
sys.exit(f"{os.environb} {block}")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@_PROGRAMS
def test_a_candidate_reads_no_credentials(task, program, monkeypatch):
    """Neither its own environment nor the one that the kernel shows of its parent holds them."""
    monkeypatch.setenv(SECRET_VARIABLES[0], "secret-key")
    if not blank_initial_credentials():
        pytest.skip("a process may not write to its own memory by /proc here")
    stdio_task(task, _PRINTS_CREDENTIALS)
    secrets = {name: f"secret-{name}" for name in SECRET_VARIABLES}
    environment = {**os.environ, **secrets, "TRAY": "left"}
    done = subprocess.run(command_of(program, task), env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    verdict = recorded(task)
    assert verdict["detail"]["reason"] == "runtime_error"
    assert "TRAY=left" in str(verdict)
    assert "secret-" not in str(verdict)


@pytest.mark.parametrize(
    "spec",
    [
        'mode = "json-schema"\nschema = "mål.json"\n',
        'mode = "mcq"\nexpected = "C"\noutput = "/app/svår.txt"\n',
        'mode = "mcq"\nexpected = "C"\noutput = "/app/svår/a.txt"\n',
        'mode = "stdio"\ncommand = "true"\ncases = "mål"\n',
        'mode = "stdio"\ncommand = "mål"\n',
        'mode = "junit"\ncommand = "true"\nrestore = ["mål"]\n',
        'mode = "script"\npath = "mål.sh"\n',
    ],
)
def test_names_that_the_locale_cannot_hold(task, spec):
    """Where a process names files in ASCII, another name is no answer's zero and no defect of the task."""
    stdio_task(task, "")
    (task / "tests" / "verifier.toml").write_text(spec, encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(command_of(_RUNS_HYLO_VERIFY, task), env=environment, capture_output=True, check=False)
    verdict = recorded(task)
    assert (done.returncode, verdict["status"]) == (0, "infra_error")
    assert "PYTHONUTF8=1" in verdict["detail"]["error"]
