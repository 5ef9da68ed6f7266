"""How large the difference is, what the pairs could not have shown, and what abstentions could hide."""

from __future__ import annotations

import attrs

from hylo_eval.compare.checks import require_alpha
from hylo_eval.compare.mcnemar import (
    critical_wins,
    discordant_pairs_needed,
    exact_mcnemar,
    smallest_attainable_p,
)
from hylo_eval.compare.power import minimal_detectable_effect
from hylo_eval.compare.table import AGENT_ERROR, PairTable
from hylo_eval.compare.tango import Interval, tango_interval
from hylo_eval.numerals import counted


@attrs.frozen(kw_only=True)
class Effect:
    """The difference of success rates over scored pairs, and the limits of the evidence.

    Attributes:
        n_pairs: Scored pairs.
        candidate_rate: Candidate's success rate over them; None without pairs, as every rate here.
        parent_rate: Parent's success rate over them.
        difference: Candidate's rate minus parent's.
        interval: Tango's interval for the difference at the level asked for.
        decision_interval: Tango's interval at level 1 - 2 alpha, whose ends are the one-sided bounds that a
            non-inferiority decision uses.
        risk_ratio: Candidate's rate over parent's; None where the parent never succeeded.
        discordant_rate: Share of pairs one side won.
        minimal_detectable_effect: Smallest difference these pairs detect at the observed share of discordant
            pairs; None where no difference would be.
        smallest_attainable_p: The p-value if the candidate had won every discordant pair.
        discordant_needed: Discordant pairs without which p <= alpha cannot be reached.
        wins_needed: Wins needed for p <= alpha with the discordant pairs there are; None where all of them
            would not be enough.
    """

    n_pairs: int
    candidate_rate: float | None
    parent_rate: float | None
    difference: float | None
    interval: Interval
    decision_interval: Interval
    risk_ratio: float | None
    discordant_rate: float | None
    minimal_detectable_effect: float | None
    smallest_attainable_p: float
    discordant_needed: int
    wins_needed: int | None


@attrs.frozen(kw_only=True)
class Scenario:
    """The same comparison under another reading of the abstentions.

    Attributes:
        name: "as scored", "agent errors failed" or "worst case".
        table: The paired outcomes under it.
        p_value: One-sided exact McNemar p-value for "the candidate is better".
        difference: Difference of success rates; None without pairs.
    """

    name: str
    table: PairTable
    p_value: float
    difference: float | None


def measure_effect(table: PairTable, *, alpha: float = 0.05, power: float = 0.8, level: float = 0.95) -> Effect:
    """Measure the effect in a table of paired outcomes.

    Args:
        table: The paired outcomes; abstained pairs are left out.
        alpha: One-sided significance level.
        power: Probability with which the minimal detectable effect is detected.
        level: Level of `Effect.interval`.

    Raises:
        ContractError: An argument is outside its range.
    """
    require_alpha(alpha)
    n, wins, losses = table.n_pairs, table.candidate_wins, table.parent_wins
    successes, parent_successes = table.both_succeeded + wins, table.both_succeeded + losses
    discordant_rate = table.discordant / n if n else None
    return Effect(
        n_pairs=n,
        candidate_rate=successes / n if n else None,
        parent_rate=parent_successes / n if n else None,
        difference=difference_of_rates(table),
        interval=tango_interval(wins, losses, n, level=level),
        decision_interval=tango_interval(wins, losses, n, level=1.0 - 2.0 * alpha),
        risk_ratio=successes / parent_successes if parent_successes else None,
        discordant_rate=discordant_rate,
        minimal_detectable_effect=minimal_detectable_effect(
            n, discordant=discordant_rate or 0.0, alpha=alpha, power=power
        ),
        smallest_attainable_p=smallest_attainable_p(table.discordant),
        discordant_needed=discordant_pairs_needed(alpha),
        wins_needed=critical_wins(table.discordant, alpha),
    )


def difference_of_rates(table: PairTable) -> float | None:
    """Candidate's success rate minus parent's over scored pairs; None without pairs."""
    return (table.candidate_wins - table.parent_wins) / table.n_pairs if table.n_pairs else None


def scenarios(table: PairTable) -> tuple[Scenario, Scenario, Scenario]:
    """The comparison as scored, with the candidate's agent errors failed, and in the worst case."""
    return (
        _scenario("as scored", table),
        _scenario("agent errors failed", table.with_candidate_failures((AGENT_ERROR,))),
        _scenario("worst case", table.worst_case()),
    )


def attainability(table: PairTable, *, alpha: float = 0.05) -> str:
    """One sentence on whether the discordant pairs there are could have shown an improvement at all."""
    effect_needed = critical_wins(table.discordant, require_alpha(alpha))
    won, discordant = table.candidate_wins, table.discordant
    if effect_needed is None:
        needed = discordant_pairs_needed(alpha)
        return (
            f"{needed} wins without a loss are needed for p <= {alpha:g}; "
            f"there {'is' if discordant == 1 else 'are'} {counted(discordant, 'discordant pair')}, {won} of them won"
        )
    return f"{effect_needed} of {counted(discordant, 'discordant pair')} must be won for p <= {alpha:g}; {won} were won"


def _scenario(name: str, table: PairTable) -> Scenario:
    p_value = exact_mcnemar(table.candidate_wins, table.parent_wins).p_value
    return Scenario(name=name, table=table, p_value=p_value, difference=difference_of_rates(table))
