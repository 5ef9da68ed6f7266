"""Runs with texts that would be markup if anything took them for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from hylo_eval import evaluate
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.response import ResponseEnv
from hylo_eval.report.run_record import read_run
from hylo_eval.report.run_summary import RunSummary, summarise_run
from hylo_eval.traces.layout import RunFolder
from tests.episodes import FunctionAgent, ScriptedEnv, benchmark, task

SCRIPT = "<script>document.title='owned'</script>"
HANDLER = '"><img src=x onerror="document.title=\'owned\'">'
TURNED = "\x1b[31mred\u202e around"
LINK = "javascript:document.title='owned'"
CLOSING = "</title></style></script><b>bold</b>{{ 7*7 }}"


class HostileEnv(ScriptedEnv):
    """Says what nobody should say."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed == 2:
            raise RuntimeError(f"{SCRIPT} {HANDLER} {CLOSING}")
        observation, info = super().reset(seed=seed, options=options)
        self.success_at = (2,) if seed == 1 else ()
        return {SCRIPT: np.zeros(2), **observation}, {**info, "instruction": f"{SCRIPT} {HANDLER}"}

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, *rest = super().step(action)
        return {SCRIPT: np.ones(2), **observation}, *rest


def write_hostile_run(root: Path, run_id: str, push: float = 2.0) -> RunFolder:
    """A run of three episodes: a failure, a success and one whose environment breaks; every action is clipped."""
    spec = task(f"unit/{CLOSING}", instruction=f"{SCRIPT} {HANDLER}", tags=(SCRIPT, LINK))
    result = evaluate(
        benchmark(spec, seeds=(0, 1, 2)),
        "heldout",
        env_factory=lambda _: HostileEnv(),
        agent=FunctionAgent(lambda observation, replies: np.full(2, push)),
        run_root=root,
        run_id=run_id,
        manifest={"name": SCRIPT, "version": f"{HANDLER} {TURNED}", "components": {LINK: CLOSING}},
        max_attempts=1,
    )
    return result.run


def summary_of(folder: RunFolder) -> RunSummary:
    """What a report says of a run."""
    return summarise_run(read_run(folder))


@pytest.fixture
def hostile(tmp_path: Path) -> RunFolder:
    """One such run."""
    return write_hostile_run(tmp_path, "hostile")


def write_answered_run(root: Path, run_id: str, reply: Any) -> RunFolder:
    """A run of one shipped question about a picture, answered with this text."""
    shipped = find_benchmark("response_tabletop")
    return evaluate(
        attrs.evolve(shipped, tasks=shipped.tasks[:1]),
        None,
        env_factory=ResponseEnv,
        agent=FunctionAgent(lambda observation, replies: reply),
        run_root=root,
        run_id=run_id,
        manifest={"name": "unit", "version": "1"},
        max_attempts=1,
    ).run
