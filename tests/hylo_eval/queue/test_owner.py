"""Whose process still lives, told from real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from hylo_eval.queue import Machine, Owner
from hylo_eval.queue import owner as owner_module

OWNER_OF_A_CHILD = """
import sys
from hylo_eval.queue import Owner
import attrs, json
print(json.dumps(attrs.asdict(Owner.here())), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def child() -> Iterator[tuple[subprocess.Popen[str], Owner]]:
    """A process that waits for the end of its input, and who it says it is."""
    import json

    process = subprocess.Popen(
        [sys.executable, "-c", OWNER_OF_A_CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    yield process, Owner(**json.loads(process.stdout.readline()))
    process.stdin.close()
    process.stdout.close()
    process.wait()


def test_every_call_is_another_owner():
    """Two owners in one process differ in their ids and in nothing else."""
    first, second = Owner.here(), Owner.here()
    assert first.id != second.id
    assert attrs.evolve(first, id=second.id) == second
    assert (first.pid, first.host) == (os.getpid(), os.uname().nodename)


def test_a_living_process_is_not_dead(child: tuple[subprocess.Popen[str], Owner]):
    """Neither this one nor another, stopped or not."""
    process, owner = child
    machine = Machine()
    assert not machine.is_dead(Owner.here())
    process.send_signal(signal.SIGSTOP)
    assert not machine.is_dead(owner)
    process.send_signal(signal.SIGCONT)
    assert not machine.is_dead(owner)


def test_a_killed_process_is_dead_before_and_after_its_parent_reaps_it(child: tuple[subprocess.Popen[str], Owner]):
    """A zombie has a process id still, and does no work."""
    process, owner = child
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert Machine().is_dead(owner)
    process.wait()
    assert Machine().is_dead(owner)


def test_a_process_id_given_again_is_another_process(child: tuple[subprocess.Popen[str], Owner]):
    """The same number with another start is not the owner."""
    _, owner = child
    assert Machine().is_dead(attrs.evolve(owner, started=owner.started - 1))


def test_the_same_machine_after_a_restart_has_no_living_owners():
    """Whatever process has the number now."""
    assert Machine().is_dead(attrs.evolve(Owner.here(), boot_id="an-earlier-one"))


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"host": "another-machine", "boot_id": "another-boot"},
        {"host": "a-container"},
        {"pid_namespace": "pid:[1]"},
    ],
)
def test_nothing_is_known_of_other_machines_and_containers(elsewhere: dict[str, str]):
    """A process id that means nothing here proves no death, not even one that is surely free here."""
    assert not Machine().is_dead(attrs.evolve(Owner.here(), pid=2**22 + 1, **elsewhere))


def test_off_linux_a_process_is_asked_for_by_a_signal(
    child: tuple[subprocess.Popen[str], Owner], monkeypatch: pytest.MonkeyPatch
):
    """And the clock is the monotonic one."""
    process, owner = child
    monkeypatch.setattr(owner_module.sys, "platform", "darwin")
    assert not Machine().is_dead(owner)
    process.kill()
    process.wait()
    assert Machine().is_dead(owner)
    before = time.monotonic()
    assert before <= Machine().seconds() <= time.monotonic()


def test_the_clock_counts_from_the_start_of_the_machine():
    """CLOCK_BOOTTIME: what /proc/uptime shows, to a hundredth of a second."""
    before = Machine().seconds()
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    assert before - 0.02 <= uptime <= Machine().seconds() + 0.02
