"""Several agents on the same instances: every pair tested, and the groups that cannot be told apart.

A ranking by mean alone says that the first is better than the second, which nobody has tested. Here two agents are told
apart when the two-sided exact McNemar p-value of their pairs, adjusted by Holm over all pairs, is at most alpha; agents
that share a letter were not told apart (Piepho 2004, "An Algorithm for a Letter-Based Representation of All-Pairwise
Comparisons", Journal of Computational and Graphical Statistics 13:456-466).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from string import ascii_letters
from typing import Final

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_between
from hylo_eval.compare.holm import holm_adjust
from hylo_eval.compare.pairing import PairedComparison, Scores
from hylo_eval.compare.table import UNSTATED
from hylo_eval.scoring.intervals import wilson_interval

MAX_RUNS: Final = 40
"""Runs on one leaderboard: with more of them, 780 pairs share one error rate, and nothing is told apart."""


@attrs.frozen(kw_only=True)
class PairTest:
    """Two agents of a leaderboard against each other.

    Attributes:
        first: Label of the one.
        second: Label of the other.
        comparison: Their pairs, the first as candidate.
        p_value: Two-sided exact McNemar p-value.
        adjusted_p: Adjusted by Holm over all pairs of the leaderboard.
    """

    first: str
    second: str
    comparison: PairedComparison
    p_value: float
    adjusted_p: float


@attrs.frozen(kw_only=True)
class Standing:
    """One agent's line.

    Attributes:
        label: Its label, such as the run id.
        successes: Scored instances that succeeded.
        n_scored: Scored instances.
        n_instances: Instances.
        abstentions: Those that were not scored, by reason.
        interval: Wilson's 95 % interval of the rate; None where nothing was scored.
        letters: The groups it belongs to; two agents that share a letter were not told apart.
        best_rank: 1 + the agents that were shown to be better.
        worst_rank: All agents less those that were shown to be worse.
    """

    label: str
    successes: int
    n_scored: int
    n_instances: int
    abstentions: Mapping[str, int]
    interval: tuple[float, float] | None
    letters: str
    best_rank: int
    worst_rank: int

    @property
    def rate(self) -> float | None:
        """Share of scored instances that succeeded."""
        return self.successes / self.n_scored if self.n_scored else None

    @property
    def coverage(self) -> float:
        """Share of instances that were scored."""
        return self.n_scored / self.n_instances if self.n_instances else 0.0


@attrs.frozen(kw_only=True)
class Leaderboard:
    """Several agents on the same instances.

    Attributes:
        standings: The agents, highest rate first; of equal ones, the one that was named first.
        tests: Every pair, in the order the agents were named.
        alpha: Two-sided level of all pairs together.
    """

    standings: tuple[Standing, ...]
    tests: tuple[PairTest, ...]
    alpha: float

    def told_apart(self, one: str, other: str) -> bool:
        """Whether two agents differ significantly."""
        return any({test.first, test.second} == {one, other} and test.adjusted_p <= self.alpha for test in self.tests)


def rank(
    scores: Mapping[str, Scores],
    reasons: Mapping[str, Mapping[str, str]],
    pairs: Mapping[tuple[str, str], PairedComparison],
    *,
    alpha: float = 0.05,
) -> Leaderboard:
    """Rank agents by what their pairs show.

    Args:
        scores: Label -> instance key -> 1, 0 or None.
        reasons: Label -> instance key -> why there is no score.
        pairs: (label, other label) -> their comparison, the first as candidate; each two labels once.
        alpha: Two-sided level of all pairs together.

    Raises:
        ContractError: A pair is missing, there are fewer than two or more than `MAX_RUNS` agents, or `alpha` is outside
            (0, 1).
    """
    require_between(alpha, "alpha", 0.0, 1.0)
    labels = list(scores)
    if not 2 <= len(labels) <= MAX_RUNS:
        raise ContractError(f"must hold 2 to {MAX_RUNS} runs, not {len(labels)}", path="scores")
    missing = [two for two in combinations(labels, 2) if two not in pairs]
    if missing:
        raise ContractError(f"lacks {missing[0]}", path="pairs")
    ordered = [(two, pairs[two]) for two in combinations(labels, 2)]
    p_values = [min(1.0, 2.0 * min(found.p_value, found.reverse_p_value)) for _, found in ordered]
    tests = tuple(
        PairTest(first=first, second=second, comparison=found, p_value=p_value, adjusted_p=adjusted)
        for ((first, second), found), p_value, adjusted in zip(ordered, p_values, holm_adjust(p_values), strict=True)
    )
    better = {
        (test.first, test.second) if test.comparison.candidate_wins > test.comparison.parent_wins
        else (test.second, test.first)
        for test in tests
        if test.adjusted_p <= alpha
    }  # fmt: skip
    by_rate = sorted(labels, key=lambda label: -_rate(scores[label]))
    letters = dict(zip(by_rate, compact_letters(by_rate, better), strict=True))
    standings = tuple(
        _standing(
            label,
            scores[label],
            reasons.get(label, {}),
            letters=letters[label],
            above=sum(loser == label for _, loser in better),
            below=sum(winner == label for winner, _ in better),
            agents=len(labels),
        )
        for label in by_rate
    )
    return Leaderboard(standings=standings, tests=tests, alpha=alpha)


def compact_letters(labels: Sequence[str], different: Collection[tuple[str, str]]) -> tuple[str, ...]:
    """Letters such that two labels share one exactly when they are not `different`.

    Every pair that differs splits each group that holds both; groups that another one holds wholly are dropped.

    Args:
        labels: The labels, best first: the first letter goes to the group of the first one.
        different: Pairs, in either order.

    Returns:
        The letters of each label.
    """
    groups: list[frozenset[str]] = [frozenset(labels)]
    for one, other in different:
        split: list[frozenset[str]] = []
        for group in groups:
            split += [group - {one}, group - {other}] if one in group and other in group else [group]
        groups = _maximal(split)
    place = {label: index for index, label in enumerate(labels)}
    groups.sort(key=lambda group: sorted(place[label] for label in group))
    return tuple("".join(_letter(index) for index, group in enumerate(groups) if label in group) for label in labels)


def _maximal(groups: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    distinct = list(dict.fromkeys(groups))
    return [group for group in distinct if not any(group < other for other in distinct)]


def _letter(index: int) -> str:
    return ascii_letters[index] if index < len(ascii_letters) else f"({index + 1})"


def _rate(scores: Scores) -> float:
    found = [score for score in scores.values() if score is not None]
    return sum(found) / len(found) if found else -1.0


def _standing(
    label: str, scores: Scores, reasons: Mapping[str, str], *, letters: str, above: int, below: int, agents: int
) -> Standing:
    found = [score for score in scores.values() if score is not None]
    silent = Counter(reasons.get(key, UNSTATED) for key, score in scores.items() if score is None)
    successes = round(sum(found))
    return Standing(
        label=label,
        successes=successes,
        n_scored=len(found),
        n_instances=len(scores),
        abstentions=dict(sorted(silent.items())),
        interval=wilson_interval(successes, len(found)),
        letters=letters,
        best_rank=1 + above,
        worst_rank=agents - below,
    )
