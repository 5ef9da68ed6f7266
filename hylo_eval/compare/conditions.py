"""What differs between the conditions of two runs: a sentence for each difference, and the name that lets it pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from hylo_eval.compare.evidence import Difference, RunConditions
from hylo_eval.versions import stand_ins

_AGENT_PACKAGES: Final = frozenset({"torch"})
"""Packages in the manifest that belong to the agent: a new checkpoint may bring another version."""

_SOURCE_DIGEST: Final = "source_digest"
_SHOWN: Final = 3
_LONGEST: Final = 100


def condition_differences(candidate: RunConditions, parent: RunConditions) -> Iterator[Difference]:
    """What differs between the conditions of two runs, but for the tasks and instances."""
    ours, theirs = candidate.benchmark, parent.benchmark
    if ours.digest != theirs.digest or ours.id != theirs.id:
        yield Difference(
            name="benchmark",
            sentence=f"the candidate ran {ours.id} {ours.version} ({ours.digest}), "
            f"the parent {theirs.id} {theirs.version} ({theirs.digest})",
        )
    if ours.split != theirs.split:
        yield Difference(
            name="split",
            sentence=f"the candidate ran split {ours.split!r}, the parent {theirs.split!r}",
        )
    if set(candidate.scorers) != set(parent.scorers):
        yield Difference(
            name="scorers",
            sentence=f"the candidate was scored with {_listed(candidate.scorers)}, "
            f"the parent with {_listed(parent.scorers)}",
        )
    yield from _scorer_differences(candidate.scorer_sources, parent.scorer_sources)
    yield from _stand_in_differences(candidate, parent)
    yield from _member_differences("versions", _simulator(candidate), _simulator(parent))
    if candidate.renderer != parent.renderer:
        yield Difference(
            name="renderer",
            sentence=f"the candidate's pictures were drawn with {candidate.renderer!r}, "
            f"the parent's with {parent.renderer!r}",
        )
    yield from _member_differences("env", _settings_first(candidate.env), _settings_first(parent.env))
    # Where one side's is not on record, as of a factory that no file defines, nothing tells.
    if candidate.env_source and parent.env_source and candidate.env_source != parent.env_source:
        yield Difference(
            name="env-source",
            sentence=f"the file of the candidate's environment was {candidate.env_source}, "
            f"that of the parent's {parent.env_source}",
        )
    yield from _member_differences("safety", *_by_position(candidate.safety, parent.safety))
    if candidate.batch_size != parent.batch_size:
        yield Difference(
            name="batch-size",
            sentence=f"the candidate was evaluated with batch size {candidate.batch_size or 'unknown'}, "
            f"the parent with {parent.batch_size or 'unknown'}: a policy's numbers depend on it",
        )
    split = f"{ours.id}/{ours.split}"
    if split in candidate.trained_on or ours.id in candidate.trained_on:
        yield Difference(name="trained-on", sentence=f"the candidate says that it was trained on {split}")


def _stand_in_differences(candidate: RunConditions, parent: RunConditions) -> Iterator[Difference]:
    """What stands in for the real thing is compared with what does too: a rate on it says nothing of the real one."""
    ours, theirs = stand_ins(candidate.versions), stand_ins(parent.versions)
    if bool(ours) != bool(theirs):
        side, other = ("candidate", "parent") if ours else ("parent", "candidate")
        names = [item.partition(" ")[0] for item in ours or theirs]
        recorded = (parent if ours else candidate).versions
        has = "ran on the real thing" if any(name in recorded for name in names) else f"has no {names[0]} on record"
        yield Difference(
            name="stand-in",
            sentence=f"the {side} ran on {', '.join(ours or theirs)}, the {other} {has}",
            allowable=False,
            fix="run both agents on the same assets",
        )


def _scorer_differences(
    ours: Mapping[str, tuple[str, str]], theirs: Mapping[str, tuple[str, str]]
) -> Iterator[Difference]:
    """Scorers of one name that are two; what only one side has on record tells nothing."""
    for name in sorted(ours.keys() & theirs.keys()):
        for what, left, right in zip(("reference", "file"), ours[name], theirs[name], strict=True):
            if left and right and left != right:
                yield Difference(
                    name="scorers",
                    sentence=f"the scorer {name!r} is another: its {what} was {left} for the candidate, "
                    f"{right} for the parent",
                )


def _member_differences(name: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[Difference]:
    left, right = dict(_leaves(ours)), dict(_leaves(theirs))
    paths = [path for path in dict.fromkeys((*left, *right)) if left.get(path) != right.get(path)]
    if not paths:
        return
    parts = [f"{path} {_shown(left, path)} against {_shown(right, path)}" for path in islice(paths, _SHOWN)]
    more = f", and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    yield Difference(name=name, sentence=f"candidate against parent: {', '.join(parts)}{more}")


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def _shown(leaves: Mapping[str, Any], path: str) -> str:
    """A value, cut where it is long: the manifests have it whole."""
    text = f"{leaves[path]}" if path in leaves else "nothing"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _simulator(conditions: RunConditions) -> dict[str, str]:
    return {name: version for name, version in conditions.versions.items() if name not in _AGENT_PACKAGES}


def _settings_first(env: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its reference and options before its spec, which they decide: only the first differences are shown."""
    return {**{name: env[name] for name in ("ref", "options") if name in env}, **env}


def _by_position(
    ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The filters of both; where one side's file is not on record, as of an older release, nothing tells."""
    left, right = ({f"filter {index}": dict(item) for index, item in enumerate(side)} for side in (ours, theirs))
    for name in left.keys() & right.keys():
        if (_SOURCE_DIGEST in left[name]) != (_SOURCE_DIGEST in right[name]):
            left[name].pop(_SOURCE_DIGEST, None)
            right[name].pop(_SOURCE_DIGEST, None)
    return left, right


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
