"""Shared by all tests: which of them run where."""

from collections.abc import Iterator

import pytest

from hylo_eval.interpreters.registry import VARIABLE


@pytest.fixture(scope="session", autouse=True)
def no_interpreters_of_the_person() -> Iterator[None]:
    """Nothing depends on what somebody has registered on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "")
        yield
