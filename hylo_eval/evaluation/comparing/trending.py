"""The runs of one agent's versions, found in a run root, and their trend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, TypeAlias

import attrs

from hylo_core.errors import HyloError
from hylo_eval.compare.comparability import EvidenceRefused, pair_evidence
from hylo_eval.compare.conditions import condition_differences
from hylo_eval.compare.evidence import Difference, RunConditions, RunEvidence
from hylo_eval.compare.pairing import PairedComparison
from hylo_eval.compare.trend import TrendStep, VersionResult, trend_over_versions
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.comparing.evidence import read_conditions, read_evidence
from hylo_eval.evaluation.comparing.several_runs import judged_comparison, judged_scores
from hylo_eval.suggest import did_you_mean, quoted
from hylo_eval.traces.finding import find_run
from hylo_eval.traces.layout import RunFolder

_FEWEST_VERSIONS: Final = 2
MAX_VERSIONS: Final = 200
"""More rows than this are no trend that anybody can read."""


@attrs.frozen(kw_only=True)
class FamilyTrend:
    """The trend of a family.

    Attributes:
        runs: Run id -> the run, oldest first; a baseline from elsewhere comes first.
        steps: One a run.
        baseline: Run id of the baseline.
        metric: The metric of 0 and 1.
        notes: What was left out and what was allowed, a sentence each.
    """

    runs: dict[str, RunEvidence]
    steps: tuple[TrendStep, ...]
    baseline: str
    metric: str
    notes: tuple[str, ...]


def family_trend(
    family: str,
    run_root: Path,
    *,
    baseline: str | None = None,
    benchmark: str | None = None,
    split: str | None = None,
    metric: str = "success",
    allow: Sequence[str] = (),
    traces: bool = True,
) -> FamilyTrend:
    """The trend of an agent over its versions.

    Args:
        family: The agents' name; ``*`` stands for anything.
        run_root: Where the runs are.
        baseline: Run id or folder of the fixed baseline; None is the oldest run.
        benchmark: Only runs on this benchmark.
        split: Only runs on this split.
        metric: A metric of 0 and 1.
        allow: Differences to accept, by name.
        traces: Whether the traces are read and checked.

    Raises:
        EvidenceRefused: Versions that follow one another are not comparable.
        EvalError: There are too few runs or too many, or they are on several benchmarks or splits.
    """
    members, notes = _members(family, run_root, benchmark, split)
    if "versions" not in allow:
        members, left_out = _on_one_simulator(members)
        notes += left_out
    folders = [folder for _, folder in members]
    reference: RunFolder | None = None
    if baseline is not None:
        reference = find_run(baseline, run_root)
        if reference.path.resolve() not in {folder.path for folder in folders}:
            folders = [reference, *folders]
    if not _FEWEST_VERSIONS <= len(folders) <= MAX_VERSIONS:
        raise EvalError(
            f"a trend takes {_FEWEST_VERSIONS} to {MAX_VERSIONS} finished runs of {family!r}; found {len(folders)}",
            fix="narrow it with --benchmark and --split, or run more versions",
        )
    runs: dict[str, RunEvidence] = {}
    for folder in folders:
        found = read_evidence(folder, traces=traces)
        if found.conditions.run_id in runs:
            raise EvalError(f"two of the runs are called {found.conditions.run_id}", fix="name each run once")
        runs[found.conditions.run_id] = found
    first = next(iter(runs)) if reference is None else _named(runs, folders, reference)
    pairing = _Pairing(runs, family, metric, allow)
    versions = [pairing.version(name, first) for name in runs]
    if pairing.refused:
        raise EvidenceRefused(pairing.refused.values())
    notes += [f"allowed, {item.words}" for item in pairing.allowed.values()]
    return FamilyTrend(
        runs=runs, steps=trend_over_versions(versions), baseline=first, metric=metric, notes=tuple(notes)
    )


def _named(runs: dict[str, RunEvidence], folders: Sequence[RunFolder], reference: RunFolder) -> str:
    return next(
        name for name, folder in zip(runs, folders, strict=True) if folder.path.resolve() == reference.path.resolve()
    )


class _Pairing:
    """Makes the comparisons of a trend, and collects what keeps runs from being compared."""

    def __init__(self, runs: dict[str, RunEvidence], family: str, metric: str, allow: Sequence[str]) -> None:
        self._runs = runs
        # A baseline from elsewhere is nobody's parent.
        self._family = [name for name, run in runs.items() if fnmatchcase(run.conditions.agent_name, family)]
        self._metric = metric
        self._allow = allow
        self.refused: dict[tuple[str, str], Difference] = {}
        self.allowed: dict[tuple[str, str], Difference] = {}

    def version(self, name: str, baseline: str) -> VersionResult:
        """One version with its comparisons."""
        scores = judged_scores(self._runs[name], self._metric)
        found = VersionResult(label=name, scores=scores)
        parent = self._parent(name)
        against_baseline = None if name == baseline else self._against(name, baseline)
        against_parent = None
        if parent is not None:
            against_parent = against_baseline if parent == baseline else self._against(name, parent)
        return attrs.evolve(found, parent=against_parent, baseline=against_baseline)

    def _parent(self, name: str) -> str | None:
        """The latest run before this one that is of another version."""
        if name not in self._family:
            return None
        digest = self._runs[name].conditions.agent_digest
        earlier = reversed(self._family[: self._family.index(name)])
        return next((other for other in earlier if self._runs[other].conditions.agent_digest != digest), None)

    def _against(self, name: str, other: str) -> tuple[str, PairedComparison] | None:
        try:
            evidence = pair_evidence(self._runs[name], self._runs[other], allow=self._allow, unfinished_refused=True)
        except EvidenceRefused as refusal:
            for item in refusal.differences:
                sentence = f"{name} (as candidate) and {other} (as parent): {item.sentence}"
                self.refused[item.name, sentence] = attrs.evolve(item, sentence=sentence)
            return None
        self.allowed |= {(item.name, item.sentence): item for item in evidence.allowed}
        return other, judged_comparison(evidence, self._metric)


_Member: TypeAlias = tuple[RunConditions, RunFolder]


def _members(family: str, run_root: Path, benchmark: str | None, split: str | None) -> tuple[list[_Member], list[str]]:
    """The finished runs of a family on one benchmark and split, oldest first; what is left out is said."""
    found: list[_Member] = []
    unreadable = 0
    names: set[str] = set()
    for folder in _folders(run_root):
        try:
            conditions = read_conditions(folder)
        except HyloError:
            unreadable += 1
            continue
        names.add(conditions.agent_name)
        where = conditions.benchmark
        wanted = benchmark in (None, where.id) and split in (None, where.split)
        if fnmatchcase(conditions.agent_name, family) and wanted:
            found.append((conditions, folder))
    if not found:
        raise EvalError(
            f"{run_root} holds no finished run of an agent {quoted(family)}{did_you_mean(family, sorted(names))}",
            fix="hylo-eval ls lists runs with their agents; --run-root where they are elsewhere",
        )
    found.sort(key=lambda item: (item[0].created_at, item[0].run_id))
    places = {(item.benchmark.id, item.benchmark.split) for item, _ in found}
    if len(places) > 1:
        listed = ", ".join(f"{name} {part}" for name, part in sorted(places))
        raise EvalError(
            f"the runs of {family!r} are on several benchmarks or splits ({listed})", fix="--benchmark ID --split NAME"
        )
    notes = [f"folders in {run_root} without a readable manifest: {unreadable}"] if unreadable else []
    latest = found[-1][0]
    kept = [(item, folder) for item, folder in found if item.keys_digest == latest.keys_digest]
    others = [item.run_id for item, _ in found if item.keys_digest != latest.keys_digest]
    if others:
        notes.append(f"left out, since their instances are not those of the latest run: {', '.join(others)}")
    return kept, notes


def _on_one_simulator(members: list[_Member]) -> tuple[list[_Member], list[str]]:
    """The runs on the simulator of the latest one, where these are a trend by themselves; the others are named."""
    latest = members[-1][0]
    kept: list[_Member] = []
    others: list[str] = []
    for conditions, folder in members:
        if any(item.name == "versions" for item in condition_differences(latest, conditions)):
            others.append(conditions.run_id)
        else:
            kept.append((conditions, folder))
    if not others or len(kept) < _FEWEST_VERSIONS:
        return members, []
    listed = ", ".join(others)
    return kept, [f"left out, since they ran on another simulator than the latest run: {listed} (--allow versions)"]


def _folders(run_root: Path) -> Iterator[RunFolder]:
    if not run_root.is_dir():
        raise EvalError(f"there is no run root {run_root}", fix="--run-root")
    for path in sorted(run_root.iterdir()):
        folder = RunFolder(path.resolve())
        if path.is_dir() and folder.evallog.is_file():
            yield folder
