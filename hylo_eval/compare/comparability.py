"""Whether two runs may be compared: every difference is a sentence, every exception has a name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from hylo_eval.compare.conditions import condition_differences
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
from hylo_eval.versions import stand_in_sentence

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
    "env-source": "an environment whose file was another",
    "safety": "other safety filters",
    "batch-size": "agents evaluated with another batch size",
    "trained-on": "a candidate trained or tuned on this split",
    "state": "pairs that began in another state",
    "model": "pairs whose simulated models (robot, objects, fixtures) differ",
    "instruction": "pairs with another instruction",
    "frames": "pairs whose first pictures differ",
}
"""What ``--allow`` takes: name -> what it lets pass."""

_SHOWN = 3


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


def _both(ours: str, theirs: str) -> str:
    return "unknown" if not ours or not theirs else "same" if ours == theirs else "other"


def _overrides(conditions: RunConditions) -> str:
    listed = ", ".join(f"{name}={value}" for name, value in sorted(conditions.overrides.items()))
    return listed or "nothing changed"
