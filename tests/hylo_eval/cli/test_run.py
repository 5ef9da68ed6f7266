"""``hylo-eval run``: what it refuses, what it prints, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import read_evallog, read_trace

AGENTS = """
import numpy as np
from hylo_core import AgentInfo, AgentSpec
from hylo_eval import Reply

class Base:
    info = AgentInfo(name="test", version="1")
    spec = AgentSpec()
    def __init__(self, size: int = 3, tag: str = ""): self.size = size
    def open_episode(self, instance, instruction, seed): return self
    def act(self, observation): return Reply(np.zeros(self.size))
    def close(self): pass
class Nan(Base):
    def act(self, observation): return Reply(np.full(self.size, np.nan))
class Raises(Base):
    def act(self, observation): raise RuntimeError("CUDA out of memory\\x1b[31m\\n::error::verdict: pass")
class CannotBeMade(Base):
    def __init__(self): raise FileNotFoundError("no checkpoint at /data/none")
class Prints(Base):
    def act(self, observation):
        print("simulator chatter"); import os; os.write(1, b"raw chatter\\n"); return super().act(observation)
class Slow(Base):
    def act(self, observation):
        import time; time.sleep(0.05); return super().act(observation)
class NoAgent: pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with agents and broken files."""
    (tmp_path / "agents_of_test.py").write_text(AGENTS)
    (tmp_path / "broken_module.py").write_text("raise ImportError('libcuda.so.1: cannot open')\n")
    (tmp_path / "broken.toml").write_text("id = 'x'\nversion = \n")
    (tmp_path / "unknown.toml").write_text("agent = 'zero'\noption = 3\n")
    (tmp_path / "agent.toml").write_text("agent = 'agents_of_test:Base'\n[options]\nsize = 3\n")
    (tmp_path / "file").write_text("")
    (tmp_path / "needs.toml").write_text(
        "id='n'\nversion='1'\nenv='no_such_simulator.envs:Make'\nsplits={heldout=[0]}\n"
        "[[tasks]]\nid='n'\nversion='1'\ninstruction=''\nmax_steps=1\n"
        "init={kind='seed'}\nsuccess={kind='builtin',name='env_success'}\n"
    )
    return tmp_path


def hylo(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder, with its modules importable."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path[:1], str(Path(__file__).parents[3])]),
    }
    return subprocess.run(
        [sys.executable, "-m", "hylo_eval", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        **options,
    )


REFUSED = [
    (["run", "reach_fixd", "--agent", "zero"], "there is no benchmark 'reach_fixd'; did you mean 'reach_fixed'?", "hylo-eval list benchmarks"),
    (["run", "none.toml", "--agent", "zero"], "there is no benchmark file none.toml", "hylo-eval list benchmarks"),
    (["run", "broken.toml", "--agent", "zero"], "broken.toml: is not valid TOML: Invalid value (at line 2, column 11)", ""),
    (["run", "needs.toml", "--agent", "zero"], "there is no module 'no_such_simulator' in this environment", "put the folder of the module on the path"),
    (["run", "reach_fixed", "--agent", "zeroo"], "there is no agent 'zeroo'; did you mean 'zero'?", "hylo-eval list agents"),
    (["run", "reach_fixed", "--agent", "broken_module:Agent"], "importing broken_module raised ImportError: libcuda.so.1", ""),
    (["run", "reach_fixed", "--agent", "agents_of_test:Missing"], "agents_of_test has no 'Missing'", ""),
    (["run", "reach_fixed", "--agent", "agents_of_test:NoAgent"], "which is no agent: it lacks info, spec, open_episode, close", ""),
    (["run", "reach_fixed", "--agent", "agents_of_test:CannotBeMade"], "cannot be made: FileNotFoundError: no checkpoint at /data/none", ""),
    (["run", "reach_fixed", "--agent", "agents_of_test:Base", "--agent-arg", "sise=2"], "has no option 'sise'; did you mean 'size'? (options: size, tag)", ""),
    (["run", "reach_fixed", "--agent", "agents_of_test:Base", "--agent-arg", "size=two"], "option 'size' must be an integer, not 'two'", ""),
    (["run", "reach_fixed", "--agent", "agents_of_test:Base", "--agent-arg", "size"], "--agent-arg takes NAME=VALUE, not 'size'", ""),
    (["run", "reach_fixed", "--agent", "unknown.toml"], "unknown.toml: 'option' is no key of an agent file (keys: agent, options)", ""),
    (["run", "reach_fixed", "--agent", "missing.toml"], "there is no agent file missing.toml", ""),
    (["run", "reach_fixed", "--agent", "zero", "--env-arg", "colour=red"], "has no option 'colour'", ""),
    (["run", "reach_fixed", "--agent", "zero", "--split", "test"], "has no split 'test'", ""),
    (["run", "reach_fixed", "--agent", "zero", "--task", "reach"], "has no task 'reach'; it is one of fetch_reach; did you mean 'reach_fixed'", "name that benchmark in place of reach_fixed; or hylo-eval benchmark show reach_fixed"),
    (["run", "robocasa_composite_seen", "--agent", "zero", "--task", "fetch/push"], "'robocasa_composite_seen' has no task 'fetch/push'; it is one of fetch_push\n", "name that benchmark in place of robocasa_composite_seen; or hylo-eval benchmark show robocasa_composite_seen"),
    (["run", "needs.toml", "--agent", "zero", "--task", "OpenDrawer"], "has no task 'OpenDrawer'; it is one of robocasa_atomic24, robocasa_atomic_seen, robocasa_target50\n", "name one of these in place of needs.toml; or hylo-eval benchmark show needs.toml"),
    (["run", "reach_fixed", "--agent", "zero", "--key", "metaworld/assembly-v3#1"], "'reach_fixed' has no task 'metaworld/assembly-v3'; it is one of metaworld_mt50\n", "name that benchmark in place of reach_fixed; or hylo-eval benchmark show reach_fixed"),
    (["check-env", "reach_fixed", "--task", "fetch/push"], "has no task 'fetch/push'; it is one of fetch_push\n", "name that benchmark in place of reach_fixed; or hylo-eval benchmark show reach_fixed"),
    (["run", "reach_fixed", "--agent", "zero", "--key", "testing/reach_fixed#1"], "has no instance 'testing/reach_fixed#1'", ""),
    (["run", "needs.toml", "--agent", "zero", "--task", "5"], "has no task 5", "hylo-eval benchmark show needs.toml"),
    (["run", "needs.toml", "--agent", "zero", "--key", "n#9"], "has no instance 'n#9'", "name a key, TASK#SEED: hylo-eval benchmark show needs.toml"),
    (["check-env", "needs.toml", "--task", "5"], "has no task 5", "hylo-eval benchmark show needs.toml"),
    (["run", "reach_fixed", "--agent", "zero", "--max-steps", "0"], "--max-steps must be at least 1, not 0", ""),
    (["run", "reach_fixed", "--agent", "zero", "--scorer", "sucess"], "there is no scorer 'sucess'; did you mean 'success'", "hylo-eval list scorers"),
    (["run", "reach_fixed", "--agent", "zero", "--safety", "rate"], "safety filter 'rate'", ""),
    (["run", "reach_fixed", "--agent", "zero", "--safety", "rate:limt=1"], "has no option 'limt'; did you mean 'limit'", ""),
    (["run", "reach_fixed", "--agent", "zero", "--run-id", "../x"], "'../x' is no run id", ""),
    (["run", "reach_fixed", "--agent", "zero", "--run-root", "file"], "a file is in the way", ""),
    (["run", "reach_fixed"], "Missing option '--agent'", ""),
    (["run", "reach_fixed", "--agent", "zero", "--run-root", "a" * 300], "File name too long: ", "a shorter one"),
    (["rnu"], "no such command 'rnu'; did you mean 'run'", ""),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message", "fix"), REFUSED)
def test_bad_input_ends_with_2_one_message_and_nothing_written(
    folder: Path, arguments: list[str], message: str, fix: str
) -> None:
    """What is wrong, where, and the command that fixes it; no traceback; no run folder."""
    before = sorted(path.name for path in folder.iterdir())
    done = hylo(folder, *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert (f"fix: {fix}" in done.stderr) == bool(fix) or not fix
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    after = sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")
    assert after == before


def test_debug_shows_the_traceback(folder: Path) -> None:
    """Also when it stands after the command."""
    done = hylo(folder, "run", "reach_fixed", "--agent", "zeroo", "--debug")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("agent", ["Nan", "Raises", "Base --agent-arg size=5"])
def test_an_agent_that_fails_everywhere_scores_nothing_and_ends_with_3(folder: Path, agent: str) -> None:
    """Its traces and log are there; its failure is an abstention, not a success of zero; no control codes reach us."""
    done = hylo(
        folder, "run", "reach_fixed", "--agent", *f"agents_of_test:{agent}".split(), "--episodes", "2", "--run-id", "r"
    )
    assert done.returncode == 3, done.stderr
    assert "abstained in 2 of 2: 2 agent_error" in done.stdout
    assert "agent test 1, chunk length 1, replan 1\n" in done.stdout
    assert "distinct initial states: 2\n" in done.stdout
    assert "\x1b" not in done.stdout
    log = read_evallog(folder / "runs" / "r" / "evallog.json")
    assert [sample.status for sample in log.samples] == ["agent_error"] * 2
    assert log.mean("success") is None


def test_an_agent_file_and_json_output(folder: Path) -> None:
    """With --json nothing else is on standard output, whatever the agent prints from Python or C."""
    done = hylo(
        folder,
        "run",
        "reach_fixed",
        "--agent",
        "agents_of_test:Prints",
        "--episodes",
        "1",
        "--max-steps",
        "2",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["scores"]["success"]["n_scored"] == 1
    assert result["initial_states"] == {"distinct": 1, "repeated": 0}
    assert (result["agent"]["chunk_length"], result["agent"]["replan"]) == (1, 1)
    log = Path(result["run"], "logs", "worker-0.log").read_text()
    assert "raw chatter" in log
    assert "simulator chatter" in log
    done = hylo(folder, "run", "reach_fixed", "--agent", "agent.toml", "--episodes", "1", "--max-steps", "2", "--json")
    manifest = json.loads((Path(folder, json.loads(done.stdout)["run"]) / "manifest.json").read_text())
    assert manifest["agent"]["ref"] == "agents_of_test:Base"
    assert manifest["agent"]["options"] == {"size": 3}
    assert manifest["overrides"] == {"max_steps": 2}


def test_one_instance_can_be_looked_at_again(folder: Path) -> None:
    """--key runs the one instance and behaves as it did in the whole run."""
    for name, arguments in (("all", ["--episodes", "3"]), ("one", ["--key", "testing/reach_fixed#10002"])):
        done = hylo(folder, "run", "reach_fixed", "--agent", "random", "--run-id", name, *arguments)
        assert done.returncode == 0, done.stderr
    digests = {}
    for name in ("all", "one"):
        log = read_evallog(folder / "runs" / name / "evallog.json")
        traces = [read_trace(folder / "runs" / name / sample.trace) for sample in log.samples]
        digests[name] = {trace.key: trace.behaviour_sha256 for trace in traces}
    assert len(digests["all"]) == 3
    key = "testing/reach_fixed#10002"
    assert digests["one"] == {key: digests["all"][key]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_with_130_and_keeps_what_is_finished(folder: Path, number: signal.Signals) -> None:
    """The partial log reads, the run does not look finished, the stopped episode is no episode."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parents[3])])}
    command = [sys.executable, "-m", "hylo_eval", "run", "reach_fixed", "--agent", "agents_of_test:Slow"]
    process = subprocess.Popen(
        [*command, "--run-id", "r", "--max-steps", "10"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    episodes = folder / "runs" / "r" / "episodes"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(episodes.glob("*.jsonl"))) < 2:
        time.sleep(0.02)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "of 100 episodes are finished; success lies between" in stderr
    assert "Traceback" not in stderr
    run = folder / "runs" / "r"
    assert not (run / "evallog.json").exists()
    assert len(read_evallog(run / "evallog.partial.json").samples) >= 2
    assert not list(episodes.glob("*.partial"))


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/self/status").exists(), reason="root may write anywhere")
def test_a_full_disk_is_found_before_the_first_episode_or_ends_with_2(folder: Path) -> None:
    """A run root that cannot be made, below a file of the kernel's."""
    done = hylo(folder, "run", "reach_fixed", "--agent", "zero", "--run-root", "/proc/none/runs")
    assert done.returncode == 2
    assert "cannot write the run root" in done.stderr


def test_what_failed_first_is_said(folder: Path) -> None:
    """With where it was raised and which trace has all of it: the first thing a newcomer needs."""
    done = hylo(folder, "run", "reach_fixed", "--agent", "agents_of_test:Raises", "--episodes", "1", "--max-steps", "2")
    assert done.returncode == 3
    assert "first error: testing/reach_fixed#" in done.stdout
    assert "act: RuntimeError: CUDA out of memory" in done.stdout
    assert "\\n::error::verdict: pass" in done.stdout  # as text: a line of its own would be a command to a CI service
    assert "(at agents_of_test.py:" in done.stdout


def test_a_run_is_resumed_as_it_was_called_and_only_with_the_same_agent(folder: Path) -> None:
    """Workers and all; an agent whose file has changed is another one."""
    called = ("run", "reach_fixed", "--agent", "agents_of_test:Base", "--episodes", "2", "--max-steps", "2")
    assert hylo(folder, *called, "--run-id", "mine", "--workers", "2").returncode == 0
    again = hylo(folder, "run", "--resume", "mine")
    assert again.returncode == 0
    assert "every episode had its outcome already: nothing was run" in again.stderr
    manifest = json.loads((folder / "runs" / "mine" / "manifest.json").read_text())
    assert manifest["continued"][0]["execution"]["workers"] == 2
    (folder / "agents_of_test.py").write_text(AGENTS.replace("np.zeros", "np.ones"))
    done = hylo(folder, "run", "--resume", "mine")
    assert done.returncode == 2
    assert "agent.source_digest: stored 'sha256:" in done.stderr


def test_a_run_is_not_resumed_in_an_environment_that_was_edited(folder: Path) -> None:
    """Half of its episodes would be of another task."""
    source = "from hylo_eval.envs.reach import ReachEnv\nclass Mine(ReachEnv):\n    pass\n"
    (folder / "envs_of_test.py").write_text(source)
    shipped = (Path(__file__).parents[3] / "benchmarks" / "testing" / "reach_fixed.toml").read_text()
    (folder / "mine.toml").write_text(shipped.replace('env = "reach"', 'env = "envs_of_test:Mine"'))
    called = ("run", "mine.toml", "--agent", "reach-scripted", "--episodes", "1", "--run-id", "edited")
    assert hylo(folder, *called).returncode == 0
    (folder / "envs_of_test.py").write_text(source.replace("pass", "tolerance = 1"))
    done = hylo(folder, "run", "--resume", "edited")
    assert done.returncode == 2
    assert "env.source_digest: stored 'sha256:" in done.stderr


def test_a_spent_budget_says_what_is_missing_and_what_goes_on(folder: Path) -> None:
    """The rate alone would look like that of a whole run."""
    call = ("run", "reach_fixed", "--agent", "agents_of_test:Slow", "--workers", "0", "--run-id", "short")
    done = hylo(folder, *call, "--budget", "0.2s")
    assert done.returncode == 3
    assert "the budget is spent; what is finished is in " in done.stderr
    assert "to go on: hylo-eval run --resume short" in done.stderr


def test_why_a_scorer_failed_is_said(hylo, tmp_path, monkeypatch):
    """By ``run`` and by ``rescore``: the first episode of each failing scorer, with the reason, on one line."""
    text = (
        'class Fails:\n    name = "fails"\n    def score(self, trace, task): raise ValueError("no\\nmap \\x1b[31m")\n'
    )
    (tmp_path / "failing_scorer.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    chosen = ("--scorer", "success", "--scorer", "failing_scorer:Fails")
    ran = hylo(
        "run", "reach_fixed", "--agent", "zero", "--max-episodes", "2", "--run-root", tmp_path, "--run-id", "r", *chosen
    )
    again = hylo("rescore", tmp_path / "r", *chosen)
    for outcome in (ran, again):
        (line,) = [line for line in outcome.out.splitlines() if "first of" in line]
        assert re.fullmatch(r"first of fails: testing/reach_fixed#\d+: ValueError: no.*map .*31m", line)
        assert "\x1b" not in line
