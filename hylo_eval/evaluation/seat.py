"""The places that worker processes sit at."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from hylo_eval.evaluation.supervisor import WorkerProcess
from hylo_eval.queue import Lease


@attrs.define
class Seat:
    """A place for one worker: the process that sits there now, and what it does.

    Attributes:
        name: For logs and messages.
        environment: Variables of its processes, such as the GPU.
        process: Who sits there; None where nobody does.
        ready: Whether that process has made its agent.
        leaving: Whether it was told to end, or ends by itself.
        lease: What it works on, or is to begin with.
        leased_at: Since when, in seconds since 1970.
        task: The task whose env is open.
        episodes: How many it has run.
        failed_starts: Processes in a row that died here before they were ready.
    """

    name: str
    environment: Mapping[str, str]
    process: WorkerProcess | None = None
    ready: bool = False
    leaving: bool = False
    lease: Lease | None = None
    leased_at: float = 0.0
    task: str | None = None
    episodes: int = 0
    failed_starts: int = 0
