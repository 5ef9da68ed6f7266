"""The command as a process: exit codes that scripts rely on, whatever becomes of its output and of what it loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hylo_eval.benchmarks import benchmark_files

RUN = ("run", "reach_fixed", "--episodes", "2", "--max-steps", "3", "--run-id", "one")
AGENT = """
    import os, resource, sys, threading, time
    import numpy as np
    from hylo_core import AgentInfo, AgentSpec
    from hylo_eval import Reply

    class Agent:
        info, spec = AgentInfo(name="odd\\nsuccess 100 %", version="1"), AgentSpec()
        def open_episode(self, instance, instruction, seed):
            return self
        def act(self, observation):
            return Reply(np.zeros(3))
        def close(self):
            pass

    class ExitsWhenMade(Agent):
        def __init__(self):
            sys.exit(0)

    class ExitsAtTheEnd(Agent):
        def act(self, observation):
            raise type("Odd\\x1b[31m", (Exception,), {})("no")
        def open_episode(self, instance, instruction, seed):
            session = ExitsAtTheEnd()
            session.close = lambda: None
            return session
        def close(self):
            sys.exit(0)

    class Wordy(Agent):
        def act(self, observation):
            return Reply(np.zeros(3), metadata={"raw": "x" * 1_000_000})

    class LimitsFiles(Agent):
        def open_episode(self, instance, instruction, seed):
            if instance.episode_index == 0:
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            return self

    class LeavesAThread(Agent):
        def __init__(self):
            threading.Thread(target=time.sleep, args=(600,), name="left-behind").start()

    def exits(task):
        sys.exit(0)
"""


@pytest.fixture
def shell(tmp_path: Path):
    """Run the command line in a shell, ``%s`` standing for it."""
    (tmp_path / "odd.py").write_text(textwrap.dedent(AGENT).replace("\\\\", "\\"))

    def call(script: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = 'PYTHONPATH="$PWD:$PYTHONPATH" "$PYTHON" -m hylo_eval "$@"'
        return subprocess.run(
            ["bash", "-c", script.replace("%s", command), "bash", *arguments],
            check=False,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(Path(__file__).parents[3])},
            timeout=120,
        )

    return call


def test_a_result_that_is_not_delivered_is_no_success(shell):
    """A full disk: 3, never 0 (an open gate) or 1 (a closed one), and no traceback."""
    outcome = shell("%s >/dev/full", "benchmark", "show", "libero_90", "--json")
    assert outcome.returncode == 3
    assert b"Traceback" not in outcome.stderr


@pytest.mark.parametrize("arguments", [("show", "nothing"), ("nothing",), ("gate", "--nothing")])
def test_an_error_that_cannot_be_said_is_the_same_error(shell, arguments):
    """Standard error on a full disk: 2, never 1 (a closed gate)."""
    assert shell("%s 2>/dev/full", *arguments).returncode == 2


@pytest.fixture
def deserted():
    """A pipe to write to whose reader has left."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize(
    ("stream", "arguments", "code"),
    [
        ("stdout", (*RUN, "--agent", "zero"), 0),
        ("both", (*RUN, "--agent", "zero", "--workers", "0"), 0),
        ("both", (*RUN, "--agent", "odd:ExitsAtTheEnd", "--workers", "0"), 3),
        ("stdout", ("benchmark", "show", "libero_90", "--json"), 0),
        ("stderr", ("benchmark", "show", "nothing"), 2),
        ("stdout", ("ls",), 0),
        ("stdout", ("--help",), 0),
    ],
    ids=["whole", "in-process", "unscored", "long", "refused", "list", "help"],
)
def test_a_reader_that_leaves_changes_nothing(tmp_path, deserted, arguments, code, stream):
    """As with ``| head -1`` or ``2>&1 | true``: the command goes on, and its exit code is what it came to."""
    (tmp_path / "odd.py").write_text(textwrap.dedent(AGENT))
    (tmp_path / "runs").mkdir()
    ended = subprocess.run(
        [sys.executable, "-m", "hylo_eval", *arguments],
        stdout=subprocess.PIPE if stream == "stderr" else deserted,
        stderr=subprocess.PIPE if stream == "stdout" else deserted,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[3]}"},
        check=False,
        timeout=120,
    )
    assert ended.returncode == code
    said = (ended.stdout or b"") + (ended.stderr or b"")
    assert not any(word in said for word in (b"Traceback", b"Broken pipe", b"BrokenPipe"))
    assert (tmp_path / "runs/one/evallog.json").exists() == ("--agent" in arguments)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams_change_nothing(shell, tmp_path, closed):
    """The run is whole, and what is printed stands in no file of it."""
    assert shell(f"%s {closed}", *RUN, "--agent", "zero").returncode == 0
    assert (tmp_path / "runs/one/evallog.json").exists()
    for trace in (tmp_path / "runs/one/episodes").iterdir():
        assert all(json.loads(line) for line in trace.read_bytes().splitlines())


@pytest.mark.parametrize("agent", ["odd:ExitsWhenMade", "nowhere:Agent"])
def test_an_agent_that_ends_the_process_has_not_succeeded(shell, agent):
    """sys.exit(0) in somebody's constructor is exit code 2 and a sentence."""
    outcome = shell("%s", *RUN, "--agent", agent)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith(b"error: ")


def test_an_agent_that_exits_when_it_is_closed_does_not_hide_the_result(shell, tmp_path):
    """The report is printed and the exit code is the run's own; names move no cursor and forge no line."""
    outcome = shell("%s", *RUN, "--agent", "odd:ExitsAtTheEnd")
    assert outcome.returncode == 3
    assert b"agent odd\\nsuccess 100 % 1," in outcome.stdout
    assert b"\x1b" not in outcome.stdout + outcome.stderr
    log = (tmp_path / "runs" / "one" / "logs" / "worker-0.log").read_text()
    assert "closing the agent raised SystemExit: 0" in log


def test_an_env_that_ends_the_process_has_not_succeeded(shell, tmp_path):
    """sys.exit(0) in somebody's factory is a refusal with a sentence, before anything is written."""
    shown = benchmark_files()["reach_fixed"].read_text()
    (tmp_path / "odd.toml").write_text(shown.replace('env = "reach"', 'env = "odd:exits"'))
    outcome = shell("%s", "run", "odd.toml", "--episodes", "1", "--agent", "zero", "--max-attempts", "1")
    assert outcome.returncode == 2
    assert b"cannot be made: SystemExit: 0" in outcome.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_thread_left_behind_does_not_keep_the_process(shell):
    """Evidence on disk and a command that never ends would be a hanging job."""
    assert shell("%s", *RUN, "--agent", "odd:LeavesAThread", "--run-id", "worker").returncode == 0
    outcome = shell("%s", *RUN, "--agent", "odd:LeavesAThread", "--workers", "0")
    assert outcome.returncode == 0
    assert b"left-behind" in outcome.stderr


def test_a_disk_that_is_full_ends_the_run_with_a_sentence(shell, tmp_path):
    """It names the file; no traceback, no fault in Hylo; with room again the same command goes on."""
    outcome = shell("ulimit -f 8; %s", *RUN, "--agent", "zero", "--run-id", "none")
    assert outcome.returncode == 2
    assert b"queue.db cannot be" in outcome.stderr
    outcome = shell("ulimit -f 1000; %s", *RUN, "--agent", "odd:Wordy")
    assert outcome.returncode == 2
    assert b"cannot write the trace" in outcome.stderr
    assert b"make room" in outcome.stderr
    outcome = shell("%s", *RUN, "--agent", "odd:Wordy")
    assert outcome.returncode == 0
    assert b"2/2" in outcome.stdout


def test_an_agent_that_limits_the_files_of_its_worker_loses_that_worker(shell, tmp_path):
    """Its disk is not full: another process writes on, and the other episode has its outcome."""
    outcome = shell("%s", *RUN, "--agent", "odd:LimitsFiles", "--max-attempts", "2")
    assert outcome.returncode == 3
    assert b"make room" not in outcome.stderr
    attempts = json.loads(shell("%s", "status", "one", "--json").stdout)["attempts"]
    log = json.loads((tmp_path / "runs/one/evallog.json").read_text())
    assert sorted(sample["status"] for sample in log["samples"]) == ["completed", "worker_lost"]
    lost = [item for item in attempts if item["status"] == "worker_lost"]
    assert sorted((item["attempt"], item["count"]) for item in lost) == [(1, 1), (2, 1)]
    assert b"found a limit on the size of files that it was not started with" in shell("%s", "show", "one").stdout


def test_a_termination_before_the_run_begins_is_an_interruption(shell):
    """130, as after it: whoever started the command asks one question."""
    code = "import os, signal; from hylo_eval.cli import group, main; "
    code += "group.run = lambda: os.kill(os.getpid(), signal.SIGTERM); main()"
    assert shell(f'"$PYTHON" -c "{code}"; exit $?').returncode == 130
