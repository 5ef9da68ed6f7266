"""Interpreters that pretend to be workers: small scripts that speak a worker's language and end as a test says."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from hylo_eval.evaluation.workers.supervisor import WorkerProcess
from tests.hylo_eval.evaluation.setups import setup

_PREAMBLE = """
    import json, os, signal, sys, time
    events = int(os.environ["HYLO_WORKER_EVENTS"])
    setup = json.loads(SETUP)

    def send(**event):
        os.write(events, json.dumps(event).encode() + b"\\n")

    def commands():
        for line in sys.stdin.buffer:
            yield json.loads(line)

    def outcome(command, **changes):
        send(type="outcome", attempt=command["attempt"], number=command["number"], resident_bytes=1, outcome={
            "status": "completed", "trace": "", "trace_sha256": "", "behaviour_sha256": "", "trace_bytes": 0,
            "steps": 1, "success": True, "started_at": 0.0, "seconds": 0.1, **changes})

    def ready(command, agent=setup["agent"], sources=("", "")):
        send(type="ready", agent=agent, setup=setup, differences=[], sources=sources)
"""

EPISODES = """
for command in commands():
    if command["type"] == "setup":
        ready(command)
    elif command["type"] == "episode":
        """
"""The beginning of a worker that is ready; what it does with an episode follows."""


def interpreter(folder: Path, body: str) -> str:
    """A script in place of Python."""
    path = folder / "python"
    preamble = textwrap.dedent(_PREAMBLE).replace("SETUP", repr(orjson.dumps(setup().to_dict()).decode()))
    path.write_text(f"#!{sys.executable} -S\n{preamble}\n{textwrap.dedent(body)}\n")
    path.chmod(0o755)
    return str(path)


@contextmanager
def started(folder: Path, body: str, **environment: str) -> Iterator[WorkerProcess]:
    """A pretended worker, ended at the end."""
    process = WorkerProcess(python=interpreter(folder, body), environment=environment, name="worker-0")
    try:
        yield process
    finally:
        process.close()


def events_of(process: WorkerProcess) -> list[dict[str, Any]]:
    """All events up to their end."""
    found: list[dict[str, Any]] = []
    while True:
        try:
            found.extend(process.receive())
        except EOFError:
            return found
        process.ended(0.01)
