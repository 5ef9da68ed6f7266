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
from hylo_core.errors import ContractError
from hylo_core.task import SnapshotInit, TaskSpec
from hylo_eval.envs.robocasa.settings import DIGEST_PARAM, KitchenSettings
from hylo_eval.errors import EnvError, TraceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCHEME: Final = "robocasa:"
"""An ``init.uri`` is this and a path from the benchmark file: ``robocasa:scene.json``, ``robocasa:trace.jsonl``."""
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


def read_document(spec: TaskSpec, folder: str, settings: KitchenSettings) -> tuple[str, dict[str, Any]]:
    """The snapshot a task begins in, as it lies beside the benchmark file, and its name there; needs no assets.

    Args:
        spec: The task; its ``init`` is a :class:`SnapshotInit`.
        folder: Where the benchmark file lies; empty where there is none.
        settings: What the params of the task say.

    Raises:
        EnvError: It cannot be read, is another one than the task pins, or of another task or kitchen.
    """
    name = _name_beside_benchmark(spec)
    if not folder:
        raise EnvError(
            f"task {spec.id!r} begins in the snapshot {name}, and nobody said where that lies: load the benchmark from "
            "its file, or give the factory benchmark_folder"
        )
    document = _read(Path(folder, name))
    _require_pinned(spec, document, name)
    if document.get("schema") != _SCHEMA or document.get("task") != settings.task:
        raise EnvError(f"{name} is a snapshot of {describe(document.get('task'))}, not of {settings.task!r}")
    ep_meta = _members(document, "ep_meta", name)
    kitchen = (ep_meta.get("layout_id"), ep_meta.get("style_id"))
    if None not in kitchen and kitchen not in settings.scenes:
        raise EnvError(
            f"{name} is in the kitchen {describe(list(kitchen))}, which is none of params.scenes of task {spec.id!r}"
        )
    return name, document


def _name_beside_benchmark(spec: TaskSpec) -> str:
    """The path of a snapshot from the benchmark file; it cannot lead out of that folder."""
    uri = spec.init.uri if isinstance(spec.init, SnapshotInit) else ""
    name = uri.removeprefix(SCHEME)
    path = PurePosixPath(name)
    inside = not path.is_absolute() and ".." not in path.parts and "\0" not in name
    if not uri.startswith(SCHEME) or path.suffix not in (".json", ".jsonl") or not inside:
        raise EnvError(
            f"init.uri of task {spec.id!r} must be {SCHEME}FILE.json or {SCHEME}TRACE.jsonl, beside the benchmark file "
            f"or below, not {uri!r}"
        )
    return name


def _require_pinned(spec: TaskSpec, document: Mapping[str, Any], name: str) -> None:
    pinned = spec.params.get(DIGEST_PARAM)
    try:
        found = digest(document)
    except ContractError as error:
        raise EnvError(f"{name} is no snapshot: {error}") from error
    if pinned is None:
        raise EnvError(
            f"task {spec.id!r} begins in a snapshot and does not pin its content",
            fix=f'params.{DIGEST_PARAM} = "{found}", which is what {name} holds now',
        )
    if found != pinned:
        raise EnvError(f"{name} has digest {found}, and params.{DIGEST_PARAM} of task {spec.id!r} is {pinned}")


def read_snapshot(spec: TaskSpec, folder: str, settings: KitchenSettings, assets: Path) -> Snapshot:
    """The snapshot a task begins in, for this machine.

    Args:
        spec: The task; its ``init`` is a :class:`SnapshotInit`.
        folder: Where the benchmark file lies; empty where there is none.
        settings: What the params of the task say.
        assets: The asset root on this machine.

    Raises:
        EnvError: It cannot be read, is another one than the task pins, or of another task or kitchen.
    """
    name, document = read_document(spec, folder, settings)
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
