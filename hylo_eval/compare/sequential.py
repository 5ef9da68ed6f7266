"""Looking early without cheating: an anytime-valid test of discordant pairs.

Under "the candidate is not better" each discordant pair is won by the candidate with probability at most 1/2.
Averaging the likelihood ratio against a fair coin over all win rates p in (1/2, 1), uniformly, gives the
e-process

    E(b, c) = 2 * integral from 1/2 to 1 of (2p)**b (2(1 - p))**c dp
            = 2**(n+1) B(b+1, c+1) P(Binomial(n+1, 1/2) <= b),    n = b + c.

Its mean stays at most 1 at every stopping time, so by Ville's inequality it ever reaches 1/alpha with
probability at most alpha, however often one looks: p = min(1, 1 / max E) (Ramdas, Gruenwald, Vovk & Shafer
2023, "Game-Theoretic Statistics and Safe Anytime-Valid Inference", Statistical Science 38:576-601).

That holds in an order fixed beforehand. Episodes that succeed end early, so pairs in order of completion are
no random sample; only the longest finished prefix of the declared order is looked at.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Literal

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_alpha, require_count
from hylo_eval.compare.fair_coin import fair_tail, log_fair_point

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hylo_eval.compare.pairing import Scores

Pair = tuple[float | None, float | None]
"""(candidate's score, parent's score): 1, 0, or None where that side abstained."""

State = Literal["candidate better", "parent better", "futile", "undecided"]

_LN10 = math.log(10.0)


@attrs.frozen(kw_only=True)
class SequentialLook:
    """What one look at the longest finished prefix of the declared order says.

    Attributes:
        n_looked: Pairs in the prefix, abstained ones included.
        n_declared: Pairs in the whole declared order.
        candidate_wins: Discordant pairs of the prefix won by the candidate.
        parent_wins: Discordant pairs of the prefix won by the parent.
        p_value: min(1, 1 / max E) over the prefix, valid at any look: evidence that the candidate is better.
        log10_p: Its decimal logarithm, finite also where `p_value` underflows.
        reverse_p_value: The same with the sides swapped: evidence that the parent is better.
        reverse_log10_p: Its decimal logarithm.
        alpha: Level of each of the two one-sided decisions.
        state: "candidate better" or "parent better" where that p-value is at most alpha (the direction that
            got there first counts), "futile" where the candidate can no longer be shown to be better even
            by winning every pair left, else "undecided".
        decided_at: Length of the prefix at which the state was reached first; None while undecided.
    """

    n_looked: int
    n_declared: int
    candidate_wins: int
    parent_wins: int
    p_value: float
    log10_p: float
    reverse_p_value: float
    reverse_log10_p: float
    alpha: float
    state: State
    decided_at: int | None


def log_e_value(candidate_wins: int, parent_wins: int) -> float:
    """The natural logarithm of E(b, c), the evidence that the candidate wins more than half.

    Raises:
        ContractError: A count is negative or no integer.
    """
    require_count(candidate_wins, "candidate_wins")
    require_count(parent_wins, "parent_wins")
    n = candidate_wins + parent_wins
    # B(b+1, c+1) = 1 / ((n+1) C(n, b)), and P(Bin(n+1) <= b) = P(Bin(n+1) >= c+1) by symmetry.
    share = fair_tail(parent_wins + 1, candidate_wins).log10_p * _LN10
    return math.log(2.0) - math.log(n + 1) - log_fair_point(candidate_wins, parent_wins) + share


def longest_finished_prefix(order: Sequence[str], candidate: Scores, parent: Scores) -> tuple[Pair, ...]:
    """The pairs that may be looked at: those before the first one a side has not finished.

    Args:
        order: Instance keys in the order declared before the first episode.
        candidate: Key -> score or None (abstained), for the episodes finished so far.
        parent: The same for the parent.

    Returns:
        The pairs of the prefix, in order.

    Raises:
        ContractError: A key stands in the order twice.
    """
    if len(set(order)) != len(order):
        raise ContractError("names an instance twice", path="order")
    prefix: list[Pair] = []
    for key in order:
        if key not in candidate or key not in parent:
            break
        prefix.append((candidate[key], parent[key]))
    return tuple(prefix)


def sequential_test(pairs: Sequence[Pair], *, n_declared: int, alpha: float = 0.05) -> SequentialLook:
    """Test an ordered prefix of pairs with the e-process, in both directions.

    Ties and abstained pairs move nothing. Looking again after more pairs needs no correction, and a state
    once reached stays reached.

    Args:
        pairs: The longest finished prefix, in the declared order.
        n_declared: Length of the whole declared order.
        alpha: One-sided level.

    Raises:
        ContractError: A score is neither 0, 1 nor None, `alpha` is outside (0, 1/2), or more pairs were
            looked at than declared.
    """
    require_alpha(alpha)
    require_count(n_declared, "n_declared", at_least=len(pairs))
    bar = -math.log(alpha)
    forward, reverse = _EProcess(), _EProcess()
    tallies = [(0, 0)]
    state: State = "undecided"
    decided_at: int | None = None
    for looked, winner in enumerate(_winners(pairs), start=1):
        forward.add(won=winner > 0, lost=winner < 0)
        reverse.add(won=winner < 0, lost=winner > 0)
        tallies.append((forward.wins, forward.losses))
        if state == "undecided" and max(forward.log_max, reverse.log_max) >= bar:
            state = "candidate better" if forward.log_max >= bar else "parent better"
            decided_at = looked
    if state == "undecided":
        decided_at = _futile_from(tallies, bar, n_declared)
        state = "undecided" if decided_at is None else "futile"
    return SequentialLook(
        n_looked=len(pairs),
        n_declared=n_declared,
        candidate_wins=forward.wins,
        parent_wins=forward.losses,
        p_value=math.exp(-forward.log_max),
        log10_p=0.0 - forward.log_max / _LN10,
        reverse_p_value=math.exp(-reverse.log_max),
        reverse_log10_p=0.0 - reverse.log_max / _LN10,
        alpha=alpha,
        state=state,
        decided_at=decided_at,
    )


class _EProcess:
    """The largest E along one sequence.

    Integration by parts gives E(b+1, c) = (2 (b+1) E + 1) / (n+2) and E(b, c+1) = (2 (c+1) E - 1) / (n+2).
    The subtraction is harmless while the candidate leads: more than half of the mass then lies above 1/2, and
    the relative error stays below 2n rounding errors. Where it does not lead, E is at most 1 and can set no
    maximum, so E is taken up afresh from its closed form at b = c, 1 / ((n+1) P(X = b)).
    """

    _RESCALE_BITS = 300
    """E is kept as a double times a power of two, rescaled by this much before it can overflow."""

    def __init__(self) -> None:
        self.wins = 0
        self.losses = 0
        self.log_max = 0.0
        self._e = 1.0
        self._unit = 1.0
        self._bits = 0

    def add(self, *, won: bool, lost: bool) -> None:
        """Take in one pair; a tie is neither won nor lost."""
        if won:
            self._win()
        elif lost:
            tosses = self.wins + self.losses
            self.losses += 1
            self._e = (2.0 * self.losses * self._e - self._unit) / (tosses + 2)

    def _win(self) -> None:
        tosses = self.wins + self.losses
        self.wins += 1
        if self.wins <= self.losses:
            return
        if self.wins == self.losses + 1:
            self._e = math.exp(-math.log(tosses + 1) - log_fair_point(self.losses, self.losses))
            self._unit, self._bits = 1.0, 0
        self._e = (2.0 * self.wins * self._e + self._unit) / (tosses + 2)
        if self._e > 2.0**self._RESCALE_BITS:
            self._e = math.ldexp(self._e, -self._RESCALE_BITS)
            self._unit = math.ldexp(self._unit, -self._RESCALE_BITS)
            self._bits += self._RESCALE_BITS
        self.log_max = max(self.log_max, math.log(self._e) + self._bits * math.log(2.0))


def _futile_from(tallies: Sequence[tuple[int, int]], bar: float, n_declared: int) -> int | None:
    """The first prefix after which winning every pair left would not reach the bar; None if there is none.

    E rises with every win, so that ending is the highest value still possible; it never rises from one prefix
    to the next.
    """

    def hopeless(looked: int) -> bool:
        wins, losses = tallies[looked]
        return log_e_value(wins + n_declared - looked, losses) < bar

    first = bisect_left(range(len(tallies)), 1, key=lambda looked: int(hopeless(looked)))
    return first if first < len(tallies) else None


def _winners(pairs: Iterable[Pair]) -> Iterable[int]:
    """1 where the candidate won, -1 where the parent won, 0 for a tie or an abstention."""
    for index, (ours, theirs) in enumerate(pairs):
        for side, score in (("candidate", ours), ("parent", theirs)):
            if score is not None and score not in (0, 1):
                raise ContractError(f"must be 0, 1 or None, got {score!r}", path=f"pairs[{index}].{side}")
        yield 0 if ours is None or theirs is None else int(ours > theirs) - int(ours < theirs)
