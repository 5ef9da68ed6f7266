"""Drawing ten thousand tasks costs no more than a hundred times importing numpy."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

LIMIT = 100.0
"""CPU of drawing 10,000 TaskSpecs with their digests over CPU of importing numpy, both in cold processes."""

DRAW = """
from hylo_eval.envs.robocasa.provider import RoboCasaProvider
assert len({task.digest() for task in RoboCasaProvider().tasks("pretrain", 10_000, 7)}) == 10_000
"""


def cpu_seconds(code: str) -> float:
    """User and system time of one process, beyond that of an empty one."""
    return _cpu_seconds(code) - _cpu_seconds("pass")


def _cpu_seconds(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_ten_thousand_tasks_cost_at_most_a_hundred_imports_of_numpy() -> None:
    """The least of three imports, against one drawing: a busy machine makes the test stricter, not laxer."""
    imports = min(cpu_seconds("import numpy") for _ in range(3))
    assert cpu_seconds(DRAW) <= LIMIT * imports
