"""Whether two runs may be compared: every difference is a sentence, every exception has a name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from hylo_eval.compare.evidence import (
    START_ASPECTS,
    Difference,
    EpisodeOutcome,
    PairedEvidence,
    RunConditions,
    RunEvidence,
    faulty,
)
from hylo_eval.errors import EvalError
from hylo_eval.numerals import are, counted
from hylo_eval.scoring.lengths import ENDS_FIRST
from hylo_eval.suggest import did_you_mean
from hylo_eval.versions import stand_in_sentence, stand_ins

MAX_UNPAIRED_SHARE: Final = 0.01
"""Above this share of pairs that began differently, the two runs were not run on the same scenes."""

EXCEPTIONS: Final[Mapping[str, str]] = {
    "benchmark": "another digest of the benchmark",
    "split": "another split",
    "tasks": "the tasks as run, such as another horizon",
    "scorers": "another set of scorers",
    "versions": "other simulator versions",
    "renderer": "another renderer",
    "env": "other options or another spec of the environment",
    "safety": "other safety filters",
    "batch-size": "agents evaluated with another batch size",
    "trained-on": "a candidate trained or tuned on this split",
    "state": "pairs that began in another state",
    "model": "pairs whose simulated models (robot, objects, fixtures) differ",
    "instruction": "pairs with another instruction",
    "frames": "pairs whose first pictures differ",
}
"""What ``--allow`` takes: name -> what it lets pass."""

_AGENT_PACKAGES = frozenset({"torch"})
"""Packages in the manifest that belong to the agent: a new checkpoint may bring another version."""

_SHOWN = 3
_LONGEST = 100


class EvidenceRefused(EvalError):
    """Runs are not comparable.

    Attributes:
        differences: Why, one by one.
    """

    def __init__(self, differences: Iterable[Difference], *, runs: Sequence[str] = ()) -> None:
        self.differences = tuple(differences)
        names = dict.fromkeys(item.name for item in self.differences)
        who = " ".join(" and ".join(runs).split()) or "the runs"
        # A name with line breaks must not look like a difference of its own.
        listed = "".join(f"\n  {item.words}" for item in self.differences)
        flags = [flag for item in {item.name: item for item in self.differences}.values() for flag in item.flags]
        passable = all(item.flags for item in self.differences)
        super().__init__(
            f"{who} are not comparable ({', '.join(names)}; docs/gate.md#what-is-refused){listed}",
            fix=self._fix(flags if passable else ()),
            again=flags if passable else (),
        )

    def _fix(self, flags: Sequence[str]) -> str:
        fixes = dict.fromkeys(item.fix for item in self.differences if item.fix)
        if any(item.allowable for item in self.differences) and _SAME not in fixes:
            fixes["run both agents under the same conditions"] = None
        accepted = f"; or, if that is meant, {' '.join(flags)}" if flags else ""
        return f"{'; '.join(fixes)}{accepted}"


def pair_evidence(
    candidate: RunEvidence,
    parent: RunEvidence,
    *,
    allow: Collection[str] = (),
    intersect: bool = False,
    unfinished_refused: bool = False,
) -> PairedEvidence:
    """Hold two runs against each other.

    Args:
        candidate: The new agent's run.
        parent: The run of the agent it is to replace.
        allow: Names of `EXCEPTIONS`.
        intersect: Compare the instances that both have, and leave out the others.
        unfinished_refused: Whether a run that is not whole is refused (unless `intersect`), or only noted.

    Raises:
        EvidenceRefused: They are not comparable, for reasons that were not allowed.
        EvalError: `allow` holds a name that names nothing.
    """
    for name in allow:
        if name not in EXCEPTIONS:
            raise EvalError(
                f"there is no exception {name!r} to allow{did_you_mean(name, EXCEPTIONS)}",
                fix=f"--allow with one of {', '.join(EXCEPTIONS)}",
            )
    found = [*_identity(candidate, parent), *_faults(candidate, parent)]
    if unfinished_refused and not intersect:
        found += _unfinished(candidate, parent)
    found += condition_differences(candidate.conditions, parent.conditions)
    found += _task_differences(candidate, parent, intersect=intersect)
    if not (candidate.faults or parent.faults):
        # Instances whose traces cannot be read are missing for that reason, which has been said.
        found += _instance_differences(candidate, parent, intersect=intersect)
    unpaired, aspects = _other_starts(candidate, parent, allow)
    found += aspects
    refused = [item for item in found if not (item.allowable and item.name in allow)]
    if refused:
        raise EvidenceRefused(refused, runs=(candidate.conditions.run_id, parent.conditions.run_id))
    notes = [*_notes(candidate, parent, unpaired, intersect=intersect)]
    needed = {item.name for item in found}
    notes += [f"--allow {name} was not needed" for name in dict.fromkeys(allow) if name not in needed]
    if intersect:
        candidate, parent = candidate.narrowed(parent.outcomes.keys()), parent.narrowed(candidate.outcomes.keys())
    return PairedEvidence(
        candidate=candidate,
        parent=parent,
        allowed=tuple(found),
        notes=tuple(notes),
        unpaired=unpaired,
        intersected=intersect,
    )


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
    yield from _stand_in_differences(candidate, parent)
    yield from _member_differences("versions", _simulator(candidate), _simulator(parent))
    if candidate.renderer != parent.renderer:
        yield Difference(
            name="renderer",
            sentence=f"the candidate's pictures were drawn with {candidate.renderer!r}, "
            f"the parent's with {parent.renderer!r}",
        )
    yield from _member_differences("env", _settings_first(candidate.env), _settings_first(parent.env))
    yield from _member_differences("safety", _by_position(candidate.safety), _by_position(parent.safety))
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


def _identity(candidate: RunEvidence, parent: RunEvidence) -> Iterator[Difference]:
    ours, theirs = candidate.conditions, parent.conditions
    if ours.log_sha256 == theirs.log_sha256 or ours.identity == theirs.identity:
        yield Difference(
            name="same-run",
            sentence=f"both sides are the same run, {ours.run_id}: it says nothing about itself",
            allowable=False,
            fix="name two runs; hylo-eval ls lists them",
        )


def _faults(candidate: RunEvidence, parent: RunEvidence) -> Iterator[Difference]:
    for side, run in (("candidate", candidate), ("parent", parent)):
        faults = list(run.faults[:_SHOWN])
        if len(run.faults) > _SHOWN:
            faults.append(f"has {len(run.faults) - _SHOWN} more such faults")
        # A folder may be a copy of the run whose id it carries, which is whole.
        for fault in faults:
            yield faulty(side, run.folder or run.conditions.run_id, fault)


def _unfinished(candidate: RunEvidence, parent: RunEvidence) -> Iterator[Difference]:
    for side, run in (("candidate", candidate), ("parent", parent)):
        if not run.finished:
            why = f"; what there is of it is no random sample: {ENDS_FIRST}" if run.successes_end_first else ""
            yield Difference(
                name="unfinished",
                sentence=f"the {side}'s run is not finished{why}",
                allowable=False,
                fix=run.to_finish or f"finish {run.conditions.run_id}",
                flag="--intersect",
            )


def _task_differences(candidate: RunEvidence, parent: RunEvidence, *, intersect: bool) -> Iterator[Difference]:
    ours, theirs = candidate.conditions, parent.conditions
    shared = sorted(candidate.outcomes.keys() & parent.outcomes.keys())
    other = [
        key for key in shared if _both(candidate.outcomes[key].task_digest, parent.outcomes[key].task_digest) == "other"
    ]
    # Two selections of one benchmark have other digests; what they share is then compared task by task.
    unseen = not intersect or not (candidate.traces_read and parent.traces_read)
    if dict(ours.overrides) != dict(theirs.overrides):
        yield Difference(
            name="tasks",
            sentence=f"the candidate ran the tasks with {_overrides(ours)}, the parent with {_overrides(theirs)}",
        )
    elif other:
        yield Difference(
            name="tasks",
            sentence=f"{len(other)} of {counted(len(shared), 'instance')} {are(len(other))} of other tasks "
            f"on the two sides, {other[0]} first",
        )
    elif unseen and ours.tasks_digest != theirs.tasks_digest:
        yield Difference(
            name="tasks",
            sentence=f"the candidate ran tasks {ours.tasks_digest}, the parent {theirs.tasks_digest}",
        )


def _instance_differences(candidate: RunEvidence, parent: RunEvidence, *, intersect: bool) -> Iterator[Difference]:
    ours, theirs = candidate.outcomes.keys(), parent.outcomes.keys()
    finished = candidate.finished and parent.finished
    if not ours & theirs and (finished or intersect):
        yield Difference(name="instances", sentence="the two runs share no instance", allowable=False, fix=_SAME)
        return
    if intersect or not finished or ours == theirs:
        return
    only_ours, only_theirs = sorted(ours - theirs), sorted(theirs - ours)
    parts = [
        f"{len(keys)} only the {side} has ({', '.join(keys[:_SHOWN])}{', …' if len(keys) > _SHOWN else ''})"
        for side, keys in (("candidate", only_ours), ("parent", only_theirs))
        if keys
    ]
    yield Difference(
        name="instances",
        sentence=f"the two runs are of different instances: {len(ours & theirs)} shared, {', '.join(parts)}",
        allowable=False,
        fix=_SAME,
        flag="--intersect",
    )


_SAME: Final = "run both agents on the same split, tasks and episodes"


def _other_starts(
    candidate: RunEvidence, parent: RunEvidence, allow: Collection[str]
) -> tuple[dict[str, tuple[str, ...]], list[Difference]]:
    """The pairs that are none, and the differences they amount to when there are too many, or they are allowed."""
    shared = candidate.outcomes.keys() & parent.outcomes.keys()
    unpaired: dict[str, tuple[str, ...]] = {}
    by_aspect: dict[str, list[str]] = {}
    for key in sorted(shared):
        aspects = _differing(candidate.outcomes[key], parent.outcomes[key])
        for aspect in aspects:
            by_aspect.setdefault(aspect, []).append(key)
        left = tuple(aspect for aspect in aspects if aspect not in allow)
        if left:
            unpaired[key] = left
    too_many = len(unpaired) > MAX_UNPAIRED_SHARE * len(shared)
    differences = [
        Difference(
            name=aspect,
            sentence=f"{len(keys)} of {counted(len(shared), 'pair')} "
            f"began with another {_ASPECTS[aspect]}, {keys[0]} first",
        )
        for aspect, keys in by_aspect.items()
        if aspect in allow or too_many
    ]
    return unpaired, differences


_ASPECTS: Final[Mapping[str, str]] = {
    **{name: name for name in START_ASPECTS},
    "frames": "first picture",
}


def _differing(ours: EpisodeOutcome, theirs: EpisodeOutcome) -> tuple[str, ...]:
    return () if ours.start is None or theirs.start is None else ours.start.differing(theirs.start)


def _notes(
    candidate: RunEvidence, parent: RunEvidence, unpaired: Mapping[str, tuple[str, ...]], *, intersect: bool
) -> Iterator[str]:
    shared = candidate.outcomes.keys() & parent.outcomes.keys()
    if not (candidate.traces_read and parent.traces_read):
        yield "log only: the traces were not read, so neither scores nor initial states are checked"
    for side, run in (("candidate", candidate), ("parent", parent)):
        if not run.finished:
            yield f"the {side}'s run is not finished"
    if intersect:
        ours, theirs = len(candidate.outcomes) - len(shared), len(parent.outcomes) - len(shared)
        yield (
            f"intersection: {len(shared)} shared instances; left out are {ours} that only the candidate has "
            f"and {theirs} that only the parent has"
        )
    if unpaired:
        aspects = ", ".join(sorted({aspect for found in unpaired.values() for aspect in found}))
        said = f"{len(unpaired)} of {counted(len(shared), 'pair')} began differently ({aspects})"
        yield f"{said} and {are(len(unpaired))} not counted"
    ours, theirs = candidate.conditions, parent.conditions
    if said := stand_in_sentence("both sides", ours.versions):
        yield said
    if ours.hylo_version != theirs.hylo_version:
        yield f"the candidate was run with Hylo {ours.hylo_version}, the parent with {theirs.hylo_version}"


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


def _by_position(items: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {f"filter {index}": item for index, item in enumerate(items)}


def _both(ours: str, theirs: str) -> str:
    return "unknown" if not ours or not theirs else "same" if ours == theirs else "other"


def _overrides(conditions: RunConditions) -> str:
    listed = ", ".join(f"{name}={value}" for name, value in sorted(conditions.overrides.items()))
    return listed or "nothing changed"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
