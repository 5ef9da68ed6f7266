"""Commands end at their deadline or output limit, and nothing that they started outlives them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import pytest

from hylo_eval.credentials import CREDENTIAL_PREFIXES, SECRET_VARIABLES
from hylo_eval.verify.execution.command import ReportChannel, run_command
from hylo_eval.verify.execution.environment import CANDIDATE_USER_VARIABLE, MARKER_VARIABLE, command_environment
from hylo_eval.verify.execution.strays import child_processes
from hylo_eval.verify.verdict import GradingInfraError


def python(code, cwd, **options):
    return run_command([sys.executable, "-c", code], cwd=cwd, **{"timeout_seconds": 30.0, **options})


def alive(pid):
    """Whether the process still runs; a zombie does not."""
    try:
        state = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_output_and_exit_code(tmp_path):
    """A command's standard input, both outputs and its exit code pass through unchanged."""
    result = python(
        "import sys; t = sys.stdin.read(); print(t.upper()); print('warn', file=sys.stderr); sys.exit(3)",
        tmp_path,
        stdin=b"left\n",
    )
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"LEFT\n\n", b"warn\n")
    assert not result.timed_out
    assert not result.flooded


def test_large_exchange(tmp_path):
    """Input and output larger than any pipe's buffer do not block each other."""
    payload = b"0123456789abcdef" * 100_000
    result = python("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", tmp_path, stdin=payload)
    assert result.stdout == payload


def test_unread_input(tmp_path):
    """A command that never reads its input still ends with its own exit code."""
    assert python("raise SystemExit(4)", tmp_path, stdin=b"x" * 1_000_000).exit_code == 4


def test_deadline(tmp_path):
    """A command that does not end is ended at its deadline and has no exit code."""
    result = python("print('begun', flush=True)\nimport time\ntime.sleep(60)", tmp_path, timeout_seconds=0.5)
    assert result.timed_out
    assert result.exit_code is None
    assert result.stdout == b"begun\n"


def test_flood(tmp_path):
    """A command that floods its output is ended, and no more than the limit is kept."""
    result = python("while True: print('x' * 1000)", tmp_path, output_limit_bytes=100_000)
    assert result.flooded
    assert not result.timed_out
    assert len(result.stdout) == 100_000


def test_group_is_ended(tmp_path):
    """A background process of the command's own group does not outlive the command."""
    result = run_command(["bash", "-c", "sleep 60 & echo $!"], cwd=tmp_path, timeout_seconds=30.0)
    assert result.exit_code == 0
    assert not alive(int(result.stdout))


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3):
            os.close(descriptor)
        script = "echo $$ > new; mv new pid; sleep 60 & wait"
        os.execvpe("bash", ["bash", "-c", script], eval(sys.argv[1]))
    os._exit(0)
os.wait()
while not os.path.exists("pid"):
    time.sleep(0.005)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sub-reapers are Linux's")
@pytest.mark.parametrize("environment", ["os.environ", "{'PATH': os.environ['PATH']}"], ids=["kept", "dropped"])
def test_daemon_is_ended(tmp_path, environment):
    """A daemon that left the group, closed its files and dropped its environment is ended, its child too."""
    before = child_processes()  # a warm child of another test's grader, say
    result = run_command([sys.executable, "-c", DAEMON, environment], cwd=tmp_path, timeout_seconds=30.0)
    assert result.exit_code == 0
    assert not alive(int((tmp_path / "pid").read_text()))
    assert child_processes() <= before


HOPPING = """
import os, time
if os.fork() == 0:
    os.setsid()
    for descriptor in range(3):
        os.close(descriptor)
    end = time.monotonic() + 30.0
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
"""

HUNTER = """
import sys
from pathlib import Path
from hylo_eval.verify.execution.command import run_command
from hylo_eval.verify.execution.strays import child_processes
run_command([sys.executable, "-c", sys.argv[1]], cwd=Path(sys.argv[2]), timeout_seconds=30.0)
print(sorted(child_processes()))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sub-reapers are Linux's")
def test_hopping_process_is_ended(tmp_path):
    """A process that changes its number all the time, by forking and exiting, is caught where no other thread runs."""
    hunter = subprocess.run(
        [sys.executable, "-c", HUNTER, HOPPING, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert hunter.stdout == "[]\n"


def test_own_children_stay(tmp_path):
    """Children that this process had before the command are not the command's and stay."""
    with subprocess.Popen(["sleep", "60"]) as own:
        assert python("pass", tmp_path).exit_code == 0
        assert own.poll() is None
        own.kill()


def test_other_threads_children_stay(tmp_path):
    """A child that another thread starts meanwhile carries no marker and stays."""
    begun = threading.Event()
    done = threading.Event()
    started = []

    def start_child():
        begun.wait(30)
        with subprocess.Popen(["sleep", "60"]) as child:
            started.append(child)
            (tmp_path / "go").write_text("")
            done.wait(30)
            started.append(child.poll())
            child.kill()

    thread = threading.Thread(target=start_child)
    thread.start()
    begun.set()
    result = python("import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)", tmp_path)
    done.set()
    thread.join()
    assert result.exit_code == 0
    assert started[1] is None


def test_report_channel(tmp_path):
    """A report arrives by a pipe whose number the command is told, apart from its outputs."""
    with ReportChannel() as channel:
        result = python(
            "import os, sys; n = int(sys.stdin.read()); os.write(n, b'r' * 200_000); print('said')",
            tmp_path,
            stdin=str(channel.write_descriptor).encode(),
            channel=channel,
        )
    assert result.report == b"r" * 200_000
    assert result.stdout == b"said\n"


def test_missing_program(tmp_path):
    """A program that does not exist raises, because only the caller knows whose fault that is."""
    with pytest.raises(FileNotFoundError):
        run_command(["no-such-program-here"], cwd=tmp_path, timeout_seconds=1.0)


def test_a_program_is_started_where_it_was_found(tmp_path):
    """A place found before is used as it is, and searched for again when nothing can be started there."""
    found = tmp_path / "true"
    found.write_text("#!/bin/sh\nexit 5\n")
    found.chmod(0o755)
    assert run_command(["true"], cwd=tmp_path, timeout_seconds=30.0, program=str(found)).exit_code == 5
    found.unlink()
    assert run_command(["true"], cwd=tmp_path, timeout_seconds=30.0, program=str(found)).exit_code == 0


def test_commands_share_an_environment(tmp_path, monkeypatch):
    """An environment made once serves several commands: the same variables, the same marker, no credentials."""
    monkeypatch.setenv("VERIFYIT_JUDGE_API_KEY", "secret")
    environment = command_environment({"TRAY": "left\udce9"})
    names = (b"TRAY", MARKER_VARIABLE.encode(), b"VERIFYIT_JUDGE_API_KEY")
    code = f"import os; os.write(1, b' '.join(os.environb.get(name, b'none') for name in {names}))"
    said = [python(code, tmp_path, environment=environment).stdout for _ in range(2)]
    assert said[0] == said[1] == b"left\xe9 %s none" % environment.marker.encode()
    assert command_environment({"TRAY": "left"}).marker != environment.marker


def test_unchanged_variables_are_inherited(tmp_path, monkeypatch):
    """Without anything to add or to withhold, a command inherits the variables as they are: nothing is converted."""
    for name in os.environ:
        if name.startswith(CREDENTIAL_PREFIXES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TRAY", "left")
    environment = command_environment()
    assert environment == (None, None)
    shown = f"import os; print(os.environ['TRAY'], os.environ.get({MARKER_VARIABLE!r}))"
    assert python(shown, tmp_path, environment=environment).stdout == b"left None\n"


def test_beside_another_thread_every_command_is_marked():
    """Which may start children of its own, of whom a command's are told by their mark."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    environment = command_environment()
    done.set()
    other.join()
    assert environment.variables[MARKER_VARIABLE.encode()] == environment.marker.encode()


@pytest.mark.parametrize("name", [*SECRET_VARIABLES, "VERIFYIT_JUDGE_BASE_URL"])
def test_every_credential_is_withheld(monkeypatch, name):
    """No command sees the product's own credentials that was not given them."""
    monkeypatch.setenv(name, "secret-key")
    assert name.encode() not in command_environment().variables
    assert command_environment({"TRAY": "left"}, credentials=True).variables[name.encode()] == b"secret-key"


def test_variables_are_those_of_now(monkeypatch):
    """A command's variables follow this process's, also where the interpreter offers no table of them."""
    monkeypatch.setenv("TRAY", "left")
    quick = command_environment({"ARM": "up"}).variables
    monkeypatch.setattr(os, "environb", MappingProxyType(dict(os.environb)))
    slow = command_environment({"ARM": "up"}).variables
    marker = MARKER_VARIABLE.encode()
    assert quick[b"TRAY"] == b"left"
    assert {**quick, marker: b""} == {**slow, marker: b""}


def test_an_environment_is_shown_without_its_variables(monkeypatch):
    """What a traceback shows of an environment holds no secret."""
    monkeypatch.setenv("TOKEN", "secret")
    assert "secret" not in repr(command_environment({"ARM": "up"}))


def test_without_process_descriptors(tmp_path, monkeypatch):
    """Where the system has no process descriptors, a command's end is seen and its deadline holds all the same."""
    monkeypatch.delattr(os, "pidfd_open")
    assert python("print(1); raise SystemExit(3)", tmp_path).exit_code == 3
    assert python("import time; time.sleep(60)", tmp_path, timeout_seconds=0.3).timed_out


def test_credentials_are_withheld(tmp_path, monkeypatch):
    """The judge's credentials reach a command only on request."""
    monkeypatch.setenv("VERIFYIT_JUDGE_API_KEY", "secret")
    code = "import os; print(os.environ.get('VERIFYIT_JUDGE_API_KEY'))"
    assert python(code, tmp_path).stdout == b"None\n"
    assert python(code, tmp_path, credentials=True).stdout == b"secret\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes users")
def test_candidate_user(tmp_path, monkeypatch):
    """A configured user runs the candidate's commands, so that it cannot read what only the grader may."""
    hidden = tmp_path / "hidden.txt"
    hidden.write_text("42")
    hidden.chmod(0o600)
    monkeypatch.setenv(CANDIDATE_USER_VARIABLE, "nobody")
    argv = ["cat", str(hidden)]
    assert run_command(argv, cwd=Path("/"), timeout_seconds=30.0).exit_code == 1
    assert run_command(argv, cwd=Path("/"), timeout_seconds=30.0, candidate=False).stdout == b"42"


def test_unknown_candidate_user(tmp_path, monkeypatch):
    """A configured user that does not exist is refused, not ignored."""
    monkeypatch.setenv(CANDIDATE_USER_VARIABLE, "no-such-user")
    with pytest.raises(GradingInfraError, match="no-such-user"):
        python("pass", tmp_path)


@pytest.fixture(params=["ignored", "waited for"])
def somebody_else_reaps(request: pytest.FixtureRequest) -> Iterator[None]:
    """A program around us that has no child of it become a zombie."""

    def wait_for_all(*_: object) -> None:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN if request.param == "ignored" else wait_for_all)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.parametrize("script", ["exit 1", "exit 0", "sleep 0.2; exit 1"])
@pytest.mark.usefixtures("somebody_else_reaps")
def test_an_exit_status_that_somebody_else_took_is_no_success(tmp_path: Path, script: str) -> None:
    """It is not known: neither a pass nor the candidate's failure."""
    with pytest.raises(GradingInfraError, match="SIGCHLD"):
        run_command(["sh", "-c", script], cwd=tmp_path, timeout_seconds=30.0)


def test_a_deadline_of_weeks_is_one(tmp_path: Path) -> None:
    """Longer than poll can wait at once."""
    assert run_command(["true"], cwd=tmp_path, timeout_seconds=1e9).exit_code == 0
