"""What the catalogue says of RoboCasa, without RoboCasa; and that it says what the installed package says."""

import json
import subprocess
import sys

import pytest

from hylo_core.instruction import instruction_fields
from hylo_core.refs import parse_ref
from hylo_eval.envs.robocasa.catalogue import LEGACY_TASKS, catalogue
from hylo_eval.errors import EvalError


def test_every_task_of_the_registry_is_there():
    """RoboCasa 1.0 registers 65 atomic and 252 composite tasks with a horizon (dataset_registry.py)."""
    kinds = [task.kind for task in catalogue().tasks.values()]
    assert (kinds.count("atomic"), kinds.count("composite")) == (65, 252)
    assert min(task.horizon for task in catalogue().tasks.values()) == 200
    assert max(task.horizon for task in catalogue().tasks.values()) == 4800


@pytest.mark.parametrize(("name", "horizon"), [("OpenDrawer", 500), ("NavigateKitchen", 300), ("TurnOnStove", 300)])
def test_horizons_are_those_of_the_registry(name, horizon):
    """A task has its own horizon; one of 1000 steps for all was a published evaluator's mistake."""
    assert catalogue().task(name).horizon == horizon


def test_the_target_tasks_are_three_sets_of_eighteen_sixteen_and_sixteen():
    """target50 is the three sets in order, and they share no task."""
    sets = catalogue().task_sets
    parts = [sets[name] for name in ("atomic_seen", "composite_seen", "composite_unseen")]
    assert [len(part) for part in parts] == [18, 16, 16]
    assert sum(parts, ()) == sets["target50"]
    assert len(set(sets["target50"])) == 50


def test_instructions_are_templates_and_success_is_a_reference():
    """Every task can stand in a TaskSpec as it is."""
    for task in catalogue().tasks.values():
        instruction_fields(task.instruction)
        assert parse_ref(task.success_ref).attribute == f"{task.name}._check_success"
    assert instruction_fields(catalogue().task("NavigateKitchen").instruction) == ("target_fixture",)


def test_splits_are_those_of_the_package():
    """Ten pairs of one number for target, 50 x 50 for pretrain, 60 x 60 for all; target and pretrain share no kitchen."""
    target, pretrain, whole = (catalogue().split(name) for name in ("target", "pretrain", "all"))
    assert target.scenes == tuple((number, number) for number in range(1, 11))
    assert len(pretrain.scenes) == 2500
    assert len(whole.scenes) == 3600
    assert not {layout for layout, _ in target.scenes} & {layout for layout, _ in pretrain.scenes}
    assert (target.objects, pretrain.objects, whole.objects) == ("target", "pretrain", "all")


def test_scenes_that_a_task_excludes_are_left_out():
    """An oven stands in few layouts only."""
    task = catalogue().task("OpenOven")
    assert catalogue().split("target").scenes_of(task) == ((2, 2), (4, 4), (7, 7), (9, 9))


def test_the_old_names_are_24_and_every_one_has_a_task():
    """Two doors of 0.x are one class now, told apart by the fixture."""
    assert len(LEGACY_TASKS) == 24
    for task in LEGACY_TASKS.values():
        assert catalogue().task(task.name).kind == "atomic"
    assert len({(task.name, task.fixture) for task in LEGACY_TASKS.values()}) == 24


def test_a_name_that_is_no_task_is_refused_with_a_near_one():
    """A typo is not a task."""
    with pytest.raises(EvalError, match="OpenDrawer"):
        catalogue().task("OpenDrawr")
    with pytest.raises(EvalError, match="pretrain, target, all"):
        catalogue().split("test")


def test_reading_it_imports_neither_numpy_nor_a_simulator():
    """A provider that samples tasks runs where no simulator is."""
    code = (
        "import sys\nfrom hylo_eval.envs.robocasa.catalogue import catalogue\n"
        "from hylo_eval.envs.robocasa.settings import KitchenSettings, kitchen_task_spec\n"
        "kitchen_task_spec(catalogue().task('OpenDrawer'), KitchenSettings(task='OpenDrawer', scenes=((1, 1),)))\n"
        "print({'numpy', 'gymnasium', 'robocasa', 'mujoco'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.robocasa
def test_the_installed_package_says_the_same(tmp_path):
    """The file is what reading the package again gives."""
    out = tmp_path / "catalogue.json"
    subprocess.run(
        [sys.executable, "-m", "hylo_eval.envs.robocasa.cataloguing", str(out)], check=True, capture_output=True
    )
    from importlib import resources

    kept = resources.files("hylo_eval.envs.robocasa").joinpath("catalogue.json").read_text(encoding="utf-8")
    assert json.loads(out.read_text()) == json.loads(kept)
