"""``hylo-eval view``: it serves until a signal, whoever started it."""

import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.runs import unit, write_run

# A script's shell starts what ends in & with SIGINT ignored.
SCRIPT = "trap '' INT; exec {python} -m hylo_eval view run --run-root {root}"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_also_where_it_was_started_with_sigint_ignored(tmp_path, number):
    """With exit code 0, and in words."""
    write_run(tmp_path, "run", bench=unit(1))
    command = ["bash", "-c", SCRIPT.format(python=sys.executable, root=tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            assert "SIGTERM ends it" in process.stdout.readline()
            with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - our own server
                assert answer.status == 200
            process.send_signal(number)
            rest, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    assert rest == f"ended by {signal.Signals(number).name}\n"
