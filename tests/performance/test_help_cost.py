"""``hylo-eval --help`` costs little: nothing heavy is imported on the way to it."""

import os
import resource
import statistics
import subprocess
import sys

import pytest

PAIRS = 15
LIMIT = 6.0
"""CPU of the help over CPU of ``python -c pass``, both cold processes."""


def cpu_seconds(*arguments: str) -> float:
    """User and system time of one run of this Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_help_costs_at_most_six_times_an_empty_python():
    """The median over pairs run in turns, so that a busy machine slows both sides alike."""
    help_command = ("-c", "from hylo_eval.cli import main; main()", "--help")
    cpu_seconds(*help_command)
    ratios = [cpu_seconds(*help_command) / cpu_seconds("-c", "pass") for _ in range(PAIRS)]
    assert statistics.median(ratios) <= LIMIT, sorted(ratios)


def test_help_imports_nothing_heavy():
    """Neither numpy nor rich nor attrs nor a simulator, whatever the machine's speed."""
    code = "import sys; from hylo_eval.cli.group import cli; cli.main(['--help'], standalone_mode=False); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"numpy", "scipy", "rich", "attrs", "cattrs", "gymnasium", "mujoco", "importlib.metadata", "orjson"}
    assert not heavy & set(done.stderr.split())
