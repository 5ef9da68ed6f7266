"""Peak memory of one episode with fresh camera pictures: ``python camera_episode.py STEPS CAMERAS SIZE``.

First the environment alone in a bare loop, then the harness around it, in one process: what the peak grows by is the
harness's own, its imports included. Prints one JSON line, in MiB.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class CameraEnv(gymnasium.Env[Any, Any]):
    """Returns new pictures at every step."""

    action_space = spaces.Box(-1, 1, (2,))

    def __init__(self, cameras: int, size: int) -> None:
        self.names = [f"camera_{index}" for index in range(cameras)]
        self.shape = (size, size, 3)
        self.observation_space = spaces.Dict({name: spaces.Box(0, 255, self.shape, np.uint8) for name in self.names})
        self.taken = 0

    def pictures(self) -> dict[str, Any]:
        """One array a camera, of this step alone."""
        return {name: np.full(self.shape, self.taken % 255, np.uint8) for name in self.names}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.taken = 0
        return self.pictures(), {"instruction": "look", "success": False}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        return self.pictures(), 0.0, False, False, {"success": False}


def peak_mib() -> float:
    """Of this program since it began (``ru_maxrss`` would begin with its parent's)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not tell a process's peak memory")


def run_episode_on(env: CameraEnv, steps: int) -> int:
    """One traced episode with the default filters; returns the steps it took."""
    from hylo_core import AgentInfo, AgentSpec, Predicate, SeedInit, TaskInstance, TaskSpec
    from hylo_eval import Reply, run_episode
    from hylo_eval.agents.protocol import StatelessSession
    from hylo_eval.safety.defaults import default_filters

    class Still:
        info = AgentInfo(name="still")
        spec = AgentSpec()

        def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> StatelessSession:
            return StatelessSession(lambda _: Reply(np.zeros(2)))

        def close(self) -> None:
            pass

    task = TaskSpec(
        id="cameras",
        version="1",
        instruction="look",
        init=SeedInit(),
        success=Predicate("builtin", "env_success"),
        max_steps=steps,
    )
    instance = TaskInstance(spec=task, seed=0, episode_index=0, split="heldout")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        return run_episode(env, Still(), instance, trace_path=path, safety=default_filters(env.action_space)).end.steps


def main(steps: int, cameras: int, size: int) -> None:
    """Measure and print."""
    env = CameraEnv(cameras, size)
    observation, _ = env.reset()
    for _ in range(steps):
        observation, *_ = env.step(None)
    del observation
    alone = peak_mib()
    started = time.perf_counter()
    assert run_episode_on(env, steps) == steps
    print(json.dumps({"alone_mib": alone, "peak_mib": peak_mib(), "seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
