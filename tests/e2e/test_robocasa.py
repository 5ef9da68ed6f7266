"""RoboCasa on the stand-in kitchen: its own code, in an interpreter of its own, started by the command line of this one."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import attrs
import pytest

from hylo_core.benchmark import Benchmark
from hylo_core.instruction import matches_instruction
from hylo_core.task import TaskSpec
from hylo_core.trace import EpisodeTrace
from hylo_eval import read_evallog, read_trace
from hylo_eval.benchmarks import dump_benchmark
from hylo_eval.envs.robocasa.installation import STAND_IN_MARKER
from tests.hylo_eval.envs.robocasa.conftest import kitchen_task
from tests.interpreters import HYLO, ROBOCASA_PYTHON, Ended
from tests.interpreters import hylo as hylo_in

pytestmark = pytest.mark.slow

EPISODES = 20
NAVIGATE = attrs.evolve(kitchen_task("NavigateKitchen"), stop_on_success=True, max_steps=150)
CLOSE_DRAWER = attrs.evolve(kitchen_task("CloseDrawer"), stop_on_success=True, max_steps=150)
SET_UP = (
    "OpenDrawer",
    "OpenCabinet",
    "CloseCabinet",
    "PickPlaceCounterToCabinet",
    "PickPlaceDrawerToCounter",
    "TurnOnStove",
    "TurnOnSinkFaucet",
    "TurnSinkSpout",
    "OpenMicrowave",
)
"""Drawers, cabinets, objects on counters and in drawers, stove, sink, microwave."""
STEPS = 3
SCRIPTED = ("--agent", "robocasa-scripted", "--env-arg", "privileged=true")


@attrs.frozen
class Kitchen:
    """The command line of this interpreter, with RoboCasa's registered and the stand-in assets named."""

    folder: Path
    assets: Path
    python: str

    def hylo(self, *arguments: object, **environment: str) -> Ended:
        """Run a command in the folder."""
        # State only: nothing is drawn, and nothing that could draw is needed.
        given = {"HYLO_ROBOCASA_ASSETS": str(self.assets), "MUJOCO_GL": "disable", **environment}
        return hylo_in(self.folder, *arguments, **given)

    def write(self, name: str, *tasks: TaskSpec, episodes: int = 1) -> str:
        """A benchmark file of tasks in the stand-in kitchen; gives its name."""
        benchmark = Benchmark(
            id="stand_in_kitchen",
            version="1",
            tasks=tasks,
            splits={"heldout": tuple(range(episodes))},
            metadata={"env": "robocasa"},
        )
        (self.folder / f"{name}.toml").write_text(dump_benchmark(benchmark))
        return f"{name}.toml"

    def run(self, name: str, *tasks: TaskSpec, episodes: int = 1, how: tuple[object, ...] = SCRIPTED) -> Ended:
        """Run tasks under a run id."""
        file = self.write(name, *tasks, episodes=episodes)
        return self.hylo("run", file, *how, "--run-id", name, "--json")

    def traces(self, name: str) -> dict[str, EpisodeTrace]:
        """The traces of a run by instance key."""
        log = read_evallog(self.folder / "runs" / name / "evallog.json")
        return {sample.key: read_trace(self.folder / "runs" / name / sample.trace) for sample in log.samples}

    def traces_by_task(self, name: str) -> dict[str, EpisodeTrace]:
        """The traces of a run with one episode a task, by the package's class."""
        return {trace.instance.spec.params["task"]: trace for trace in self.traces(name).values()}


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Kitchen:
    """RoboCasa's interpreter, registered by the command that people type."""
    python = os.environ.get(ROBOCASA_PYTHON)
    if python is None:
        pytest.skip(f"{ROBOCASA_PYTHON} names no interpreter with RoboCasa and this Hylo in it")
    folder = tmp_path_factory.mktemp("kitchen")
    assets = folder / "assets"
    subprocess.run([python, "-m", "tests.kitchen_assets", assets], cwd=HYLO, check=True, capture_output=True)
    made = Kitchen(folder, assets, python)
    added = made.hylo("env", "add", "robocasa", "--python", python)
    assert added.code == 0, added.err
    return made


@pytest.fixture(scope="module")
def solved(kitchen: Kitchen) -> Ended:
    """One run of the two tasks that the scripted agent solves."""
    return kitchen.run("solved", NAVIGATE, CLOSE_DRAWER)


def test_navigation_and_a_drawer_are_solved_by_the_task_s_own_check(kitchen: Kitchen, solved: Ended) -> None:
    """A base that drives, and an arm that meets a sliding joint; success was not there before, and came of steps."""
    assert solved.code == 0, solved.err
    assert solved.json["scores"]["success"]["mean"] == 1
    traces = kitchen.traces_by_task("solved")
    assert set(traces) == {"NavigateKitchen", "CloseDrawer"}
    for trace in traces.values():
        assert not trace.reset.success
        assert [step.success for step in trace.steps] == [False] * (len(trace.steps) - 1) + [True]
        assert len(trace.steps) >= 10
    assert traces["CloseDrawer"].reset.instruction in ("Close the left drawer.", "Close the right drawer.")


def test_what_a_run_says_of_where_it_ran_and_on_what(kitchen: Kitchen, solved: Ended) -> None:
    """The other interpreter and its packages; stand-ins in manifest, log, traces and report."""
    assert solved.code == 0, solved.err
    run = kitchen.folder / "runs" / "solved"
    manifest = json.loads((run / "manifest.json").read_text())
    listed = kitchen.hylo("env", "list", "--json").json
    assert [entry["usable"] for entry in listed] == [True]
    assert manifest["versions"]["numpy"] == listed[0]["packages"]["numpy"]
    assert manifest["interpreter"]["python"] == listed[0]["python"]
    label = manifest["versions"]["robocasa-assets"]
    assert label.startswith("stand-in assets sha256:")
    assert read_evallog(run / "evallog.json").eval.manifest["versions"]["robocasa-assets"] == label
    assert {trace.start.versions["robocasa-assets"] for trace in kitchen.traces("solved").values()} == {label}
    assert f"ran on stand-ins (robocasa-assets {label})" in " ".join(kitchen.hylo("show", "solved").out.split())
    report = kitchen.hylo("report", "solved", "-o", "page.html")
    assert report.code == 0, report.err
    assert f"robocasa-assets {label}" in (kitchen.folder / "page.html").read_text()
    # The same boxes without the marker count as the real thing, and are not held against them.
    shutil.copytree(kitchen.assets, kitchen.folder / "unmarked")
    (kitchen.folder / "unmarked" / STAND_IN_MARKER).unlink()
    unmarked = ("--run-id", "unmarked", "--env-arg", f"assets={kitchen.folder}/unmarked")
    assert kitchen.hylo("run", "solved.toml", *SCRIPTED, *unmarked).code == 0
    compared = kitchen.hylo("compare", "unmarked", "solved")
    assert compared.code == 2
    assert "stand-in" in compared.err


@pytest.fixture(scope="module")
def set_up(kitchen: Kitchen) -> Ended:
    """One run of every other kind of task, a few steps of random actions each."""
    tasks = [attrs.evolve(kitchen_task(name), max_steps=STEPS) for name in SET_UP]
    return kitchen.run("set_up", *tasks, how=("--agent", "random"))


def test_every_kind_of_task_is_reset_and_steps(kitchen: Kitchen, set_up: Ended) -> None:
    """Worded by the environment, whole, stable, and solved by nothing that three steps could do."""
    assert set_up.code == 0, set_up.err
    assert set_up.json["scores"]["success"]["mean"] == 0
    traces = kitchen.traces_by_task("set_up")
    assert set(traces) == set(SET_UP)
    for trace in traces.values():
        assert matches_instruction(trace.instance.spec.instruction, trace.reset.instruction)
        assert trace.end.status == "completed"
        assert (trace.reset.success, [step.success for step in trace.steps]) == (False, [False] * STEPS)
        moved = [step.observation["robot0_joint_pos"] for step in trace.steps]
        assert moved[0] != moved[-1]


def test_a_drawn_task_has_the_object_that_its_name_says(kitchen: Kitchen) -> None:
    """What the provider drew without the simulator is what the simulator sets up."""
    drawn = ("--count", "200", "--seed", "0", "--arg", "tasks=PickPlaceCounterToCabinet", "--json")
    sampled = kitchen.hylo("benchmark", "sample", "robocasa", *drawn, "-o", "drawn.toml")
    task = next(item["id"] for item in sampled.json["tasks"] if "layout1-style1-" in item["id"])
    zero = ("--agent", "zero", "--max-steps", "1", "--json", "--run-id", "drawn")
    placed = kitchen.hylo("run", "drawn.toml", "--task", task, *zero)
    assert placed.code == 0, placed.err
    (trace,) = kitchen.traces("drawn").values()
    assert task.rpartition("-")[2].replace("_", " ") in trace.reset.instruction


def test_twenty_episodes_are_repeated_bit_for_bit_by_two_workers(kitchen: Kitchen) -> None:
    """Equal behaviour whoever runs an episode after which."""
    # Thirty steps of driving: far enough for contact and noise to show, and not the minutes that arriving takes.
    task = attrs.evolve(NAVIGATE, max_steps=30)
    run = functools.partial(kitchen.run, episodes=EPISODES)
    one, two = (run(f"workers{count}", task, how=(*SCRIPTED, "--workers", count)) for count in (1, 2))
    assert (one.code, two.code) == (0, 0), one.err + two.err
    assert one.json["initial_states"]["distinct"] == EPISODES
    first, second = kitchen.traces("workers1"), kitchen.traces("workers2")
    assert len(first) == EPISODES
    assert {key: trace.behaviour_sha256 for key, trace in first.items()} == {
        key: trace.behaviour_sha256 for key, trace in second.items()
    }
    assert not any(trace.reset.success for trace in first.values())


def test_the_scene_of_a_trace_is_run_again(kitchen: Kitchen, solved: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the lines of the documentation; the episode begins in the scene and goes the same way."""
    assert solved.code == 0, solved.err
    recorded = kitchen.traces_by_task("solved")["NavigateKitchen"]
    (path,) = (kitchen.folder / "runs" / "solved" / "episodes").glob("*NavigateKitchen*.jsonl")
    text = (HYLO / "docs" / "families" / "robocasa.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(kitchen.folder)
    exec(re.sub(r'"runs/night/.*?"', repr(str(path)), lines), {})  # noqa: S102 - our own documentation
    run = kitchen.hylo("run", "scene.toml", *SCRIPTED, "--run-id", "again")
    assert run.code == 0, run.err
    (repeated,) = kitchen.traces("again").values()
    assert repeated.reset.instruction == recorded.reset.instruction
    assert repeated.reset.state_digest == recorded.reset.state_digest
    assert [step.applied for step in repeated.steps] == [step.applied for step in recorded.steps]
    assert [step.observation for step in repeated.steps] == [step.observation for step in recorded.steps]


def test_the_three_meanings_of_success_are_scored_from_one_run(kitchen: Kitchen) -> None:
    """First success, per chunk, and at the end: the driver stays where it arrived."""
    task = attrs.evolve(kitchen_task("NavigateKitchen"), max_steps=140)
    names = ("success_once", "success_per_chunk", "success_at_end", "steps")
    run = kitchen.run("meanings", task, how=(*SCRIPTED, *(part for name in names for part in ("--scorer", name))))
    assert run.code == 0, run.err
    assert [run.json["scores"][name]["mean"] for name in names] == [1.0, 1.0, 1.0, 140.0]


def test_a_reset_without_end_is_ended_by_its_deadline(kitchen: Kitchen) -> None:
    """In a kitchen with nowhere to drive to, NavigateKitchen looks for ever; the episode abstains, and the run is 3."""
    how = ("--agent", "zero", "--deadline", "reset=10", "--max-attempts", 1)
    run = kitchen.run("endless", kitchen_task("NavigateKitchen", layout=2), how=how)
    assert run.code == 3
    assert run.json["scores"]["success"]["abstained"] == {"infra": 1}
    (sample,) = read_evallog(kitchen.folder / "runs" / "endless" / "evallog.json").samples
    assert sample.status == "timeout"


def test_missing_assets_and_objects_abstain_and_say_what_to_install(kitchen: Kitchen) -> None:
    """A kitchen that was never written, a registry that is not there: environment errors with the fix, and exit 3."""
    tasks = (
        attrs.evolve(kitchen_task("PickPlaceCounterToCabinet", object_registries=("aigen",)), max_steps=2),
        attrs.evolve(NAVIGATE, max_steps=2),
        attrs.evolve(kitchen_task("OpenDrawer", layout=3), max_steps=2),
    )
    run = kitchen.run("missing", *tasks, how=("--agent", "zero", "--max-attempts", 1))
    assert run.code == 3
    found = kitchen.traces_by_task("missing")
    assert found["NavigateKitchen"].end.status == "completed"
    for name, words in (("OpenDrawer", "layout003"), ("PickPlaceCounterToCabinet", "registry 'aigen'")):
        (error,) = found[name].errors
        assert found[name].end.status == "env_error"
        assert words in error.message
        assert f"fix: complete the folder {kitchen.assets}; or name none, and {kitchen.python} -m " in error.message


def test_the_bare_wheel_abstains_and_says_what_to_install(kitchen: Kitchen) -> None:
    """Every episode is an environment error with the fix, nothing is scored, and the exit code says so."""
    file = kitchen.write("bare", NAVIGATE, CLOSE_DRAWER)
    once = ("--max-attempts", 1, "--run-id", "bare", "--json")
    run = kitchen.hylo("run", file, *SCRIPTED, *once, HYLO_ROBOCASA_ASSETS="")
    assert run.code == 3
    assert run.json["scores"]["success"]["abstained"] == {"infra": 2}
    assert run.json["scores"]["success"]["mean"] is None
    for trace in kitchen.traces("bare").values():
        (error,) = trace.errors
        assert trace.end.status == "env_error"
        assert "without its kitchen assets" in error.message
        assert f"fix: {kitchen.python} -m robocasa.scripts.download_kitchen_assets" in error.message


def test_a_run_is_resumed_from_elsewhere_and_on_a_copy_of_its_assets(kitchen: Kitchen) -> None:
    """Its place was relative; what lies there is the condition. Without any, the fix is to name it."""
    file = kitchen.write("moved", attrs.evolve(NAVIGATE, max_steps=2))
    how = ("--agent", "zero", "--run-id", "moved", "--env-arg", "assets=assets")
    assert kitchen.hylo("run", file, *how, HYLO_ROBOCASA_ASSETS="").code == 0
    elsewhere = attrs.evolve(kitchen, folder=kitchen.folder / "elsewhere")
    elsewhere.folder.mkdir()
    shutil.copy(kitchen.folder / "interpreters.toml", elsewhere.folder)
    shutil.copytree(kitchen.assets, elsewhere.folder / "copy")
    resume = ("run", "--resume", kitchen.folder / "runs" / "moved")
    for more in ((), ("--env-arg", "assets=copy")):
        done = elsewhere.hylo(*resume, *more, HYLO_ROBOCASA_ASSETS="")
        assert done.code == 0, done.err
        assert "nothing was run" in done.err
    # The first place is gone; the last is remembered.
    kitchen.assets.rename(kitchen.folder / "gone")
    try:
        again = kitchen.hylo(*resume, HYLO_ROBOCASA_ASSETS="")
    finally:
        (kitchen.folder / "gone").rename(kitchen.assets)
    assert again.code == 0, again.err
    (elsewhere.folder / "copy" / "more.txt").write_text("another tree")
    others = elsewhere.hylo(*resume, "--env-arg", "assets=copy")
    assert others.code == 2
    assert "fix: name the assets again that it was begun with, --env-arg assets=FOLDER" in others.err


def test_the_scripted_agent_without_its_observation_is_told_the_option(kitchen: Kitchen) -> None:
    """Before anything runs."""
    file = kitchen.write("unprivileged", NAVIGATE)
    refused = kitchen.hylo("run", file, "--agent", "robocasa-scripted", "--run-id", "unprivileged")
    assert refused.code == 2
    assert "fix: --env-arg privileged=true" in refused.err


def test_a_check_without_an_asset_ends_with_3_and_says_so_once(kitchen: Kitchen) -> None:
    """It is no contract of the environment that is broken."""
    file = kitchen.write("partial", kitchen_task("OpenDrawer", layout=3))
    checked = kitchen.hylo("check-env", file)
    assert (checked.code, checked.out) == (3, "")
    assert checked.err.count("layout003") == 1


def test_a_folder_of_assets_that_is_not_there_is_refused_before_anything_runs(kitchen: Kitchen) -> None:
    """A typo is no missing installation: no episode is begun."""
    file = kitchen.write("nowhere", NAVIGATE)
    run = kitchen.hylo("run", file, "--agent", "zero", "--run-id", "nowhere", "--env-arg", "assets=/nowhere")
    assert run.code == 2
    assert "there is no folder of assets /nowhere" in run.err
    assert "fix: --env-arg assets=FOLDER" in run.err
    assert not (kitchen.folder / "runs" / "nowhere").exists()
