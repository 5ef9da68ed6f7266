"""Options and tasks are refused before anything is built."""

import subprocess
import sys
from typing import Any

import pytest

from hylo_core.task import InitStateRef, Predicate, SeedInit, TaskSpec
from hylo_eval.envs.libero import LiberoFactory
from hylo_eval.envs.libero.factory import read_files
from hylo_eval.envs.libero.installation import Installation
from hylo_eval.errors import EnvError
from hylo_eval.options import read_options


def task(**changes: Any) -> TaskSpec:
    """A LIBERO task of files that need not exist."""
    members = {
        "id": "libero_object/pick",
        "version": "1",
        "instruction": "pick",
        "init": InitStateRef("libero://libero_object/pick.pruned_init", 50),
        "success": Predicate("expr", expr="(on a b)"),
        "max_steps": 10,
        "params": {
            "suite": "libero_object",
            "bddl_file": "pick.bddl",
            "bddl_sha256": f"sha256:{'0' * 64}",
            "init_sha256": f"sha256:{'0' * 64}",
        },
    }
    return TaskSpec(**{**members, **changes})


def with_params(**changes: Any) -> TaskSpec:
    """The task with other params."""
    return task(params={**task().params, **changes})


@pytest.mark.parametrize(
    "options", [{"camera_height": 128}, {"camera_width": 128}, {"orientation": "upright"}, {"camera_height": 256}]
)
def test_picture_options_without_pictures_are_refused(options):
    """An option that changes nothing is refused, even where it names the default."""
    with pytest.raises(EnvError, match="changes nothing without pictures"):
        LiberoFactory(task(), **options)


@pytest.mark.parametrize("size", [0, -1, 15, 100000])
def test_sizes_of_pictures_are_bounded(size):
    """A picture of no or of gigantic size is refused before a simulator is looked for."""
    with pytest.raises(EnvError, match="between 16 and 1024"):
        LiberoFactory(task(), cameras=True, camera_height=size)


def test_options_can_be_read_from_a_command_line():
    """The factory's annotations are what ``--env-arg`` is checked against."""
    given = {"cameras": "true", "camera_height": "64", "orientation": "upright", "privileged": "false"}
    assert read_options(LiberoFactory, given, what="env 'libero'") == {
        "cameras": True,
        "camera_height": 64,
        "orientation": "upright",
        "privileged": False,
    }


@pytest.fixture
def installation(tmp_path):
    """A folder laid out like LIBERO, with a definition outside the suites."""
    suite = tmp_path / "bddl_files" / "libero_object"
    suite.mkdir(parents=True)
    text = "(define (problem P)(:language l)(:goal (on a b)))"
    (suite / "pick.bddl").write_text(text)
    (tmp_path / "outside.bddl").write_text(text)
    return Installation(root=tmp_path, assets=tmp_path)


@pytest.mark.parametrize("name", ["../../outside.bddl", "/etc/passwd", "..", "", "pick.bddl\0", "sub/pick.bddl"])
def test_names_of_files_cannot_lead_out_of_their_suite(installation, name):
    """LIBERO's reader evaluates text in BDDL files, so only files of the installed suites are ever opened."""
    with pytest.raises(EnvError, match="no name of a LIBERO"):
        read_files(with_params(bddl_file=name), installation)
    with pytest.raises(EnvError, match="no name of a LIBERO"):
        read_files(with_params(suite=name), installation)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (task(init=SeedInit()), "init of kind 'seed'"),
        (task(params={"suite": "libero_object"}), "needs the param 'bddl_file'"),
        (with_params(colour="red"), "has no param 'colour'"),
        (with_params(suite=3), "must be text"),
        (with_params(), "frozen with another file"),
        (with_params(bddl_file="place.bddl"), "cannot read the task definition"),
    ],
)
def test_tasks_of_other_files_or_families_are_refused(installation, spec, reason):
    """A digest that differs, a missing or unknown param: each is named before a simulator is made."""
    with pytest.raises(EnvError) as caught:
        read_files(spec, installation)
    assert reason in str(caught.value)


def test_importing_the_family_imports_no_simulator():
    """``hylo-eval list`` and ``--help`` can afford the import: neither numpy nor anything above it is loaded."""
    code = (
        "import sys; import hylo_eval.envs.libero, hylo_eval.envs.libero.freeze; "
        "print([m for m in ('numpy', 'gymnasium', 'mujoco', 'robosuite', 'libero') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
