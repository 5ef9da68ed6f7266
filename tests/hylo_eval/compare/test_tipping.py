"""How many abstentions would change the verdict."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.compare.mcnemar import exact_mcnemar
from hylo_eval.compare.pairing import paired_compare
from hylo_eval.compare.table import PairTable
from hylo_eval.compare.tipping import TippingPoint, tipping_of_groups, tipping_point


def better(table: PairTable) -> bool:
    """Whether the candidate is significantly better."""
    return exact_mcnemar(table.candidate_wins, table.parent_wins).p_value <= 0.05


def test_a_worked_example():
    """8:0 survives one loss (10/512) and not two (56/1024): it holds up to 1 of 3."""
    candidate = {f"t#{i}": 1.0 for i in range(8)} | dict.fromkeys(["x#0", "x#1", "x#2"])
    parent = {f"t#{i}": 0.0 for i in range(8)} | dict.fromkeys(["x#0", "x#1", "x#2"], 1.0)
    point = tipping_point(paired_compare(candidate, parent).table, better)
    assert (point.holds_up_to, point.abstained, point.holds_always) == (1, 3, False)
    assert point.words() == "the verdict holds if up to 1 of the 3 abstained pairs went against the candidate"


def test_abstentions_that_can_only_tie_never_tip_the_test():
    """Where the parent failed too, the candidate's failure is a tie."""
    candidate = {f"t#{i}": 1.0 for i in range(5)} | dict.fromkeys(["x#0", "x#1"])
    parent = {f"t#{i}": 0.0 for i in range(7)} | dict.fromkeys(["x#0", "x#1"], 0.0)
    assert tipping_point(paired_compare(candidate, parent).table, better).holds_always


def test_a_verdict_that_does_not_hold_has_no_tipping_point():
    """Nothing to lose: None, and the sentence says so."""
    point = tipping_point(PairTable(candidate_wins=4), better)
    assert (point.holds_up_to, point.holds_always) == (None, False)
    assert point.words() == "the verdict does not hold as scored"


def test_groups_tip_by_the_weakest_of_them():
    """A group that holds whatever happens does not count; without abstentions there is nothing to say."""
    strong = paired_compare(
        {f"a#{i}": 1.0 for i in range(9)} | {"x#0": None}, {f"a#{i}": 0.0 for i in range(9)} | {"x#0": 1.0}
    ).table
    weak = paired_compare(
        {f"a#{i}": 1.0 for i in range(5)} | {"x#0": None}, {f"a#{i}": 0.0 for i in range(5)} | {"x#0": 1.0}
    ).table
    assert tipping_of_groups({"strong": strong, "weak": weak}, better) == TippingPoint(
        holds_up_to=0, abstained=1, group="weak"
    )
    assert tipping_of_groups({"strong": strong, "also": strong}, better) == TippingPoint(holds_up_to=2, abstained=2)
    assert tipping_of_groups({"none": PairTable(candidate_wins=9)}, better) is None


def test_a_group_may_be_lost_and_found_again():
    """Only the first loss counts: up to so many."""
    table = paired_compare(dict.fromkeys(["x#0", "x#1", "x#2"]), {"x#0": 1.0, "x#1": 1.0, "x#2": 0.0}).table
    point = tipping_of_groups({"g": table}, lambda turned: turned.parent_wins != 1 and turned.n_pairs != 4)
    assert point == TippingPoint(holds_up_to=0, abstained=3, group="g")


cells = st.sampled_from([(None, 1.0), (None, 0.0), (1.0, None), (0.0, None), (None, None)])


@given(st.integers(5, 10), st.lists(cells, max_size=6))
@settings(deadline=None)
def test_no_choice_of_that_many_abstentions_overturns_it(wins, abstained):
    """Every subset of `holds_up_to` abstentions leaves the verdict; some subset of one more does not."""
    won = {f"t#{i}": (1.0, 0.0) for i in range(wins)}
    out = {f"x#{i}": cell for i, cell in enumerate(abstained)}

    def table(run):
        return paired_compare({k: v[0] for k, v in run.items()}, {k: v[1] for k, v in run.items()}).table

    def holds(subset):
        turned = {
            key: (0.0 if ours is None else ours, 1.0 if theirs is None else theirs)
            for key, (ours, theirs) in out.items()
            if key in subset
        }
        return better(table(won | turned))

    limit = tipping_point(table(won | out), better).holds_up_to
    assert all(holds(subset) for subset in itertools.combinations(out, limit))
    if limit < len(out):
        assert not all(holds(subset) for subset in itertools.combinations(out, limit + 1))
