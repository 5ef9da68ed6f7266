"""Every built-in scorer is pure: same trace, same bytes, whenever and wherever."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hylo_core.canonical import canonical_json
from hylo_eval import read_trace, run_episode
from hylo_eval.evaluation.making import make_scorer
from hylo_eval.plugins import BUILT_IN
from hylo_eval.scoring.applying import score_trace
from tests.episodes import FunctionAgent, ScriptedEnv, instance

NAMES = [plugin.name for plugin in BUILT_IN["scorers"]]


def score_files(paths: list[str]) -> dict[str, Any]:
    """What every scorer says about the traces, in the order given."""
    scorers = [make_scorer(name) for name in NAMES]
    found: dict[str, Any] = {}
    for path in paths:
        trace = read_trace(path)
        found[path] = {name: score.to_dict() for name, score in score_trace(scorers, trace, trace.instance).items()}
    return found


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """Traces of a success, a failure and a lost simulator."""

    def lost(_: int) -> None:
        raise OSError("lost")

    goal = {"on_step": lambda index: {"goal": (index > 2, False)}}
    envs = [ScriptedEnv(success_at=(4,), **goal), ScriptedEnv(**goal), ScriptedEnv(on_step=lost)]
    files = [tmp_path / f"{number}.jsonl" for number in range(len(envs))]
    for seed, (env, path) in enumerate(zip(envs, files, strict=True)):
        run_episode(env, FunctionAgent(), instance(seed=seed), trace_path=path)
    return [str(path) for path in files]


def test_the_same_traces_give_the_same_bytes_again_and_in_another_order(paths: list[str]) -> None:
    """No scorer remembers the trace before."""
    first = score_files(paths)
    assert canonical_json(score_files(paths)) == canonical_json(first)
    assert canonical_json(score_files(paths[::-1])) == canonical_json(first)
    assert {score["success"]["value"] for score in first.values()} == {1.0, 0.0, None}


def test_another_process_gives_the_same_bytes(paths: list[str]) -> None:
    """With another hash seed, and from another folder."""
    code = (
        "import sys; from tests.hylo_eval.scoring.test_purity import score_files; "
        "from hylo_core.canonical import canonical_json; sys.stdout.buffer.write(canonical_json(score_files(sys.argv[1:])))"
    )
    environment = {"PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONHASHSEED": "77"}
    done = subprocess.run(
        [sys.executable, "-c", code, *paths],
        capture_output=True,
        check=True,
        env=environment,
        cwd=Path(paths[0]).parent,
    )
    assert done.stdout == canonical_json(score_files(paths))
    assert json.loads(done.stdout)[paths[0]]["time_to_success"]["value"] == 5.0
