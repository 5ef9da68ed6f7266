"""Snapshots: portable JSON, pinned by digest, and no way out of the asset root."""

import json
from pathlib import Path
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.canonical import canonical_json
from hylo_core.task import SnapshotInit
from hylo_eval.envs.robocasa.catalogue import catalogue
from hylo_eval.envs.robocasa.factory import check_task
from hylo_eval.envs.robocasa.settings import KitchenSettings, kitchen_task_spec
from hylo_eval.envs.robocasa.snapshots import read_snapshot, snapshot_task, take_snapshot
from hylo_eval.errors import EnvError

HERE, THERE = Path("/here/assets"), Path("/there/kitchen")
OPEN_DRAWER = KitchenSettings(task="OpenDrawer", scenes=((1, 1), (3, 3)))
DRAWER = kitchen_task_spec(catalogue().task("OpenDrawer"), OPEN_DRAWER)


def mujoco_data(*positions):
    """What a snapshot reads of ``mujoco.MjData``."""
    values = np.array(positions)
    return SimpleNamespace(qpos=values, qvel=values * 2, act=np.zeros(0), ctrl=values, qacc_warmstart=values * 3)


def snapshot(ep_meta, *positions):
    return take_snapshot("OpenDrawer", ep_meta, mujoco_data(*positions), {"right": {"goal_pos": np.ones(3)}}, HERE)


def written(folder, document):
    """A snapshot beside a benchmark, and the task that begins in it."""
    (folder / "scene.json").write_text(json.dumps(document))
    return snapshot_task(DRAWER, document, "robocasa:scene.json")


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(-1e6, 1e6)
    | st.text(alphabet="abc _-.", max_size=6).filter(lambda text: not text.endswith(".xml")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), values, max_size=3))
def test_what_the_package_recorded_comes_back(ep_meta):
    """Every JSON value survives, and the document is canonical JSON."""
    document = snapshot(ep_meta, 0.1, 1 / 3)
    canonical_json(document)
    assert json.loads(json.dumps(document))["ep_meta"] == ep_meta


def test_numpy_becomes_json_and_paths_belong_to_no_machine(tmp_path):
    """Scalars, arrays and tuples; an object's file is found in the asset root of the machine that reads."""
    ep_meta = {
        "layout_id": np.int64(3),
        "init_robot_base_pos": np.array([0.5, -1.0, 0.0]),
        "object_cfgs": [{"info": {"mjcf_path": np.str_(f"{HERE}/objects/apple/model.xml")}, "size": (0.1, None)}],
    }
    document = snapshot(ep_meta, 0.1)
    assert str(HERE) not in json.dumps(document)
    task = written(tmp_path, document)
    read = read_snapshot(task, str(tmp_path), OPEN_DRAWER, THERE)
    assert read.ep_meta["layout_id"] == 3
    assert read.ep_meta["init_robot_base_pos"] == [0.5, -1.0, 0.0]
    (cfg,) = read.ep_meta["object_cfgs"]
    assert cfg == {"info": {"mjcf_path": f"{THERE}/objects/apple/model.xml"}, "size": [0.1, None]}
    assert read.state["qvel"].tolist() == [0.2]
    assert read.controllers["right"]["goal_pos"].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/home/model.xml", "model.xml", "$ASSETS/../../model.xml", "$ASSETSelsewhere/model.xml"]
)
def test_a_file_outside_the_assets_is_refused(tmp_path, path):
    """The package would read whatever file a snapshot names."""
    document = snapshot({}, 0.1)
    document["ep_meta"] = {"object_cfgs": [{"info": {"mjcf_path": path}}]}
    with pytest.raises(EnvError, match="does not lie in the assets"):
        read_snapshot(written(tmp_path, document), str(tmp_path), OPEN_DRAWER, THERE)


def test_another_content_than_the_pinned_one_is_refused(tmp_path):
    """A uri says where a snapshot lies; the digest says what it is."""
    task = written(tmp_path, snapshot({}, 0.1))
    (tmp_path / "scene.json").write_text(json.dumps(snapshot({}, 0.2)))
    with pytest.raises(EnvError, match="has digest"):
        read_snapshot(task, str(tmp_path), OPEN_DRAWER, THERE)


def test_a_snapshot_of_another_task_is_refused(tmp_path):
    """A drawer's scene is no stove's."""
    task = written(tmp_path, snapshot({}, 0.1))
    with pytest.raises(EnvError, match="not of 'TurnOnStove'"):
        read_snapshot(task, str(tmp_path), attrs.evolve(OPEN_DRAWER, task="TurnOnStove"), THERE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "is no snapshot"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"state": 9007199254740993}', "scene.json is no snapshot"),
        ('{"state": NaN}', "scene.json is no snapshot"),
    ],
)
def test_a_file_that_is_no_snapshot_is_an_environment_error(tmp_path, content, message):
    """Damaged files end an episode, not a worker."""
    task = written(tmp_path, snapshot({}, 0.1))
    (tmp_path / "scene.json").write_text(content)
    with pytest.raises(EnvError, match=message):
        read_snapshot(task, str(tmp_path), OPEN_DRAWER, THERE)


@pytest.mark.parametrize(
    "uri",
    [
        "scene.json",
        "robocasa:scene.pkl",
        "http://somewhere/scene.json",
        "robocasa:/etc/scene.json",
        "robocasa:../scene.json",
        "robocasa:a\0.json",
    ],
)
def test_only_files_of_two_kinds_beside_the_benchmark_are_snapshots(uri, tmp_path):
    """JSON, or a trace; a benchmark from somewhere reads nothing of elsewhere."""
    task = attrs.evolve(DRAWER, init=SnapshotInit(uri))
    with pytest.raises(EnvError, match=r"init\.uri"):
        read_snapshot(task, str(tmp_path), OPEN_DRAWER, THERE)


def test_without_a_benchmark_file_nothing_lies_beside_it(tmp_path, monkeypatch):
    """Least of all in the folder that happens to be the present one."""
    task = written(tmp_path, snapshot({}, 0.1))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EnvError, match="nobody said where"):
        read_snapshot(task, "", OPEN_DRAWER, THERE)


def test_a_snapshot_that_is_not_pinned_is_refused_with_its_digest(tmp_path):
    """To be pasted into the task."""
    pinned = written(tmp_path, snapshot({}, 0.1))
    digest = pinned.params["snapshot_sha256"]
    params = {name: value for name, value in pinned.params.items() if name != "snapshot_sha256"}
    with pytest.raises(EnvError, match="does not pin") as caught:
        read_snapshot(attrs.evolve(pinned, params=params), str(tmp_path), OPEN_DRAWER, THERE)
    assert f'params.snapshot_sha256 = "{digest}"' in caught.value.fix


def test_a_snapshot_lies_in_a_kitchen_of_its_task(tmp_path):
    """The task says which kitchens it is of; another one would be a task of another name."""
    task = written(tmp_path, snapshot({"layout_id": 3, "style_id": 1}, 0.1))
    with pytest.raises(EnvError, match=r"kitchen \[3, 1\] .*, which is none of params\.scenes"):
        read_snapshot(task, str(tmp_path), OPEN_DRAWER, THERE)
    check_task(written(tmp_path, snapshot({"layout_id": 3, "style_id": 3}, 0.1)), str(tmp_path))


def test_what_a_snapshot_cannot_hold_is_named():
    """An object of the package's own in ``ep_meta`` would be lost in silence."""
    with pytest.raises(EnvError, match=r"ep_meta\.knob\[1\]"):
        snapshot({"knob": [1, object()]}, 0.1)
    with pytest.raises(EnvError, match=r"ep_meta\.heat"):
        snapshot({"heat": float("nan")}, 0.1)
