"""Shared by all tests: which of them run where."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from hylo_eval.interpreters.registry import VARIABLE

# A busy machine is no reason to fail: no test asserts how long an example takes.
settings.register_profile("hylo", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hylo")

# A shell starts what runs in the background with SIGINT ignored, and every child would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def no_interpreters_of_the_person() -> Iterator[None]:
    """Nothing depends on what somebody has registered on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "")
        yield
