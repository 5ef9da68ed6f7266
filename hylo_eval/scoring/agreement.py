"""How far two graders agree, beyond what their habits alone would make them agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import attrs

from hylo_eval.scoring.intervals import wilson_interval


@attrs.frozen(kw_only=True)
class Agreement:
    """The agreement of two graders on the episodes that both judged.

    Attributes:
        graders: Who.
        n: Episodes both judged.
        both_success: Episodes that both judged a success.
        only_first: Episodes that the first alone judged a success.
        only_second: Episodes that the second alone judged a success.
        both_failure: Episodes that both judged a failure.
        observed: Share of equal judgements.
        expected: The same by chance: if each judged at random with its own rate of successes.
        kappa: Cohen's kappa, ``(observed - expected) / (1 - expected)``: 1 for full agreement, 0 for chance. None when
            both said the same of every episode without exception: then nothing can be told from chance.
        interval: Of kappa, 95 %; None as kappa is.
    """

    graders: tuple[str, str]
    n: int
    both_success: int
    only_first: int
    only_second: int
    both_failure: int
    observed: float
    expected: float
    kappa: float | None
    interval: tuple[float, float] | None


def cohen_kappa(
    pairs: Sequence[tuple[bool, bool]], *, graders: tuple[str, str] = ("first", "second"), confidence: float = 0.95
) -> Agreement | None:
    """Cohen's kappa (1960, Educational and Psychological Measurement 20:37-46) of two graders' judgements.

    The interval is Wilson's of the observed agreement, carried over to kappa with the expected agreement held as Cohen
    held it. The usual large-sample error (Fleiss, Cohen and Everitt 1969) is zero at full agreement, and its interval
    covers far too rarely with few episodes or rare failures: in simulations 4 % instead of 95 % at worst (10 episodes,
    95 % successes, kappa 0.95), where this one covers 90 %.

    Args:
        pairs: One an episode: whether the first and the second judged it a success.
        graders: Their names.
        confidence: Of the interval.

    Returns:
        The agreement; None without an episode that both judged.
    """
    n = len(pairs)
    if n == 0:
        return None
    both = sum(first and second for first, second in pairs)
    only_first = sum(first and not second for first, second in pairs)
    only_second = sum(second and not first for first, second in pairs)
    neither = n - both - only_first - only_second
    observed = (both + neither) / n
    rates = (both + only_first) / n, (both + only_second) / n
    expected = rates[0] * rates[1] + (1 - rates[0]) * (1 - rates[1])
    kappa, interval = None, None
    # Exactly: the rates are 0 or 1 where every judgement was the same.
    if not (rates[0] == rates[1] and rates[0] in (0.0, 1.0)):
        kappa = (observed - expected) / (1 - expected)
        low, high = wilson_interval(both + neither, n, confidence) or (0.0, 1.0)
        interval = max(-1.0, (low - expected) / (1 - expected)), min(1.0, (high - expected) / (1 - expected))
    return Agreement(
        graders=graders,
        n=n,
        both_success=both,
        only_first=only_first,
        only_second=only_second,
        both_failure=neither,
        observed=observed,
        expected=expected,
        kappa=kappa,
        interval=interval,
    )


def pairwise_agreement(episodes: Iterable[Mapping[str, bool]]) -> tuple[Agreement, ...]:
    """The agreement of every two graders that judged an episode in common.

    Args:
        episodes: What each grader said of an episode (:func:`hylo_eval.scoring.graded.judged_successes`).
    """
    judged = list(episodes)
    names = sorted({name for successes in judged for name in successes})
    found: list[Agreement] = []
    for first, second in combinations(names, 2):
        pairs = [(one[first], one[second]) for one in judged if first in one and second in one]
        agreement = cohen_kappa(pairs, graders=(first, second))
        if agreement is not None:
            found.append(agreement)
    return tuple(found)
