"""When a worker is replaced, and which GPU it gets."""

from __future__ import annotations

import pytest

from hylo_eval import EvalError
from hylo_eval.evaluation.workers.limits import WorkerLimits, device_environment


def test_a_worker_is_replaced_after_its_episodes() -> None:
    """At the number, not before it."""
    limits = WorkerLimits(recycle_after=3)
    assert [limits.exceeded(episodes, None) for episodes in (1, 2, 3)] == [False, False, True]


def test_a_worker_is_replaced_when_it_holds_more_than_is_allowed() -> None:
    """Measured in MiB; where the system does not say how much it holds, that decides nothing."""
    limits = WorkerLimits(max_rss_mb=100)
    assert not limits.exceeded(1000, 100 << 20)
    assert limits.exceeded(1, (100 << 20) + 1)
    assert not limits.exceeded(1, None)
    assert not WorkerLimits().exceeded(10**6, 1 << 40)


@pytest.mark.parametrize("name", ["recycle_after", "max_rss_mb"])
def test_a_limit_is_at_least_one(name: str) -> None:
    """The error names the option."""
    with pytest.raises(EvalError, match=f"--{name.replace('_', '-')} must be at least 1, not 0"):
        WorkerLimits(**{name: 0})


def test_devices_are_handed_out_in_turn() -> None:
    """Both variables name the same GPU; without devices none is set."""
    given = [device_environment(("0", "GPU-7f"), index) for index in range(3)]
    assert [item["CUDA_VISIBLE_DEVICES"] for item in given] == ["0", "GPU-7f", "0"]
    assert all(item["MUJOCO_EGL_DEVICE_ID"] == item["CUDA_VISIBLE_DEVICES"] for item in given)
    assert device_environment((), 0) == {}
