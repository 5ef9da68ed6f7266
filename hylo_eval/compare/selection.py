"""What choosing the best of several runs does to its score."""

from __future__ import annotations

import math

from hylo_eval.compare.checks import require_between, require_count


def expected_best_of_equal(n_agents: int, *, n_episodes: int, success_rate: float) -> float:
    """The mean success rate that the best of several equal agents shows, by luck alone.

    The best count of n agents exceeds j unless all stay at or below it, so its mean is the sum over j of
    1 - P(X <= j)**n with X ~ Binomial(episodes, rate).

    Args:
        n_agents: Agents or checkpoints tried, at least 1.
        n_episodes: Independent episodes each was scored on, at least 1.
        success_rate: Their true common success rate, in [0, 1].

    Raises:
        ContractError: An argument is outside its range.
    """
    require_count(n_agents, "n_agents", at_least=1)
    require_count(n_episodes, "n_episodes", at_least=1)
    require_between(success_rate, "success_rate", 0.0, 1.0, closed=True)
    if success_rate in (0, 1):
        return float(success_rate)
    log_odds = math.log(success_rate) - math.log1p(-success_rate)
    log_point = n_episodes * math.log1p(-success_rate)
    at_most, excess = 0.0, 0.0
    for successes in range(n_episodes):
        at_most = min(1.0, at_most + math.exp(log_point))
        excess += 1.0 - at_most**n_agents
        log_point += math.log(n_episodes - successes) - math.log(successes + 1) + log_odds
    return excess / n_episodes
