"""A fixture that runs an episode and reads its trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hylo_core import EpisodeTrace
from hylo_eval import read_trace, run_episode
from tests.episodes import FunctionAgent, ScriptedEnv, instance, task


@pytest.fixture
def traced(tmp_path: Path) -> Any:
    """Run an episode, return its trace."""

    def call(
        env: ScriptedEnv | None = None, agent: FunctionAgent | None = None, spec: Any = None, **options: Any
    ) -> EpisodeTrace:
        path = tmp_path / "trace.jsonl"
        path.unlink(missing_ok=True)
        item = instance(spec or task())
        run_episode(env or ScriptedEnv(), agent or FunctionAgent(), item, trace_path=path, **options)
        return read_trace(path)

    return call
