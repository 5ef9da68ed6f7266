"""A machine whose clocks and processes the test moves, and values to fill a queue with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from hylo_eval.queue import Item, Machine, Outcome, Owner

CONFIG: dict[str, Any] = {"benchmark": {"id": "reach"}, "hylo": {"version": "1", "source_digest": "a"}}
LEASE_SECONDS = 60.0
DIGEST = f"sha256:{1:064x}"


@attrs.define(slots=False)
class FakeMachine(Machine):
    """Time stands still unless the test moves it; a process lives unless the test ended it."""

    name: str = "robot-lab"
    boot: str = "boot-1"
    now: float = 1000.0
    wall: float = 1.7e9
    ended: set[str] = attrs.field(factory=set)

    @property
    def host(self) -> str:
        return self.name

    @property
    def boot_id(self) -> str:
        return self.boot

    @property
    def pid_namespace(self) -> str:
        return "pid:[1]"

    def seconds(self) -> float:
        return self.now

    def wall_seconds(self) -> float:
        return self.wall

    def has_ended(self, owner: Owner) -> bool:
        return owner.id in self.ended

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.wall += seconds

    def owner(self, name: str) -> Owner:
        """A process of this machine."""
        return Owner(id=name, host=self.name, pid=100, boot_id=self.boot, started=1, pid_namespace="pid:[1]")


def items(tasks: int, episodes: int) -> Iterator[Item]:
    """Episodes of all tasks in turns, as a run declares them."""
    for position in range(tasks * episodes):
        task = f"task-{position % tasks}"
        yield Item(key=f"{task}#{position // tasks}", task=task, position=position)


def outcome(status: str = "completed", **changes: Any) -> Outcome:
    """What an episode came to."""
    plain: dict[str, Any] = {
        "status": status,
        "trace": "episodes/a.1.jsonl",
        "trace_sha256": DIGEST,
        "behaviour_sha256": DIGEST,
        "trace_bytes": 10,
        "steps": 3,
        "success": True,
        "started_at": 1.7e9,
        "seconds": 1.5,
    }
    return Outcome(**{**plain, **changes})
