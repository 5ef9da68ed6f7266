"""Params of a TaskSpec: written, read back, and refused where they are not of this family."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.task import InitStateRef, Predicate, SnapshotInit, TaskSpec
from hylo_eval.envs.robocasa.catalogue import OBJECT_REGISTRIES, catalogue
from hylo_eval.envs.robocasa.settings import OBJECT_SPLITS, KitchenSettings, kitchen_task_spec, read_settings
from hylo_eval.errors import EnvError

DRAWER = catalogue().task("OpenDrawer")


def spec(**changes):
    """A task in one kitchen, with params changed."""
    made = kitchen_task_spec(DRAWER, KitchenSettings(task="OpenDrawer", scenes=((1, 1),)))
    return attrs.evolve(made, params={**made.params, **changes})


scenes = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=5, unique=True).map(tuple)


@given(
    scenes,
    st.sampled_from(OBJECT_SPLITS),
    st.lists(st.sampled_from(OBJECT_REGISTRIES), min_size=1, unique=True).map(tuple),
)
def test_what_is_written_is_read_back_also_from_json(pairs, objects, registries):
    """Settings survive a TaskSpec, and a TaskSpec's JSON."""
    settings = KitchenSettings(task="OpenDrawer", scenes=pairs, objects=objects, object_registries=registries)
    made = kitchen_task_spec(DRAWER, settings)
    assert read_settings(made) == settings
    again = TaskSpec.from_dict(made.to_dict())
    assert read_settings(again) == settings
    assert again.digest() == made.digest()


def test_kitchens_objects_and_registries_are_in_the_digest():
    """Another kitchen is another task."""
    digests = {
        spec().digest(),
        spec(scenes=[[1, 2]]).digest(),
        spec(objects="target").digest(),
        spec(object_registries=["objaverse"]).digest(),
    }
    assert len(digests) == 4


def test_a_task_carries_horizon_template_and_check_of_the_package():
    """Everything a run needs stands in the TaskSpec."""
    made = spec()
    assert (made.max_steps, made.instruction) == (500, "{behavior} the {drawer_side} drawer.")
    assert made.success.ref == "robocasa.environments.kitchen.atomic.kitchen_drawer:OpenDrawer._check_success"
    assert made.tags == ("robocasa", "atomic")
    assert not made.stop_on_success


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "OpenDrawr"}, "OpenDrawer"),
        ({"scenes": []}, "pairs of layout and style"),
        ({"scenes": [[0, 1]]}, r"scenes\[0\].*layout from 1 to 60"),
        ({"scenes": [[1, 61]]}, "style from 1 to 60"),
        ({"scenes": [[1]]}, r"scenes\[0\]"),
        ({"scenes": "all"}, "pairs of layout and style"),
        ({"objects": "B"}, "pretrain, target, all"),
        ({"object_registries": ["objaverse", "objaverse"]}, "each once"),
        ({"object_registries": []}, "each once"),
        ({"object_registries": ["shapenet"]}, "objaverse, lightwheel, aigen"),
        ({"scenes": [[1, 1], [2, 1], [1, 1]]}, r"scenes\[2\].*repeats \[1, 1\] of scenes\[0\]"),
        ({"scenes": [[True, 1]]}, r"scenes\[0\]"),
        ({"fixture": "CABINET_SINGLE_DOOR"}, "none: OpenDrawer has one kind"),
        ({"object_category": "apple"}, "does not take one"),
        ({"snapshot_sha256": "sha256:" + "0" * 64}, "changes nothing: its init is of kind 'seed'"),
        ({"layout": 1}, "layout"),
    ],
)
def test_params_that_mean_nothing_are_refused(changes, message):
    """The error names the param, and what it may be."""
    with pytest.raises(EnvError, match=message):
        read_settings(spec(**changes))


def test_a_kitchen_in_which_the_task_cannot_be_set_up_is_refused():
    """The package would draw from no scenes at all."""
    made = kitchen_task_spec(catalogue().task("OpenOven"), KitchenSettings(task="OpenOven", scenes=((1, 1),)))
    with pytest.raises(EnvError, match="cannot set up OpenOven"):
        read_settings(made)


def test_another_check_than_the_task_s_own_is_refused():
    """A run cannot claim a check that it does not ask."""
    other = attrs.evolve(spec(), success=Predicate("callable", ref="somewhere:Task._check_success"))
    with pytest.raises(EnvError, match="one check"):
        read_settings(other)
    assert read_settings(attrs.evolve(spec(), success=Predicate("builtin", name="env_success"))).task == "OpenDrawer"


def test_only_seeds_and_pinned_snapshots_are_beginnings():
    """A recorded list of states is LIBERO's way; a digest of another form pins nothing."""
    with pytest.raises(EnvError, match="takes 'seed' and 'snapshot'"):
        read_settings(attrs.evolve(spec(), init=InitStateRef("libero://x/y", 3)))
    snapshot = attrs.evolve(spec(snapshot_sha256="0" * 64), init=SnapshotInit("robocasa:scene.json"))
    with pytest.raises(EnvError, match="64 hex digits"):
        read_settings(snapshot)


def test_a_cabinet_has_one_door_or_two():
    """Narrowing to what a task has anyway would change nothing."""
    cabinet = kitchen_task_spec(catalogue().task("OpenCabinet"), KitchenSettings(task="OpenCabinet", scenes=((1, 1),)))
    narrowed = attrs.evolve(cabinet, params={**cabinet.params, "fixture": "CABINET_DOUBLE_DOOR"})
    assert read_settings(narrowed).fixture == "CABINET_DOUBLE_DOOR"
    with pytest.raises(EnvError, match="CABINET_SINGLE_DOOR, CABINET_DOUBLE_DOOR"):
        read_settings(attrs.evolve(cabinet, params={**cabinet.params, "fixture": "DRAWER"}))
