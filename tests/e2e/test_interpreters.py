"""A simulator that lives in another interpreter, from the command line of this one, with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hylo_eval.interpreters.registry import VARIABLE
from tests.interpreters import BENCHMARK, SIMULATOR, hylo, make_environment, other_python, site_packages

NOISE = "import sys; print('noise of a package'); sys.stdout.flush()"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The folder of an interpreter that alone has a simulator, and prints as soon as it starts."""
    make_environment(tmp_path / "there", lines=[NOISE])
    (site_packages(tmp_path / "there") / "simulator_there.py").write_text(SIMULATOR, encoding="utf-8")
    (tmp_path / "elsewhere.toml").write_text(BENCHMARK, encoding="utf-8")
    return tmp_path


def added(there: Path) -> Path:
    """Register the interpreter and give it back."""
    python = there / "there" / "bin" / "python"
    outcome = hylo(there, "env", "add", "simulator_there", "--python", str(python))
    assert outcome.code == 0, outcome.err
    return python


RUN = ("run", "elsewhere.toml", "--agent", "reach-scripted", "--json")


def test_a_run_from_here_happens_there(there: Path) -> None:
    """Without the registration it cannot be made; with it, nothing printed gets between, and the manifest says where."""
    refused = hylo(there, *RUN)
    assert refused.code == 2
    assert "no module 'simulator_there'" in refused.err
    python = added(there)
    outcome = hylo(there, *RUN, "--run-id", "it")
    assert outcome.code == 0, outcome.err
    assert outcome.json["complete"] is True
    manifest = json.loads((there / "runs" / "it" / "manifest.json").read_text())
    assert manifest["interpreter"]["executable"] == str(python)
    assert manifest["versions"]["simulator"] == "7.1"
    log = json.loads((there / "runs" / "it" / "evallog.json").read_text().splitlines()[0] + "]}")
    assert log["eval"]["manifest"]["versions"]["simulator"] == "7.1"
    assert "welcome to simulators" in (there / "runs" / "it" / "logs" / "worker-0.log").read_text()
    resumed = hylo(there, "run", "--resume", "it", "--json")
    assert resumed.code == 0, resumed.err
    assert hylo(there, "env", "remove", "simulator_there").code == 0
    forgotten = hylo(there, "run", "--resume", "it")
    assert forgotten.code == 2
    assert f"fix: hylo-eval env add simulator_there --python {python}" in forgotten.err


@pytest.mark.slow
def test_commands_that_need_the_simulator_run_there_with_their_results_here(there: Path) -> None:
    """The JSON of check-env is alone on standard output, whatever prints over there; exit codes come through."""
    added(there)
    checked = hylo(there, "check-env", "elsewhere.toml", "--json")
    assert checked.code == 0, checked.err
    assert checked.json["ok"] is True
    assert "noise of a package" in checked.err
    wrong = hylo(there, "check-env", "elsewhere.toml", "--env-arg", "nonsense=1")
    assert wrong.code == 2
    assert "nonsense" in wrong.err
    in_process = hylo(there, *RUN, "--workers", "0")
    assert in_process.code == 2
    assert "--workers 0 runs everything in this process" in in_process.err


@pytest.mark.slow
def test_listing_and_doctor_say_where(there: Path) -> None:
    """Usable, and in which interpreter; when that is gone, what to do about it, and exit code 2 from the doctor."""
    python = added(there)
    hylo(there, "env", "add", "reach", "--python", str(python))
    listed = {item["name"]: item for item in hylo(there, "list", "envs", "--json").json["envs"]}
    assert listed["reach"]["interpreter"] == str(python)
    assert listed["reach"]["usable"] is True
    assert "interpreter" not in listed["gymnasium"]
    rows = {line.split()[0]: line.split()[1] for line in hylo(there, "list", "benchmarks").out.splitlines()}
    assert rows["reach_fixed"] == "elsewhere"
    findings = {item["check"]: item for item in hylo(there, "doctor", "--json").json["findings"]}
    assert findings["reach"]["outcome"] == "ok"
    assert f"runs in {python}: Python {sys.version_info[0]}." in findings["reach"]["text"]
    python.unlink()
    doctor = hylo(there, "doctor", "--json")
    assert doctor.code == 2
    broken = {item["check"]: item for item in doctor.json["findings"]}["reach"]
    assert broken["outcome"] == "broken"
    assert "No such file or directory" in broken["text"]
    assert broken["fix"]
    gone = hylo(there, "list", "envs")
    assert {line.split()[0]: line.split()[1] for line in gone.out.splitlines()}["reach"] == "no"
    assert f"{python} cannot be used" in gone.err
    run = hylo(there, "run", "reach_fixed", "--agent", "zero", "--episodes", "1")
    assert run.code == 2
    assert "(registered for reach)" in run.err
    assert not (there / "runs").exists()


def test_an_agent_that_is_not_there_is_refused_with_the_place_it_must_be_in(there: Path) -> None:
    """Agents live in the workers; a module in a folder of one's own is found by both through PYTHONPATH."""
    added(there)
    mine = there / "mine"
    mine.mkdir()
    (mine / "my_agent.py").write_text("from hylo_eval.agents.reach_scripted import ReachScripted as Mine\n")
    (there / "agent.toml").write_text('agent = "my_agent:Mine"\n')
    run = ("run", "elsewhere.toml", "--agent", "agent.toml", "--json", "--episodes", "1")
    refused = hylo(there, *run)
    assert refused.code == 2
    assert "no module 'my_agent'" in refused.err
    assert f"(in {there}/there/bin/python, where agent and environment are made)" in refused.err
    path = os.pathsep.join(filter(None, [str(mine), os.environ.get("PYTHONPATH", "")]))
    outcome = hylo(there, *run, PYTHONPATH=path)
    assert outcome.code == 0, outcome.err


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_an_interrupted_command_ends_over_there_too(number: int, code: int, there: Path) -> None:
    """The signal may reach the first process alone, which may not even notice; nothing is left behind."""
    added(there)
    hang = there / "there" / "hang"
    source = site_packages(there / "there") / "simulator_there.py"
    waiting = f"import os, pathlib, signal; pathlib.Path({str(hang)!r}).write_text(str(os.getpid())); signal.pause()"
    source.write_text(f"{source.read_text()}\n{waiting}\n", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "hylo_eval", "check-env", "elsewhere.toml"],
        cwd=there,
        env={**os.environ, "PYTHONSAFEPATH": "1", VARIABLE: str(there / "interpreters.toml")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 120
    while not hang.exists() or not hang.read_text():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait(60) == code
    left = Path("/proc", hang.read_text())
    while left.exists() and b") Z " not in (left / "stat").read_bytes():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
def test_another_version_of_python_behaves_the_same(tmp_path: Path) -> None:
    """Episodes of reach have the digests they have here, where numpy is the same there; else all but the versions."""
    python = other_python()
    if python is None:
        pytest.skip("HYLO_OTHER_PYTHON names no interpreter of another version with this Hylo in it")
    run = ("run", "reach_fixed", "--agent", "reach-scripted", "--episodes", "5", "--json", "--run-id")
    here = hylo(tmp_path, *run, "here")
    assert here.code == 0, here.err
    added = hylo(tmp_path, "env", "add", "reach", "--python", python, "--json")
    assert added.code == 0, added.err
    assert added.json["python"].split(".")[:2] != [str(part) for part in sys.version_info[:2]]
    there = hylo(tmp_path, *run, "there")
    assert there.code == 0, there.err
    manifests = [json.loads((tmp_path / "runs" / name / "manifest.json").read_text()) for name in ("here", "there")]
    assert manifests[1]["interpreter"]["python"] == added.json["python"]
    assert behaviours(tmp_path / "runs" / "here") == behaviours(tmp_path / "runs" / "there")
    if manifests[0]["versions"]["numpy"] == manifests[1]["versions"]["numpy"]:
        assert digests(tmp_path / "runs" / "here") == digests(tmp_path / "runs" / "there")


def behaviours(run: Path) -> dict[str, list[Any]]:
    """Every event but what may differ between equal runs, and the versions of packages."""
    found: dict[str, list[Any]] = {}
    for path in (run / "episodes").iterdir():
        events = [json.loads(line) for line in path.read_text().splitlines()]
        found[path.name] = [{k: v for k, v in event.items() if k not in {"volatile", "versions"}} for event in events]
    return found


def digests(run: Path) -> dict[str, str]:
    """The behaviour digest of every episode."""
    lines = (run / "evallog.json").read_text().splitlines()[1:]
    samples = [json.loads(line.rstrip(",").removesuffix("]}")) for line in lines if line.strip(" ]}")]
    return {sample["key"]: sample["behaviour_sha256"] for sample in samples}
