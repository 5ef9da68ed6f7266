"""Comparisons by task and by tag."""

from __future__ import annotations

import pytest

from hylo_core.errors import ContractError
from hylo_eval.compare.breakdown import compare_by, compare_by_task, regroup, task_of
from hylo_eval.compare.table import PairTable


def two_tasks():
    """On `pick` the candidate wins 6 of 6, on `push` it loses 6 of 6, on `open` nothing differs."""
    candidate, parent = {}, {}
    for seed in range(6):
        candidate |= {f"pick#{seed}": 1.0, f"push#{seed}": 0.0, f"open#{seed}": 1.0}
        parent |= {f"pick#{seed}": 0.0, f"push#{seed}": 1.0, f"open#{seed}": 1.0}
    return candidate, parent


def test_each_task_is_a_row_with_an_adjusted_regression_p():
    """Three tasks, one worse with p = 1/64: Holm makes it 3/64, the others 1."""
    rows = compare_by_task(*two_tasks())
    assert [(row.label, row.comparison.candidate_wins, row.comparison.parent_wins) for row in rows] == [
        ("open", 0, 0),
        ("pick", 6, 0),
        ("push", 0, 6),
    ]
    assert [row.adjusted_regression_p for row in rows] == [1.0, 1.0, 3 / 64]


def test_tags_may_overlap():
    """An instance with two tags counts in both rows."""
    tags = {"pick": ("arm", "easy"), "push": ("arm",), "open": ()}
    rows = compare_by(*two_tasks(), lambda key: tags[task_of(key)])
    assert [(row.label, row.comparison.n_pairs) for row in rows] == [("arm", 12), ("easy", 6)]


def test_reasons_and_unmatched_keys_stay_with_their_task():
    """Abstentions, reasons and keys only one side has are reported in the row they belong to."""
    rows = compare_by_task(
        {"pick#0": None, "pick#1": 1.0, "push#0": 1.0},
        {"pick#0": 1.0, "push#0": 1.0, "open#0": 0.0},
        candidate_reasons={"pick#0": "agent_error"},
    )
    by_label = {row.label: row.comparison for row in rows}
    assert by_label["pick"].candidate_abstentions == {"agent_error": 1}
    assert by_label["pick"].only_candidate == ("pick#1",)
    assert by_label["open"].only_parent == ("open#0",)


def test_regrouping_adjusts_afresh():
    """Under another reading of abstentions the rows and their adjusted p-values change together."""
    candidate = {f"pick#{seed}": None for seed in range(6)}
    parent = {f"pick#{seed}": 1.0 for seed in range(6)}
    rows = compare_by_task(candidate | {"pick#9": 1.0}, parent)
    assert rows[0].adjusted_regression_p == 1.0
    worst = regroup(rows, PairTable.worst_case)
    assert worst[0].adjusted_regression_p == 1 / 64
    assert worst[0].comparison.only_candidate == ("pick#9",)


def test_the_task_stands_before_the_last_hash():
    """A key without one is refused."""
    assert task_of("libero/pick_fixed#10") == "libero/pick_fixed"
    with pytest.raises(ContractError, match="no instance key"):
        task_of("pick")
