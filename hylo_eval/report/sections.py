"""What a comparison says to people, as sections that a terminal and a Markdown page draw in their own way.

Texts are raw: whoever draws them makes them harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from hylo_eval.compare.agent_labels import agent_labels
from hylo_eval.compare.beside import BesideMetric
from hylo_eval.compare.cluster import ClusterComparison
from hylo_eval.compare.evidence import PairedEvidence, RunEvidence
from hylo_eval.compare.gate import GateOutcome
from hylo_eval.compare.looking import Look
from hylo_eval.compare.pairing import PairedComparison
from hylo_eval.compare.replicated import ReplicatedComparison
from hylo_eval.compare.replicates import VarianceSplit
from hylo_eval.compare.summary import BinarySummary, GradedSummary
from hylo_eval.compare.tango import Interval
from hylo_eval.numerals import counted, percent, points
from hylo_eval.report.text import number, p_value, reasons


@attrs.frozen(kw_only=True)
class Section:
    """One part of a report.

    Attributes:
        title: Its heading; empty for none.
        sentences: Whole sentences.
        facts: Labels and values.
        headers: Of the table's columns.
        rows: Of the table.
        text_columns: How many columns hold text, from the first on; the others hold numbers.
    """

    title: str = ""
    sentences: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    text_columns: int = 1


def evidence_section(evidence: PairedEvidence, repetitions: Sequence[PairedEvidence] = ()) -> Section:
    """Who is compared with whom on what, and what was allowed.

    Args:
        evidence: The two runs.
        repetitions: Further pairs of runs of the same two agents.
    """
    benchmark = evidence.candidate.conditions.benchmark
    sides = (evidence.candidate, evidence.parent)
    ours, theirs = agent_labels([run.conditions for run in sides])
    facts = [
        ("candidate", _runs(ours, [evidence.candidate, *(item.candidate for item in repetitions)])),
        ("parent", _runs(theirs, [evidence.parent, *(item.parent for item in repetitions)])),
        ("benchmark", f"{benchmark.id} {benchmark.version}, split {benchmark.split}"),
    ]
    starts = evidence.distinct_starts()
    if starts is not None:
        facts.append(("distinct initial states", str(starts)))
    facts.append(("traces", "read and checked" if evidence.traces_read else "not read (log only)"))
    facts += [("allowed", item.words) for item in evidence.allowed]
    repeated = evidence.repeated_starts()
    verbs = ("repeats", "is") if repeated == 1 else ("repeat", "are")
    warning = (
        f"{counted(repeated, 'pair')} {verbs[0]} an initial state of another and {verbs[1]} no independent evidence",
    )
    return Section(facts=tuple(facts), sentences=evidence.notes + (warning if repeated else ()))


def difference_sentence(summary: BinarySummary) -> str:
    """What a comparison comes to, for somebody who reads one sentence of it: by the exact test, as a gate decides."""
    effect, test = summary.effect, summary.comparison
    if effect.difference is None:
        return "No episode was scored on both sides, so nothing can be compared."
    low, high = effect.interval.low, effect.interval.high
    shown, p = "no difference is shown", min(test.p_value, test.reverse_p_value)
    if p <= summary.alpha:
        shown = f"the candidate is {'better' if test.p_value <= summary.alpha else 'worse'}"
    score = f"{counted(test.candidate_wins, 'win')} to {test.parent_wins}, p = {p_value(p)}"
    return (
        f"{points(effect.difference)} on {counted(effect.n_pairs, 'episode')} that both were scored on, "
        f"{100 * effect.interval.level:g} % interval [{points(low)}, {points(high)}]: {shown} ({score})."
    )


def binary_sections(summary: BinarySummary) -> tuple[Section, ...]:
    """The comparison by a metric of 0 and 1."""
    parts = [
        Section(
            title=summary.metric.name, facts=tuple(_binary_facts(summary)), sentences=(f"{summary.attainability}.",)
        ),
        Section(
            title="other readings of the abstentions",
            headers=("reading", "wins", "losses", "pairs", "difference", "p"),
            rows=tuple(
                (
                    scenario.name,
                    str(scenario.table.candidate_wins),
                    str(scenario.table.parent_wins),
                    str(scenario.table.n_pairs),
                    "-" if scenario.difference is None else points(scenario.difference),
                    p_value(scenario.p_value),
                )
                for scenario in summary.scenarios
            ),
        ),
        Section(
            title=f"by {summary.by}",
            headers=(summary.by, "pairs", "wins", "losses", "difference", "p of a regression (Holm)"),
            rows=tuple(
                (
                    row.label,
                    str(row.comparison.n_pairs),
                    str(row.comparison.candidate_wins),
                    str(row.comparison.parent_wins),
                    _difference(row.comparison),
                    p_value(row.adjusted_regression_p),
                )
                for row in summary.groups
            ),
        ),
    ]
    return tuple(parts)


def graded_sections(summary: GradedSummary) -> tuple[Section, ...]:
    """The comparison by a metric that measures something."""
    rank, mean, unit = summary.by_rank, summary.by_mean, summary.metric.unit
    facts = [("pairs", f"{rank.n_pairs}; {summary.metric.better} is better")]
    if rank.hodges_lehmann is not None:
        typical = rank.hodges_lehmann
        facts.append(("typical difference", f"{_signed(typical.estimate, unit)}{_in(typical.interval, unit)}"))
    if mean.mean_difference is not None:
        facts.append(("mean difference", f"{_signed(mean.mean_difference, unit)}{_in(mean.interval, unit)}"))
    facts += [
        ("p, candidate better", f"{p_value(rank.p_value)} (signed ranks, {rank.wilcoxon.method})"),
        ("p, parent better", p_value(rank.reverse_p_value)),
        ("p by means", f"{p_value(mean.p_value)} (sign flips, {mean.test.method})"),
        *_abstentions(dict(summary.candidate_abstentions), dict(summary.parent_abstentions)),
        ("scope", f"{summary.scope}: pairs count as independent"),
    ]
    return (Section(title=summary.metric.name, facts=tuple(facts)),)


def gate_sections(outcome: GateOutcome) -> tuple[Section, ...]:
    """The verdict, then what it rests on."""
    decision = outcome.decision
    facts = [("coverage", percent(decision.coverage))]
    if outcome.look is not None:
        facts += _look_facts(outcome.look)
    if decision.tipping_point is not None and decision.tipping_point.abstained:
        facts.append(("tipping point", decision.tipping_point.words()))
    verdict = Section(
        title=f"verdict: {decision.verdict}",
        sentences=(
            *(f"{reason}." for reason in decision.reasons),
            *(("fixed p-values below hold for a single look and decide nothing here.",) if outcome.look else ()),
            *(f"allowed, {item.words}." for item in outcome.evidence.allowed),
            *(f"{note}." for note in outcome.evidence.notes),
        ),
        facts=tuple(facts),
    )
    # Exceptions and notes stand in the verdict itself, so the evidence need not say them again.
    plain = attrs.evolve(outcome.evidence, allowed=(), notes=())
    of = ", of the first repetition" if outcome.repetitions else ""
    beside = (_beside_section(outcome.beside, of),) if outcome.beside else ()
    if outcome.replicated is not None:
        return (
            verdict,
            evidence_section(plain, outcome.repetitions),
            *replicated_sections(outcome.replicated),
            *beside,
        )
    return (verdict, evidence_section(plain), *binary_sections(outcome.summary), *beside)


def _beside_section(beside: Iterable[BesideMetric], of: str) -> Section:
    rows: list[tuple[str, ...]] = []
    for item in beside:
        found, unit = item.comparison.hodges_lehmann, item.metric.unit
        interval = found.interval if found is not None else None
        rows.append(
            (
                f"{item.metric.name} ({item.metric.better} is better)",
                str(item.comparison.n_pairs),
                _signed(item.mean_difference, unit),
                "-" if found is None else _signed(found.estimate, unit),
                "-" if interval is None else f"[{_signed(interval.low, unit)}, {_signed(interval.high, unit)}]",
                p_value(item.comparison.p_value),
                p_value(item.comparison.reverse_p_value),
            )
        )
    return Section(
        title=f"beside the rule{of}: shown, never deciding",
        headers=("metric", "pairs", "mean change", "typical change", "interval", "p, better", "p, worse"),
        rows=tuple(rows),
    )


def replicated_sections(found: ReplicatedComparison) -> tuple[Section, ...]:
    """The comparison over repetitions: all together, then each by itself."""
    cluster = found.cluster
    size = f"{counted(len(found.repetitions), 'repetition')}, {counted(cluster.n_pairs, 'pair')}"
    facts = [("instances", f"{cluster.n_clusters}, in {size}")]
    if found.mean_difference is not None:
        bounds = ""
        if found.interval is not None:
            low, high = points(found.interval.low), points(found.interval.high)
            bounds = f", {100 * found.interval.level:g} % interval ({found.interval.method}) [{low}, {high}]"
        facts.append(("difference", f"{points(found.mean_difference)}{bounds}"))
    facts += [
        ("p, candidate better", f"{p_value(cluster.p_value)} (sign flips of instances, {cluster.sign_flip.method})"),
        ("p, parent better", p_value(cluster.reverse_p_value)),
        ("smallest attainable p", p_value(cluster.smallest_attainable_p)),
        ("variance, candidate", variance_words(found.candidate_variance)),
        ("variance, parent", variance_words(found.parent_variance)),
        ("scope", f"{found.scope}: each instance counts once"),
    ]
    rows = tuple(
        (
            str(place),
            str(comparison.candidate_wins),
            str(comparison.parent_wins),
            str(comparison.n_pairs),
            _difference(comparison),
        )
        for place, comparison in enumerate(found.repetitions, start=1)
    )
    return (
        Section(title="over repetitions", facts=tuple(facts), sentences=tuple(f"{note}." for note in found.notes)),
        Section(
            title="each repetition by itself",
            headers=("repetition", "wins", "losses", "pairs", "difference"),
            rows=rows,
        ),
    )


def variance_words(split: VarianceSplit | None) -> str:
    """Where the variance of repeated runs lies."""
    if split is None:
        return "no instance was scored twice"
    share = "" if split.scene_share is None else f"; {percent(split.scene_share)} of it lies in the scenes"
    return f"scene {split.scene:.3g}, policy and simulator {split.policy:.3g}{share}"


def _look_facts(look: Look) -> list[tuple[str, str]]:
    test = look.test
    facts = [
        ("looked at", f"{test.n_looked} of {test.n_declared} declared pairs"),
        ("p at any look, candidate better", p_value(test.p_value, test.log10_p)),
        ("p at any look, parent better", p_value(test.reverse_p_value, test.reverse_log10_p)),
    ]
    if look.beyond:
        verb = "comes" if look.beyond == 1 else "come"
        facts.append(
            ("not looked at", f"{counted(look.beyond, 'finished pair')} that {verb} after one that is missing")
        )
    return facts


_NOTHING_SHOWS: Final = "no effect, however large, could be shown with so few pairs"


def _binary_facts(summary: BinarySummary) -> Iterator[tuple[str, str]]:
    comparison, effect = summary.comparison, summary.effect
    wins, losses, ties = comparison.candidate_wins, comparison.parent_wins, comparison.ties
    outcomes = (counted(wins, "win"), counted(losses, "loss", "losses"), counted(ties, "tie"))
    yield "pairs", f"{comparison.n_pairs}: {', '.join(outcomes)}"
    if effect.candidate_rate is not None and effect.parent_rate is not None:
        yield "rates", f"{percent(effect.candidate_rate)} against {percent(effect.parent_rate)}"
    if effect.difference is not None:
        interval = f"{100 * effect.interval.level:g} % interval (Tango)"
        bounds = f"[{points(effect.interval.low)}, {points(effect.interval.high)}]"
        yield "difference", f"{points(effect.difference)}, {interval} {bounds}"
    if effect.risk_ratio is not None:
        yield "risk ratio", f"{effect.risk_ratio:.3g}"
    yield "p, candidate better", f"{p_value(comparison.p_value, comparison.log10_p)} (exact McNemar, one-sided)"
    yield "p, parent better", p_value(comparison.reverse_p_value, comparison.reverse_log10_p)
    yield "mid-p", f"{p_value(comparison.mid_p)} (shown, never deciding)"
    visible = effect.minimal_detectable_effect
    yield "minimal detectable effect", _NOTHING_SHOWS if visible is None else points(visible).lstrip("+")
    yield "smallest attainable p", p_value(effect.smallest_attainable_p)
    yield from _abstentions(comparison.candidate_abstentions, comparison.parent_abstentions)
    ours, theirs = len(comparison.only_candidate), len(comparison.only_parent)
    if ours or theirs:
        yield "not shared", f"{ours} only the candidate has, {theirs} only the parent has"
    yield "scope", f"{summary.scope}: pairs count as independent"
    if summary.new_tasks is not None:
        yield f"scope {summary.new_tasks.scope}", _new_tasks(summary.new_tasks)


def _new_tasks(found: ClusterComparison) -> str:
    method = f"sign flips, {found.sign_flip.method}; smallest attainable {p_value(found.smallest_attainable_p)}"
    return (
        f"p = {p_value(found.p_value)} for a better candidate, {p_value(found.reverse_p_value)} for a better parent, "
        f"over {counted(found.n_clusters, 'task')} ({method})"
    )


def _abstentions(candidate: dict[str, int], parent: dict[str, int]) -> Iterable[tuple[str, str]]:
    return (("abstained, candidate", reasons(candidate)), ("abstained, parent", reasons(parent)))


def _runs(label: str, runs: Sequence[RunEvidence]) -> str:
    named = (f"{run.conditions.run_id}{'' if run.finished else ', not finished'}" for run in runs)
    return f"{label} ({'run' if len(runs) == 1 else 'runs'} {', '.join(named)})"


def _difference(comparison: PairedComparison) -> str:
    lead, pairs = comparison.candidate_wins - comparison.parent_wins, comparison.n_pairs
    return points(lead / pairs) if pairs else "-"


def _signed(value: float, unit: str) -> str:
    return f"{'+' if value >= 0 else ''}{number(value, unit)}"


def _in(interval: Interval | None, unit: str) -> str:
    if interval is None:
        return ", too few pairs for an interval"
    return f", {100 * interval.level:g} % interval [{_signed(interval.low, unit)}, {_signed(interval.high, unit)}]"
