"""How a run was called: kept in its manifest so that ``--resume`` needs no more than its name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_eval.errors import EvalError
from hylo_eval.evaluation.phases import Deadlines
from hylo_eval.families import places_of
from hylo_eval.numerals import is_plain_number
from hylo_eval.options import NOT_RECORDED, on_record, split_pairs
from hylo_eval.suggest import did_you_mean, quoted
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import read_manifest

_TEXTS: Final = (
    *("benchmark", "agent", "split", "key", "shard"),
    *("executor", "python", "devices", "ray_address", "gpus_per_worker", "video"),
)
_NUMBERS: Final = (
    *("episodes", "max_episodes", "max_steps", "max_attempts"),
    *("workers", "recycle_after", "max_rss_mb", "replicate"),
)
_LISTS: Final = ("tasks", "scorers", "safety", "deadlines")
_PAIRS: Final = {"agent_arg": "--agent-arg", "env_arg": "--env-arg"}

_BUDGET: Final = re.compile(r"(\d+(?:\.\d+)?)([smh])", re.ASCII)
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DEVICE: Final = re.compile(r"[A-Za-z0-9-]{1,64}")


def invocation_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """What of the options of ``run`` says what is run and how, as JSON. Secrets are left out."""
    kept: dict[str, Any] = {name: options[name] for name in (*_TEXTS, *_NUMBERS) if options[name] is not None}
    if options["fsync"]:
        kept["fsync"] = True
    kept |= {name: list(options[name]) for name in _LISTS if options[name]}
    kept |= {name: on_record(split_pairs(options[name], flag)) for name, flag in _PAIRS.items() if options[name]}
    for name in ("benchmark", "agent"):
        # The run may be continued from another folder.
        if kept[name].endswith(".toml") and Path(kept[name]).is_file():
            kept[name] = str(Path(kept[name]).absolute())
    return kept


def resumed(options: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """The options of a run that is continued: as it was called, with what is given now in their place.

    Args:
        options: Of the present call; ``resume`` and ``run_root`` name the run.
        given: Which of them stood on the command line.

    Raises:
        EvalError: There is no such run, or it does not say how it was called.
    """
    run_id, run_root = options["resume"], Path(options["run_root"])
    if "/" in run_id and Path(run_id).is_dir():
        # As for every other command, a run may be named by its folder.
        path = Path(run_id).resolve()
        run_id, run_root = path.name, path.parent
    elif "/" in run_id:
        raise EvalError(f"there is no run folder {quoted(run_id)}", fix="hylo-eval ls lists the runs of a --run-root")
    if "run_id" in given and options["run_id"] != run_id:
        raise EvalError("--resume and --run-id name two runs", fix="leave --run-id out")
    folder = RunFolder.at(run_root, run_id)
    if not folder.path.is_dir():
        known = [path.name for path in run_root.iterdir() if path.is_dir()] if run_root.is_dir() else []
        fix = "hylo-eval ls"
        if f"{run_id}-r1" in known:
            fix = (
                f"it was run in repetitions: name one, {run_id}-r1, or repeat its whole command with --run-id {run_id}"
            )
        raise EvalError(f"there is no run {quoted(run_id)} in {run_root}{did_you_mean(run_id, known)}", fix=fix)
    manifest = read_manifest(folder.manifest)
    invocation = manifest.get("invocation")
    if not isinstance(invocation, dict):
        raise EvalError(
            f"the manifest of {run_id!r} does not say how the run was called",
            fix=f"repeat its command with --run-id {run_id}",
        )
    stored = _checked(cast("dict[str, Any]", invocation), folder.manifest)
    stored["env_arg"] = {**stored.get("env_arg", {}), **_last_places(manifest, folder.manifest)}
    kept = {name: value for name, value in stored.items() if name not in given}
    for name, flag in _PAIRS.items():
        own = split_pairs(options[name], flag)
        pairs = {**cast("dict[str, str]", stored.get(name, {})), **own}
        for key, value in pairs.items():
            if value == NOT_RECORDED:
                raise EvalError(f"{flag} {key} is a secret and was not written down", fix=f"{flag} {key}=…")
        kept[name] = tuple(f"{key}={value}" for key, value in pairs.items())
    return {**options, **kept, "run_id": run_id, "run_root": run_root}


def _last_places(manifest: Mapping[str, Any], path: Path) -> dict[str, str]:
    """Where the run last found what may lie elsewhere each time; what lies there is checked as ever."""
    env, sessions = manifest.get("env"), manifest.get("continued")
    ref = cast("Mapping[str, Any]", env).get("ref") if isinstance(env, Mapping) else None
    names = {place.option for place in places_of(ref if isinstance(ref, str) else "")}
    found: dict[str, str] = {}
    for session in cast("list[Any]", sessions) if names and isinstance(sessions, list) else ():
        invocation = cast("Mapping[str, Any]", session).get("invocation") if isinstance(session, Mapping) else None
        if isinstance(invocation, dict):
            given = _checked(cast("dict[str, Any]", invocation), path).get("env_arg", {})
            found |= {name: value for name, value in given.items() if name in names}
    return found


def _checked(invocation: dict[str, Any], path: Path) -> dict[str, Any]:
    """The invocation as it must be: a manifest can be edited by anybody."""
    kinds: dict[str, type] = {
        **dict.fromkeys(_TEXTS, str),
        **dict.fromkeys(_NUMBERS, int),
        **dict.fromkeys(_LISTS, list),
        **dict.fromkeys(_PAIRS, dict),
        "fsync": bool,
        "gpus_per_worker": float,
    }
    for name, value in invocation.items():
        if name not in kinds or type(value) is not kinds[name]:
            raise EvalError(
                f"{path}: invocation.{name}: is nothing that a run is called with",
                fix="repeat the run's command with its --run-id in place of --resume",
            )
        texts: Any = value.values() if name in _PAIRS else value if name in _LISTS else ()
        if not all(isinstance(item, str) for item in texts):
            raise EvalError(
                f"{path}: invocation.{name}: must hold texts",
                fix="repeat the run's command with its --run-id in place of --resume",
            )
    return {name: tuple(value) if name in _LISTS else value for name, value in invocation.items()}


def read_budget(text: str | None) -> float | None:
    """``90s``, ``20m`` or ``1.5h`` in seconds.

    Raises:
        EvalError: It is none of these.
    """
    if text is None:
        return None
    found = _BUDGET.fullmatch(text)
    if found is None or float(found[1]) <= 0.0:
        raise EvalError(f"--budget takes a time such as 90s, 20m or 1.5h, not {text!r}", fix="--budget 20m")
    return float(found[1]) * _SECONDS[found[2]]


def read_deadlines(pairs: Sequence[str]) -> Deadlines:
    """``("reset=30",)`` over the defaults.

    Raises:
        EvalError: There is no such phase, or the value is no positive number.
    """
    given = split_pairs(pairs, "--deadline")
    known = [field.name for field in attrs.fields(Deadlines)]
    seconds: dict[str, float] = {}
    for name, text in given.items():
        if name not in known:
            raise EvalError(
                f"--deadline has no phase {quoted(name)}{did_you_mean(name, known)} ({', '.join(known)})",
                fix="--deadline PHASE=SECONDS with one of these phases",
            )
        try:
            seconds[name] = float(text)
        except ValueError:
            raise EvalError(f"--deadline {name} takes seconds, not {text!r}", fix=f"--deadline {name}=60") from None
        if not is_plain_number(text):
            raise EvalError(
                f"--deadline {name} takes seconds in the digits 0 to 9, not {text!r}", fix=f"--deadline {name}=60"
            )
    return Deadlines(**seconds)


def read_devices(text: str | None) -> tuple[str, ...]:
    """``0,1`` as names of devices.

    Raises:
        EvalError: One of them is no name of a device.
    """
    if text is None:
        return ()
    devices = tuple(text.split(","))
    for device in devices:
        if not _DEVICE.fullmatch(device):
            raise EvalError(
                f"--devices takes numbers or ids of GPUs between commas, such as 0,1, not {text!r}", fix="--devices 0,1"
            )
    return devices
