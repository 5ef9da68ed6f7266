"""The anytime-valid test: its formula, its recurrence, its error and its refusal to look out of order."""

from __future__ import annotations

import heapq
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.power import critical_wins_table
from hylo_eval.compare.sequential import log_e_value, longest_finished_prefix, sequential_test

WIN, LOSS, TIE, ABSTAINED = (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (None, 1.0)


def exact_e_value(wins: int, losses: int) -> Fraction:
    """The integral of 2 (2p)**b (2(1-p))**c from 1/2 to 1: expand (1-p)**c, integrate term by term."""
    total = Fraction(0)
    for k in range(losses + 1):
        power = wins + k + 1
        total += Fraction((-1) ** k * math.comb(losses, k), power) * (1 - Fraction(1, 2**power))
    return 2 ** (wins + losses + 1) * total


@pytest.mark.parametrize(
    ("wins", "losses"),
    [(0, 0), (1, 0), (0, 1), (5, 0), (5, 3), (3, 5), (20, 10), (10, 20), (60, 40), (300, 220)],
)
def test_the_e_value_is_the_mixture_integral(wins, losses):
    """The closed form equals the integral of the likelihood ratio over win rates above 1/2."""
    exact = exact_e_value(wins, losses)
    logarithm = math.log(exact.numerator) - math.log(exact.denominator)
    assert log_e_value(wins, losses) == pytest.approx(logarithm, rel=1e-11, abs=1e-11)


def test_the_first_win_is_worth_one_and_a_half():
    """E(1, 0) = 2 * integral of 2p = 3/2, so p = 2/3."""
    look = sequential_test([WIN], n_declared=100)
    assert look.p_value == pytest.approx(2 / 3)
    assert (look.state, look.decided_at) == ("undecided", None)


@given(st.integers(0, 400), st.integers(0, 400))
@settings(deadline=None)
def test_the_e_value_has_mean_one_under_a_fair_coin(wins, losses):
    """(E after a win + E after a loss) / 2 is E: what makes peeking harmless."""
    here = log_e_value(wins, losses)
    after = (math.exp(log_e_value(wins + 1, losses) - here) + math.exp(log_e_value(wins, losses + 1) - here)) / 2
    assert after == pytest.approx(1.0, rel=1e-9)


@given(st.lists(st.sampled_from([WIN, LOSS, TIE, ABSTAINED]), max_size=400))
@settings(deadline=None)
def test_p_is_one_over_the_largest_e_of_the_prefix(pairs):
    """The recurrence finds the maximum that evaluating every prefix by the closed form finds."""
    largest, wins, losses = 0.0, 0, 0
    for pair in pairs:
        wins, losses = wins + (pair == WIN), losses + (pair == LOSS)
        largest = max(largest, log_e_value(wins, losses))
    look = sequential_test(pairs, n_declared=len(pairs))
    assert look.log10_p == pytest.approx(-largest / math.log(10), rel=1e-10, abs=1e-12)
    assert (look.candidate_wins, look.parent_wins) == (wins, losses)


@pytest.mark.parametrize("losses_first", [0, 3000])
def test_long_runs_neither_overflow_nor_lose_digits(losses_first):
    """Thousands of pairs in a row, after a losing streak as well, agree with the closed form."""
    wins = losses_first + 4000
    look = sequential_test([LOSS] * losses_first + [WIN] * wins, n_declared=wins + losses_first)
    assert look.log10_p == pytest.approx(-log_e_value(wins, losses_first) / math.log(10), rel=1e-10)


@given(st.lists(st.sampled_from([WIN, LOSS, TIE, ABSTAINED]), max_size=60))
@settings(deadline=None)
def test_swapping_the_sides_mirrors_the_look(pairs):
    """Candidate and parent exchanged: the two p-values change places."""
    look = sequential_test(pairs, n_declared=60)
    mirror = sequential_test([(theirs, ours) for ours, theirs in pairs], n_declared=60)
    assert (look.p_value, look.reverse_p_value) == (mirror.reverse_p_value, mirror.p_value)


@given(st.lists(st.sampled_from([WIN, LOSS, TIE]), max_size=80))
@settings(deadline=None)
def test_a_state_once_reached_stays(pairs):
    """Looking again later never takes a decision back and never moves the place where it fell."""
    decided = None
    for looked in range(len(pairs) + 1):
        look = sequential_test(pairs[:looked], n_declared=80, alpha=0.2)
        if decided in ("candidate better", "parent better"):
            assert look.state == decided
        if look.decided_at is not None and look.state != "futile":
            assert sequential_test(pairs[: look.decided_at], n_declared=80, alpha=0.2).state == look.state
        decided = look.state


def test_futility_is_certain():
    """Futile is said exactly when winning every pair left would not reach the level."""
    assert sequential_test([], n_declared=7).state == "undecided"  # E(7, 0) = 31.9
    assert sequential_test([], n_declared=6).state == "futile"  # E(6, 0) = 18.1 < 20
    look = sequential_test([TIE] * 4, n_declared=10)
    assert (look.state, look.decided_at) == ("futile", 4)
    assert sequential_test([TIE] * 3 + [WIN] * 7, n_declared=10).state == "candidate better"


def test_the_shortest_win_takes_seven_pairs():
    """2**(n+1) (1 - 2**-(n+1)) / (n+1) first reaches 20 at n = 7: a straight run is decided there."""
    look = sequential_test([WIN] * 12, n_declared=100)
    assert (look.state, look.decided_at) == ("candidate better", 7)
    assert sequential_test([LOSS] * 12, n_declared=100).state == "parent better"


def test_looking_after_every_pair_keeps_its_error_where_the_naive_test_does_not():
    """Under equality the e-process errs in under 5 % of runs, the fixed test in over 15 %."""
    generator, runs, pairs = random.Random(20), 800, 300
    critical = critical_wins_table(pairs, 0.05)
    sequential = naive = 0
    for _ in range(runs):
        run = [(float(generator.random() < 0.5), float(generator.random() < 0.5)) for _ in range(pairs)]
        sequential += sequential_test(run, n_declared=pairs).state == "candidate better"
        wins = tosses = 0
        for ours, theirs in run:
            wins, tosses = wins + (ours > theirs), tosses + (ours != theirs)
            if wins >= critical[tosses]:
                naive += 1
                break
    assert sequential / runs < 0.05
    assert naive / runs > 0.15


def simulated_run(generator: random.Random, pairs: int, workers: int, *, early: float):
    """Equal agents on so many workers; a pair in which the candidate scores `early` ends ten times as soon."""
    order = [f"t#{i}" for i in range(pairs)]
    outcomes = {key: (float(generator.random() < 0.5), float(generator.random() < 0.5)) for key in order}
    free = [0.0] * workers
    finished = []
    for key in order:
        end = heapq.heappop(free) + (1.0 if outcomes[key][0] == early else 10.0)
        heapq.heappush(free, end)
        finished.append((end, key))
    return order, outcomes, [key for _, key in sorted(finished)]


@pytest.mark.parametrize(("early", "wrong"), [(1.0, "candidate better"), (0.0, "parent better")])
def test_the_declared_order_keeps_its_error_where_the_order_of_completion_does_not(early, wrong):
    """With 16 workers and durations that depend on the outcome only the finished prefix is safe to look at.

    Successes that end early make the candidate look better, failures that end early make it look worse.
    """
    generator, runs, pairs = random.Random(21), 300, 160
    by_prefix = by_completion = 0
    for _ in range(runs):
        order, outcomes, completed = simulated_run(generator, pairs, workers=16, early=early)
        looks = []
        for seen in range(20, pairs + 1, 20):
            candidate = {key: outcomes[key][0] for key in completed[:seen]}
            parent = {key: outcomes[key][1] for key in completed[:seen]}
            prefix = longest_finished_prefix(order, candidate, parent)
            looks.append(sequential_test(prefix, n_declared=pairs).state)
        by_prefix += wrong in looks
        out_of_order = [outcomes[key] for key in completed]
        by_completion += sequential_test(out_of_order, n_declared=pairs).state == wrong
    assert by_prefix / runs < 0.05
    assert by_completion / runs > 0.2


def test_the_prefix_ends_at_the_first_unfinished_pair():
    """A pair counts as finished when both sides are, abstained or not; later ones must wait."""
    order = ["t#2", "t#0", "t#1", "t#3"]
    candidate = {"t#0": None, "t#2": 1.0, "t#1": 1.0, "t#3": 0.0}
    parent = {"t#0": 1.0, "t#2": 0.0, "t#3": 0.0}
    assert longest_finished_prefix(order, candidate, parent) == ((1.0, 0.0), (None, 1.0))


def test_misuse_is_refused():
    """Repeated keys, graded scores and more pairs than declared are refused by name."""
    with pytest.raises(ContractError, match="order: names an instance twice"):
        longest_finished_prefix(["t#0", "t#0"], {}, {})
    with pytest.raises(ContractError, match=r"pairs\[1\]\.parent: must be 0, 1 or None, got 0.5"):
        sequential_test([WIN, (1.0, 0.5)], n_declared=2)
    with pytest.raises(ContractError, match="n_declared: must be a whole number of at least 2"):
        sequential_test([WIN, WIN], n_declared=1)
    with pytest.raises(ContractError, match="alpha"):
        sequential_test([WIN], n_declared=1, alpha=0.5)
