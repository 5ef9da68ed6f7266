"""The table of paired outcomes and its scenarios."""

from __future__ import annotations

import pytest

from hylo_core.errors import ContractError
from hylo_eval.compare.pairing import paired_compare
from hylo_eval.compare.table import FAILED, SUCCEEDED, AbstainedPairs, PairTable, SideOutcome, merged

CELLS = {
    "t#0": (None, 1.0),
    "t#1": (None, 0.0),
    "t#2": (1.0, None),
    "t#3": (0.0, None),
    "t#4": (None, None),
}


def table_of(keys, reasons=None):
    """The table of some of the cells above."""
    return paired_compare(
        {key: CELLS[key][0] for key in keys}, {key: CELLS[key][1] for key in keys}, candidate_reasons=reasons
    ).table


@pytest.mark.parametrize(
    ("key", "cell"),
    [
        ("t#0", "parent_wins"),
        ("t#1", "both_failed"),
        ("t#2", "both_succeeded"),
        ("t#3", "parent_wins"),
        ("t#4", "parent_wins"),
    ],
)
def test_the_worst_case_fails_the_candidate_and_passes_the_parent(key, cell):
    """Each kind of abstained pair lands where it hurts the candidate most."""
    assert table_of([key]).worst_case() == PairTable(**{cell: 1})


@pytest.mark.parametrize(
    ("key", "cell"),
    [("t#0", "both_succeeded"), ("t#1", "candidate_wins"), ("t#2", "candidate_wins"), ("t#3", "both_failed")],
)
def test_the_best_case_is_its_mirror_image(key, cell):
    """Each kind of abstained pair lands where it helps the candidate most."""
    assert table_of([key]).best_case() == PairTable(**{cell: 1})


def test_agent_errors_fail_on_the_candidates_side_only():
    """A candidate's agent error becomes a failure; infra abstentions and the parent's errors stay out."""
    result = paired_compare(
        {"t#0": None, "t#1": None, "t#2": 1.0, "t#3": None},
        {"t#0": 1.0, "t#1": 1.0, "t#2": None, "t#3": None},
        candidate_reasons={"t#0": "agent_error", "t#1": "infra", "t#3": "agent_error"},
        parent_reasons={"t#2": "agent_error", "t#3": "infra"},
    )
    counted = result.table.with_candidate_failures()
    assert (counted.parent_wins, counted.candidate_wins, counted.n_abstained) == (1, 0, 3)
    assert counted.abstentions("candidate") == {"infra": 1}
    assert counted.abstentions("parent") == {"agent_error": 1, "infra": 1}


def test_scenarios_keep_every_pair():
    """No scenario adds or loses a shared key."""
    table = table_of(list(CELLS), {"t#0": "agent_error"})
    for scenario in (
        table.worst_case(),
        table.best_case(),
        table.with_candidate_failures(),
        table.mirrored(),
    ):
        assert scenario.n_shared == table.n_shared == 5


def test_merging_tables_adds_their_cells():
    """The table of all keys is the merger of the tables of the single keys."""
    singles = [table_of([key]) for key in CELLS]
    assert merged(singles) == table_of(list(CELLS))
    assert merged([PairTable(candidate_wins=2), PairTable(candidate_wins=1, both_failed=4)]) == PairTable(
        candidate_wins=3, both_failed=4
    )
    assert merged([]) == PairTable()


def test_the_order_of_cells_is_irrelevant():
    """Two tables with the same abstained cells in another order are equal."""
    one = AbstainedPairs(candidate=SideOutcome(reason="infra"), parent=SUCCEEDED, count=2)
    other = AbstainedPairs(candidate=FAILED, parent=SideOutcome(reason="infra"), count=1)
    assert PairTable(abstained=(one, other)) == PairTable(abstained=(other, one))


def test_impossible_tables_are_refused():
    """Negative counts and abstained cells without an abstention name themselves."""
    with pytest.raises(ContractError, match="both_failed: must be a whole number of at least 0"):
        PairTable(both_failed=-1)
    with pytest.raises(ContractError, match="neither side abstained"):
        PairTable(abstained=(AbstainedPairs(candidate=FAILED, parent=SUCCEEDED, count=1),))
