"""Signals that ask for a stop."""

from __future__ import annotations

import os
import signal

import pytest

from hylo_eval.evaluation.stopping import StopRequest

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_asks_and_the_second_raises(number: signal.Signals) -> None:
    """Said once; afterwards signals do what they did before."""
    before = [signal.getsignal(item) for item in SIGNALS]
    said: list[str] = []
    with StopRequest(lambda: said.append("stopping")) as stop:
        assert not stop()
        os.kill(os.getpid(), number)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert said == ["stopping"]
    assert [signal.getsignal(item) for item in SIGNALS] == before


def test_a_worker_is_asked_any_number_of_times() -> None:
    """Whoever cannot wait ends it from outside."""
    with StopRequest(insist=False) as stop:
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGTERM)
        assert stop()
