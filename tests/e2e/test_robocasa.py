"""RoboCasa through the command line, on the stand-in kitchen: its own code, its own check, real worker processes."""

import attrs
import pytest

from hylo_core.benchmark import Benchmark
from hylo_eval import read_evallog, read_trace
from hylo_eval.benchmarks import dump_benchmark
from hylo_eval.envs.robocasa.snapshots import snapshot_task
from tests.hylo_eval.cli.conftest import hylo
from tests.hylo_eval.envs.robocasa.conftest import assets, kitchen_task

__all__ = ["assets", "hylo"]

pytestmark = [pytest.mark.robocasa, pytest.mark.usefixtures("assets")]

EPISODES = 20
NAVIGATE = attrs.evolve(kitchen_task("NavigateKitchen"), stop_on_success=True, max_steps=150)


def write(path, *tasks, episodes=EPISODES):
    """A benchmark file of tasks in the stand-in kitchen."""
    benchmark = Benchmark(
        id="stand_in_kitchen",
        version="1",
        tasks=tasks,
        splits={"heldout": tuple(range(episodes))},
        metadata={"env": "robocasa"},
    )
    path.write_text(dump_benchmark(benchmark))
    return path


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The run root of this module."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def drive(hylo, root):
    """``drive(file, run_id, *arguments)``: a run of the scripted driver, which knows its target."""

    def run(file, run_id, *arguments):
        return hylo(
            *("run", file, "--agent", "robocasa-scripted", "--env-arg", "privileged=true"),
            *("--run-root", root, "--run-id", run_id, "--json", *arguments),
        )

    return run


def traces(root, run_id):
    """The traces of a run by instance key."""
    log = read_evallog(root / run_id / "evallog.json")
    return {sample.key: read_trace(root / run_id / sample.trace) for sample in log.samples}


def test_twenty_episodes_are_repeated_bit_for_bit_by_two_workers(drive, root, tmp_path):
    """Equal behaviour whoever runs an episode after which; stand-ins are named in log, manifest and traces."""
    # Thirty steps of driving: far enough for contact and noise to show, and not the minutes that arriving takes.
    file = write(tmp_path / "navigate.toml", attrs.evolve(NAVIGATE, max_steps=30))
    one, two = (drive(file, f"workers{count}", "--workers", count) for count in (1, 2))
    assert (one.code, two.code) == (0, 0)
    assert one.json["initial_states"]["distinct"] == EPISODES
    first, second = traces(root, "workers1"), traces(root, "workers2")
    assert len(first) == EPISODES
    assert {key: trace.behaviour_sha256 for key, trace in first.items()} == {
        key: trace.behaviour_sha256 for key, trace in second.items()
    }
    assert not any(trace.reset.success for trace in first.values())

    label = read_evallog(root / "workers1" / "evallog.json").eval.manifest["versions"]["robocasa-assets"]
    assert label.startswith("stand-in assets sha256:")
    assert {trace.start.versions["robocasa-assets"] for trace in first.values()} == {label}
    assert f'"robocasa-assets": "{label}"' in (root / "workers1" / "manifest.json").read_text()


def test_the_scene_of_a_trace_is_run_again(drive, root, tmp_path):
    """The file names the trace; the episode begins in its scene and goes the same way."""
    file = write(tmp_path / "navigate.toml", NAVIGATE, episodes=2)
    assert drive(file, "recorded", "--episodes", 1).code == 0
    (recorded,) = traces(root, "recorded").values()
    assert recorded.end.success_once
    assert not recorded.reset.success
    (tmp_path / "scene.jsonl").write_bytes(next((root / "recorded" / "episodes").glob("*.jsonl")).read_bytes())
    again = snapshot_task(NAVIGATE, recorded.reset.snapshot, "robocasa:scene.jsonl")
    file = write(tmp_path / "again.toml", again, episodes=1)
    assert drive(file, "again").code == 0
    (repeated,) = traces(root, "again").values()
    assert repeated.reset.instruction == recorded.reset.instruction
    assert repeated.reset.state_digest == recorded.reset.state_digest
    assert [step.applied for step in repeated.steps] == [step.applied for step in recorded.steps]
    assert [step.observation for step in repeated.steps] == [step.observation for step in recorded.steps]


def test_a_drawer_is_closed_by_the_arm(drive, root, tmp_path):
    """Contact, a sliding joint and the package's own check of it."""
    task = attrs.evolve(kitchen_task("CloseDrawer"), stop_on_success=True, max_steps=150)
    assert drive(write(tmp_path / "drawer.toml", task, episodes=1), "drawer").code == 0
    (trace,) = traces(root, "drawer").values()
    assert trace.end.success_once
    assert len(trace.steps) > 30
    assert trace.reset.instruction in ("Close the left drawer.", "Close the right drawer.")


def test_the_three_meanings_of_success_are_scored_from_one_run(drive, tmp_path):
    """First success, per chunk, and at the end: the driver stays where it arrived."""
    task = attrs.evolve(kitchen_task("NavigateKitchen"), max_steps=140)
    file = write(tmp_path / "whole.toml", task, episodes=1)
    names = ("success_once", "success_per_chunk", "success_at_end", "steps")
    run = drive(file, "meanings", *(part for name in names for part in ("--scorer", name)))
    assert run.code == 0
    assert [run.json["scores"][name]["mean"] for name in names] == [1.0, 1.0, 1.0, 140.0]


def test_a_reset_without_end_is_ended_by_its_deadline(hylo, root, tmp_path):
    """In a kitchen with nowhere to drive to, NavigateKitchen looks for ever; the episode abstains, and the run is 3."""
    file = write(tmp_path / "endless.toml", kitchen_task("NavigateKitchen", layout=2), episodes=1)
    run = hylo(
        *("run", file, "--agent", "zero", "--deadline", "reset=10", "--max-attempts", 1),
        *("--run-root", root, "--run-id", "endless", "--json"),
    )
    assert run.code == 3
    assert run.json["scores"]["success"]["abstained"] == {"infra": 1}
    (sample,) = read_evallog(root / "endless" / "evallog.json").samples
    assert sample.status == "timeout"


def test_missing_assets_and_objects_abstain_and_say_what_to_install(hylo, root, tmp_path):
    """A kitchen that was never written, a registry that is not there: environment errors with the fix, and exit 3."""
    tasks = (
        attrs.evolve(NAVIGATE, max_steps=2),
        attrs.evolve(kitchen_task("OpenDrawer", layout=3), max_steps=2),
        attrs.evolve(kitchen_task("PickPlaceCounterToCabinet", object_registries=("aigen",)), max_steps=2),
    )
    run = hylo(
        *("run", write(tmp_path / "missing.toml", *tasks, episodes=1), "--agent", "zero", "--max-attempts", 1),
        *("--run-root", root, "--run-id", "missing", "--json"),
    )
    assert run.code == 3
    found = {trace.instance.spec.params["task"]: trace for trace in traces(root, "missing").values()}
    assert found["NavigateKitchen"].end.status == "completed"
    for name, words in (("OpenDrawer", "layout003"), ("PickPlaceCounterToCabinet", "registry 'aigen'")):
        (error,) = found[name].errors
        assert found[name].end.status == "env_error"
        assert words in error.message
        assert "fix: python -m robocasa.scripts.download_kitchen_assets" in error.message


@pytest.mark.parametrize(
    ("folder", "words", "fix"),
    [
        ("", "without its kitchen assets", "download_kitchen_assets"),
        ("elsewhere", "there is no folder of assets", "--env-arg assets=FOLDER"),
    ],
)
def test_the_bare_wheel_is_refused_before_anything_runs(hylo, root, tmp_path, monkeypatch, folder, words, fix):
    """No episode is begun; the error names what is missing and how to get it."""
    monkeypatch.setenv("HYLO_ROBOCASA_ASSETS", folder and str(tmp_path / folder))
    file = write(tmp_path / "navigate.toml", NAVIGATE, episodes=1)
    run = hylo("run", file, "--agent", "zero", "--run-root", root, "--run-id", f"bare{folder}")
    assert run.code == 3
    assert not (root / f"bare{folder}").exists()
    assert words in run.err
    assert fix in run.err
