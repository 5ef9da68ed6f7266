"""The same env and policy for vla-eval, as its users run them: ``PYTHON vla_eval_one_step.py EPISODES``.

Its orchestrator, its runner, its policy server in a process of its own behind a WebSocket (it has no other way), and its
database with the episodes' results and the rows of their steps, which is its default. Not measured: Docker, in which its
command usually runs this, and ``vla-eval export``, which makes files of the database. Prints one JSON line of episodes a
second, with and without the database. Runs in an interpreter that has vla-eval and nothing of ours.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.model_servers.predict import PredictModelServer

STATE_SIZE, ACTION_SIZE = 8, 7


class OneStep(StepBenchmark):
    """Succeeds at its first step, and records it."""

    _ALL_RECORD_FIELDS = frozenset({"reward", "done", "success", "action", "state"})

    def get_tasks(self) -> list[dict[str, Any]]:
        return [{"name": "one-step", "suite": "one-step", "task_id": 0}]

    def reset(self, task: Any) -> Any:
        return {"state": np.zeros(STATE_SIZE, np.float32)}

    def step(self, action: Any) -> StepResult:
        taken, state = np.asarray(action["actions"], np.float32), np.zeros(STATE_SIZE, np.float32)
        self._recorder.record_step(reward=0.0, done=True, success=True, action=taken, state=state)
        return StepResult(obs={"state": state}, reward=0.0, done=True, info={})

    def make_obs(self, raw_obs: Any, task: Any) -> Any:
        return {"images": {}, "task_description": task["name"], "states": raw_obs["state"]}

    def get_step_result(self, step_result: StepResult) -> dict[str, Any]:
        return {"success": bool(step_result.done)}

    def get_metadata(self) -> dict[str, Any]:
        return {"max_steps": 2}


class Still(PredictModelServer):
    """Answers zeros."""

    def predict(self, obs: Any, ctx: Any) -> Any:
        return {"actions": np.zeros(ACTION_SIZE, np.float32)}

    def get_action_spec(self) -> Any:
        return {}

    def get_observation_spec(self) -> Any:
        return {}


def episodes_a_second(port: int, episodes: int, *, with_database: bool) -> float:
    """Run them all once."""
    import anyio
    from vla_eval.orchestrator import Orchestrator

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        entry = {"benchmark": f"{Path(__file__).stem}:OneStep", "episodes_per_task": episodes}
        config = {"server": {"url": f"ws://127.0.0.1:{port}"}, "output_dir": folder, "benchmarks": [entry]}
        begun = time.perf_counter()
        (result,) = anyio.run(Orchestrator(config, no_save=not with_database).run)
        seconds = time.perf_counter() - begun
    (task,) = result["tasks"]
    assert len(task["episodes"]) == episodes
    assert not task.get("num_errors")
    return episodes / seconds


def wait_for(port: int) -> None:
    """Wait until the server listens."""
    for _ in range(600):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        time.sleep(0.05)
    raise SystemExit("the policy server did not start")


def main(episodes: int) -> None:
    """Measure and print."""
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, str(Path(__file__).parent))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, __file__, "serve", str(port)], stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        episodes_a_second(port, 20, with_database=True)
        rates = {
            name: episodes_a_second(port, episodes, with_database=name == "database") for name in ("database", "none")
        }
    finally:
        server.kill()
        server.wait()
    print(json.dumps(rates))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        from vla_eval.model_servers.serve import serve

        serve(Still(), host="127.0.0.1", port=int(sys.argv[2]))
    else:
        main(int(sys.argv[1]))
