"""Metrics beside the gate."""

from __future__ import annotations

from pathlib import Path

from hylo_eval.compare.beside import metrics_beside
from hylo_eval.compare.comparability import pair_evidence
from hylo_eval.evaluation.comparing.evidence import read_evidence
from hylo_eval.traces.finding import find_run
from tests.runs import keys, unit, write_run


def test_what_both_runs_have_is_shown(tmp_path: Path) -> None:
    """Six of twelve episodes succeed after 2 steps in place of never: the restricted mean falls by 6 * 8 / 12."""
    write_run(tmp_path, "a", keys(*range(6)), bench=unit(12))
    write_run(tmp_path, "b", bench=unit(12))
    evidence = pair_evidence(*(read_evidence(find_run(name, tmp_path)) for name in "ab"))
    found = {item.metric.name: item for item in metrics_beside(evidence, alpha=0.05)}
    assert {"time_to_success", "reward_sum", "safety_interventions", "latency_p95"} <= set(found)
    times = found["time_to_success"]
    assert times.mean_difference == -4.0
    assert times.comparison.p_value == 1 / 64, "six changes, all for the better"
    # Half a point of reward a step, and the episodes that succeed are 8 steps shorter.
    assert found["reward_sum"].mean_difference == -2.0
    assert found["reward_sum"].comparison.reverse_p_value == 1 / 64


def test_without_traces_only_what_was_logged_is_shown(tmp_path: Path) -> None:
    """Nothing is made up."""
    for name in ("a", "b"):
        write_run(tmp_path, name, bench=unit(3))
    evidence = pair_evidence(*(read_evidence(find_run(name, tmp_path), traces=False) for name in "ab"))
    assert [item.metric.name for item in metrics_beside(evidence, alpha=0.05)] == [
        "safety_interventions",
        "latency_p95",
    ]
