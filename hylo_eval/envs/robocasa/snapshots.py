"""Snapshots: the scene of one episode, as JSON, to be set up again.

A snapshot holds what the package records of an episode (``ep_meta``: kitchen, objects, fixtures, wording, where the
robot stands) and the state of scene and controllers after the reset, which ``ep_meta`` leaves to chance. It stands in
the reset event of every trace, and can lie in a file beside a benchmark.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from hylo_core.canonical import describe, digest
from hylo_core.task import SnapshotInit, TaskSpec
from hylo_eval.errors import EnvError, TraceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCHEME: Final = "robocasa:"
"""An ``init.uri`` is this and a path from the benchmark file: ``robocasa:scene.json``, ``robocasa:trace.jsonl``."""
DIGEST_PARAM: Final = "snapshot_sha256"
"""The param that pins a snapshot's content: a uri alone says only where it lies."""
MAX_BYTES: Final = 64 * 1024 * 1024

_SCHEMA: Final = "hylo.robocasa_snapshot/v0.1"
_ARRAYS: Final = ("qpos", "qvel", "act", "ctrl", "qacc_warmstart")
_ROOT: Final = "$ASSETS"
_REWRITTEN: Final = ("object_cfgs",)
"""What the package says in other words when it was told instead of drawn; the objects show in the state."""


def take_snapshot(
    task: str, ep_meta: Mapping[str, Any], data: Any, controllers: Mapping[str, Mapping[str, Any]], assets: Path
) -> dict[str, Any]:
    """The snapshot of a scene just reset.

    Args:
        task: The package's class.
        ep_meta: As the package says it; numpy values and paths below ``assets`` become portable.
        data: ``mujoco.MjData``.
        controllers: What the robot's controllers keep: controller to attribute to array.
        assets: The asset root.
    """
    return {
        "schema": _SCHEMA,
        "task": task,
        "ep_meta": _portable(ep_meta, str(assets), "ep_meta"),
        "state": {name: [float(value) for value in getattr(data, name)] for name in _ARRAYS},
        "controllers": _portable(controllers, str(assets), "controllers"),
    }


@attrs.frozen
class Snapshot:
    """A snapshot as the simulation takes it.

    Attributes:
        ep_meta: What the package recorded, with this machine's paths.
        state: Arrays of ``mujoco.MjData`` by name.
        controllers: Controller to attribute to array.
    """

    ep_meta: Mapping[str, Any]
    state: Mapping[str, Any]
    controllers: Mapping[str, Mapping[str, Any]]


def snapshot_task(spec: TaskSpec, snapshot: Mapping[str, Any], uri: str) -> TaskSpec:
    """The task that begins in a snapshot instead of a scene drawn from the seed.

    Args:
        spec: The task whose episode it was.
        snapshot: As :func:`take_snapshot` gave it, for example a trace's ``reset.snapshot``.
        uri: Where it will lie, ``robocasa:scene.json``.
    """
    return attrs.evolve(
        spec,
        id=f"{spec.id}/{digest(snapshot).removeprefix('sha256:')[:10]}",
        init=SnapshotInit(uri),
        params={**spec.params, DIGEST_PARAM: digest(snapshot)},
    )


def read_snapshot(spec: TaskSpec, folder: str, task: str, assets: Path) -> Snapshot:
    """The snapshot a task begins in.

    Args:
        spec: The task; its ``init`` is a :class:`SnapshotInit`.
        folder: Where the benchmark file lies; empty where there is none.
        task: The package's class.
        assets: The asset root on this machine.

    Raises:
        EnvError: It cannot be read, is another one than the task pins, or of another task.
    """
    uri = spec.init.uri if isinstance(spec.init, SnapshotInit) else ""
    name = uri.removeprefix(SCHEME)
    if not uri.startswith(SCHEME) or not name.endswith((".json", ".jsonl")):
        raise EnvError(f"init.uri of task {spec.id!r} must be {SCHEME}FILE.json or {SCHEME}TRACE.jsonl, not {uri!r}")
    document = _read(Path(folder, name))
    pinned, found = spec.params.get(DIGEST_PARAM), digest(document)
    if found != pinned:
        raise EnvError(f"{name} has digest {found}, and params.{DIGEST_PARAM} of task {spec.id!r} is {pinned}")
    if document.get("schema") != _SCHEMA or document.get("task") != task:
        raise EnvError(f"{name} is a snapshot of {document.get('task')!r}, not of {task!r}")
    state, controllers = _members(document, "state", name), _members(document, "controllers", name)
    if set(state) != set(_ARRAYS):
        raise EnvError(f"{name}: state must hold {', '.join(_ARRAYS)}")
    return Snapshot(
        ep_meta=cast("dict[str, Any]", _placed(_members(document, "ep_meta", name), assets, name)),
        state={key: _array(values, f"{name}: state.{key}") for key, values in state.items()},
        controllers={
            part: {
                key: _array(values, f"{name}: controllers.{part}.{key}")
                for key, values in _members(controllers, part, name).items()
            }
            for part in controllers
        },
    )


def require_scene(snapshot: Snapshot, taken: Mapping[str, Any], assets: Path) -> None:
    """Refuse an episode that did not begin in the scene its snapshot describes.

    What a snapshot leaves out the package draws anew, from the episode's seed, and says nothing.

    Args:
        snapshot: What was asked for.
        taken: As :func:`take_snapshot` gave it after the reset.
        assets: The asset root.

    Raises:
        EnvError: With the first member that differs.
    """
    asked = cast("dict[str, Any]", _portable(snapshot.ep_meta, str(assets), "ep_meta"))
    found: Mapping[str, Any] = taken["ep_meta"]
    for name in sorted({*asked, *found}):
        if name not in asked:
            raise EnvError(f"the snapshot leaves ep_meta.{name} open, which is drawn from the seed then")
        if name not in _REWRITTEN and asked[name] != found.get(name):
            raise EnvError(
                f"the scene differs from its snapshot in ep_meta.{name}: "
                f"{describe(found.get(name))} instead of {describe(asked[name])}"
            )


def _members(document: Mapping[str, Any], key: str, source: str) -> dict[str, Any]:
    value = document.get(key)
    if not isinstance(value, dict):
        raise EnvError(f"{source}: {key} must be a mapping, not {describe(value)}")
    return cast("dict[str, Any]", value)


def _read(path: Path) -> dict[str, Any]:
    if path.suffix == ".jsonl":
        return _from_trace(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise EnvError(f"{path} is larger than {MAX_BYTES} bytes, too large for a snapshot")
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise EnvError(f"cannot read the snapshot {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise EnvError(f"{path} is no JSON document: {error}") from error
    if not isinstance(document, dict):
        raise EnvError(f"{path} is no snapshot: it holds {describe(document)}")
    return cast("dict[str, Any]", document)


def _from_trace(path: Path) -> dict[str, Any]:
    from hylo_eval.traces.reader import read_trace

    try:
        trace = read_trace(path)
    except TraceError as error:
        raise EnvError(f"the snapshot's trace cannot be read: {error}") from error
    if trace.reset is None or not trace.reset.snapshot:
        raise EnvError(f"{path} holds no snapshot")
    return dict(trace.reset.snapshot)


def _portable(value: Any, root: str, path: str) -> Any:
    """JSON of what the package says, without this machine's paths."""
    if hasattr(value, "tolist"):
        # An array or a scalar of numpy.
        value = value.tolist()
    match value:
        case Mapping():
            members = cast("Mapping[Any, Any]", value)
            return {str(key): _portable(item, root, f"{path}.{key}") for key, item in members.items()}
        case list() | tuple():
            items = cast("Sequence[Any]", value)
            return [_portable(item, root, f"{path}[{index}]") for index, item in enumerate(items)]
        case str():
            return _ROOT + value.removeprefix(root) if value.startswith(f"{root}/") else str(value)
        case None | bool():
            return value
        case int() | float() if math.isfinite(value):
            return int(value) if isinstance(value, int) else float(value)
        case _:
            raise EnvError(f"{path} is {describe(value)}, which a snapshot cannot hold")


def _placed(value: Any, assets: Path, source: str) -> Any:
    """The same with this machine's paths; a path cannot lead out of the asset root."""
    if isinstance(value, dict):
        return {key: _placed(item, assets, source) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_placed(item, assets, source) for item in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    inside = value.startswith(f"{_ROOT}/") and ".." not in PurePosixPath(value).parts
    if inside:
        return str(assets) + value.removeprefix(_ROOT)
    if value.endswith(".xml") or value.startswith(("/", _ROOT)):
        raise EnvError(f"{source} names the file {value!r}, which does not lie in the assets")
    return value


def _array(value: Any, path: str) -> NDArray[np.float64]:
    import numpy as np

    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EnvError(f"{path} must be numbers ({error})") from error
    if not np.isfinite(array).all():
        raise EnvError(f"{path} must be finite numbers")
    return array
