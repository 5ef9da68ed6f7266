"""On a real simulator the harness is lost in the environment's own time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import attrs
import gymnasium
import pytest

from hylo_core import TaskInstance
from hylo_eval import find_benchmark, plugins, run_episode
from hylo_eval.agents.baselines import ZeroAgent
from hylo_eval.agents.protocol import StatelessSession
from hylo_eval.safety.defaults import default_filters

STEPS = 200
LIMIT = 0.02


class CpuClock:
    """Sums the CPU seconds of the calls it is put around."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Any) -> Any:
        """The function, with its time added up."""

        def call(*arguments: Any, **options: Any) -> Any:
            before = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds += time.process_time() - before

        return call


class TimedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An env whose reset and step are timed."""

    def __init__(self, env: Any, clock: CpuClock) -> None:
        super().__init__(env)
        self.env_spec, self.versions, self.renderer = env.env_spec, env.versions, env.renderer
        self.reset = clock.around(env.reset)
        self.step = clock.around(env.step)


class TimedAgent(ZeroAgent):
    """The zero agent, timed: what an agent needs is not the harness's."""

    def __init__(self, clock: CpuClock) -> None:
        super().__init__()
        self.clock = clock

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> StatelessSession:
        return StatelessSession(self.clock.around(super().open_episode(instance, instruction, seed).act))


@pytest.mark.libero
@pytest.mark.slow
def test_the_harness_takes_at_most_two_hundredths_of_liberos_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """State-only libero_object, 200 steps with a full trace and the default filters: CPU within one run."""
    item = find_benchmark("libero_object").instances("heldout")[0]
    spec = attrs.evolve(item.spec, max_steps=STEPS)
    env_clock, agent_clock = CpuClock(), CpuClock()
    env = TimedEnv(plugins.load("envs", "libero")(spec), env_clock)
    try:
        before = time.process_time()
        result = run_episode(
            env,
            TimedAgent(agent_clock),
            attrs.evolve(item, spec=spec),
            trace_path=tmp_path / "trace.jsonl",
            safety=default_filters(env.action_space),
        )
        whole = time.process_time() - before
    finally:
        env.close()
    harness = whole - env_clock.seconds - agent_clock.seconds
    with capsys.disabled():
        print(
            f"\nLIBERO, {STEPS} steps: env {env_clock.seconds:.2f} s, harness {harness:.4f} s, ratio {harness / env_clock.seconds:.4f}"
        )
    assert result.end.steps == STEPS, result.error
    assert 0 < harness <= LIMIT * env_clock.seconds
