"""Success over versions."""

from __future__ import annotations

import pytest

from hylo_eval.compare.pairing import paired_compare
from hylo_eval.compare.trend import TrendStep, VersionResult, trend_over_versions


def steps(*successes: int, of: int = 40) -> tuple[TrendStep, ...]:
    """Versions of which each succeeds on the first so many instances; the first is the baseline."""
    scores = [{f"t#{seed}": float(seed < count) for seed in range(of)} for count in successes]
    later = [
        VersionResult(
            label=f"v{index}",
            scores=scores[index],
            parent=(f"v{index - 1}", paired_compare(scores[index], scores[index - 1])),
            baseline=("v0", paired_compare(scores[index], scores[0])),
        )
        for index in range(1, len(scores))
    ]
    return trend_over_versions([VersionResult(label="v0", scores=scores[0]), *later])


def test_a_slow_drift_shows_against_the_baseline_alone():
    """Four pairs lost at each step prove nothing (1/16); twelve in all do (1/4096, times three)."""
    found = steps(30, 26, 22, 18)
    assert [step.from_parent.comparison.reverse_p_value for step in found[1:] if step.from_parent] == [1 / 16] * 3
    assert found[3].regression_p == pytest.approx(3 / 4096)
    # Holm: 1/4096 x 3, 1/256 x 2, 1/16 x 1.
    assert [step.regression_p for step in found[1:]] == [1 / 16, 2 / 256, 3 / 4096]


def test_the_baseline_has_a_rate_and_no_change():
    """Wilson's interval beside it."""
    first, second = steps(30, 34)
    assert (first.rate, first.from_parent, first.from_baseline, first.regression_p) == (0.75, None, None, None)
    assert first.interval is not None
    assert first.interval[0] < 0.75 < first.interval[1]
    assert second.from_baseline is not None
    assert second.from_baseline.difference == pytest.approx(0.1)
    assert second.from_baseline.interval.low < 0.1 < second.from_baseline.interval.high
    assert second.regression_p == 1.0


def test_a_version_that_was_never_scored_has_no_rate():
    """And no interval."""
    [step] = trend_over_versions([VersionResult(label="v", scores={"t#0": None})])
    assert (step.rate, step.interval, step.n_scored) == (None, None, 0)
