"""McNemar's exact test of paired yes-or-no outcomes, in both directions.

Only discordant pairs carry evidence: under equality each is a fair coin. The one-sided exact p-value for
"the candidate is better" is P(X >= b), X ~ Binomial(b + c, 1/2), with b pairs won by the candidate and c by
the parent (McNemar 1947, Psychometrika 12:153). 5:0 gives 1/32, 0:0 gives 1.
"""

from __future__ import annotations

import math

import attrs

from hylo_eval.compare.checks import require_alpha, require_count
from hylo_eval.compare.fair_coin import fair_tail


@attrs.frozen(kw_only=True)
class ExactMcNemar:
    """The exact one-sided McNemar test and its mirror image.

    Attributes:
        candidate_wins: Discordant pairs the candidate won.
        parent_wins: Discordant pairs the parent won.
        p_value: P(X >= candidate_wins), X ~ Binomial(all discordant pairs, 1/2): evidence that the candidate
            is better. 0.0 only where it underflows; `log10_p` is finite there.
        log10_p: Decimal logarithm of `p_value`.
        mid_p: `p_value` minus half the probability of the outcome itself. Shown, never deciding: it does
            not bound the error of the first kind.
        reverse_p_value: The same with the sides swapped: evidence that the parent is better.
        reverse_log10_p: Decimal logarithm of `reverse_p_value`.
    """

    candidate_wins: int
    parent_wins: int
    p_value: float
    log10_p: float
    mid_p: float
    reverse_p_value: float
    reverse_log10_p: float


def exact_mcnemar(candidate_wins: int, parent_wins: int) -> ExactMcNemar:
    """Test discordant pairs exactly, in both directions, for any number of pairs.

    Raises:
        ContractError: A count is negative or no integer.
    """
    require_count(candidate_wins, "candidate_wins")
    require_count(parent_wins, "parent_wins")
    forward = fair_tail(candidate_wins, parent_wins)
    reverse = fair_tail(parent_wins, candidate_wins)
    return ExactMcNemar(
        candidate_wins=candidate_wins,
        parent_wins=parent_wins,
        p_value=forward.p,
        log10_p=forward.log10_p,
        mid_p=forward.mid_p,
        reverse_p_value=reverse.p,
        reverse_log10_p=reverse.log10_p,
    )


def smallest_attainable_p(discordant_pairs: int) -> float:
    """The p-value if the candidate won every one of these discordant pairs: 2**-n.

    Raises:
        ContractError: The count is negative or no integer.
    """
    return math.ldexp(1.0, -require_count(discordant_pairs, "discordant_pairs"))


def discordant_pairs_needed(alpha: float) -> int:
    """The fewest discordant pairs with which p <= alpha can be reached at all: 5 at 0.05.

    Raises:
        ContractError: `alpha` is outside (0, 1/2).
    """
    require_alpha(alpha)
    # alpha = m * 2**exponent with m in [1/2, 1), so 2**-n <= alpha from n = 1 - exponent on.
    _, exponent = math.frexp(alpha)
    return 1 - exponent


def critical_wins(discordant_pairs: int, alpha: float) -> int | None:
    """The fewest wins out of `discordant_pairs` with p <= alpha; None if even winning all is not enough.

    Raises:
        ContractError: The count is negative or no integer, or `alpha` is outside (0, 1/2).
    """
    require_count(discordant_pairs, "discordant_pairs")
    require_alpha(alpha)
    if smallest_attainable_p(discordant_pairs) > alpha:
        return None
    enough, too_few = discordant_pairs, discordant_pairs // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if fair_tail(middle, discordant_pairs - middle).p <= alpha:
            enough = middle
        else:
            too_few = middle
    return enough
