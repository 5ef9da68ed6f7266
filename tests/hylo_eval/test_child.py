"""A child process ends at its deadline, whatever it does."""

import os
import sys
import time
from pathlib import Path

import pytest

from hylo_eval.child import MAX_OUTPUT_BYTES, ChildOutcome, run_child


def python(code: str, deadline_seconds: float = 30.0) -> ChildOutcome:
    return run_child([sys.executable, "-c", code], deadline_seconds=deadline_seconds, environment=os.environ)


def test_output_and_code_come_back():
    """Both streams and the exit code, apart."""
    outcome = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (outcome.stdout, outcome.stderr, outcome.returncode) == ("out\n", "err\n", 3)
    assert outcome.reason == "err"


def test_a_child_that_hangs_is_killed_with_its_children():
    """A grandchild that holds the streams does not keep us waiting."""
    sleep = "import time; time.sleep(600)"
    hang = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {sleep!r}])"
    outcome = python(hang, deadline_seconds=0.5)
    assert outcome.returncode is None
    assert outcome.seconds < 60
    assert "no answer within" in outcome.reason


def test_a_crash_is_named_by_its_signal():
    """A driver that crashes kills the child and not the doctor."""
    assert (
        python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)").reason == "the process was killed by SIGSEGV"
    )


def test_a_command_that_is_not_there_is_an_outcome():
    """Not an exception."""
    outcome = run_child(["/no/such/command"], deadline_seconds=1, environment={})
    assert outcome.returncode is None
    assert outcome.reason == "cannot start: No such file or directory"


def test_endless_output_is_bounded_to_its_end():
    """The end is kept: errors stand there."""
    outcome = python(f"print('x' * {4 * MAX_OUTPUT_BYTES}); print('last')")
    assert len(outcome.stdout) == MAX_OUTPUT_BYTES
    assert outcome.stdout.endswith("x\nlast\n")


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("Traceback …\nValueError: wrong\n", "ValueError: wrong"),
        ("ValueError: wrong\nException ignored in: <function X.__del__>\nAttributeError: _x\n", "ValueError: wrong"),
        ("", "the process ended with code 1"),
    ],
)
def test_the_reason_is_the_error_and_not_the_noise_after_it(stderr, reason):
    """What Python says while it cleans up is no reason."""
    assert ChildOutcome(returncode=1, stdout="", stderr=stderr, seconds=0.1).reason == reason


def test_what_a_child_leaves_behind_ends_with_it():
    """Also when it ends in time and well."""
    leave = "import subprocess; print(subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL).pid)"
    outcome = python(leave)
    assert outcome.returncode == 0
    left = Path("/proc", outcome.stdout.strip(), "stat")
    until = time.monotonic() + 30
    # Whoever adopts it reaps it in its own time.
    while left.exists() and b") Z " not in left.read_bytes():
        assert time.monotonic() < until
