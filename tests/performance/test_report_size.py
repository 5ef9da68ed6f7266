"""The page about 10,000 episodes: small enough to be sent, whole enough to be read."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from hylo_eval import evaluate, read_evallog
from hylo_eval.report.page import render_page
from hylo_eval.report.run_record import read_run
from hylo_eval.report.run_summary import summarise_run
from hylo_eval.traces.layout import RunFolder, episode_id
from tests.episodes import FunctionAgent, ScriptedEnv, benchmark, task
from tests.runs import edit_json, write_samples

EPISODES, TASKS, STEPS, NUMBERS = 10_000, 100, 150, 40


class WideEnv(ScriptedEnv):
    """Forty numbers a step; even seeds succeed late, seed 3 breaks with a long message."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed == 3:
            raise RuntimeError("the simulator is broken. " * 200)
        observation, info = super().reset(seed=seed, options=options)
        self.success_at = (STEPS - 10 + (seed or 0),) if (seed or 0) % 2 == 0 else ()
        return observation, info

    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        return {"position": observation["position"] + np.sin(self.taken + np.arange(NUMBERS))}, *rest


def write_under(source: Path, path: Path, name: str, seed: int, identity: str) -> str:
    """Write a trace again as that of another instance; gives the digest of its bytes."""
    start, rest = source.read_bytes().split(b"\n", 1)
    event = orjson.loads(start)
    event["instance"]["seed"] = seed
    event["instance"]["spec"]["id"] = name
    event["volatile"]["episode_id"] = identity
    data = orjson.dumps(event) + b"\n" + rest
    path.write_bytes(data)
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def make_run(root: Path) -> RunFolder:
    """Ten episodes of 150 steps (no step of which a plot leaves out) of 40 floats, each written a thousand times under other names."""
    spec = task("family/some_suite/pick_up_the_object_and_place_it_in_the_basket", max_steps=STEPS)
    run = evaluate(
        benchmark(spec, seeds=tuple(range(10))),
        "heldout",
        env_factory=lambda _: WideEnv(action_size=NUMBERS),
        agent=FunctionAgent(lambda observation, replies: np.full(NUMBERS, 0.01)),
        run_root=root,
        run_id="many",
        max_attempts=1,
    ).run

    def multiply(log: Any) -> None:
        made = log["samples"]
        log["samples"] = []
        for number in range(EPISODES):
            sample = dict(made[number % len(made)])
            name, seed = f"{spec.id}_{number % TASKS}", number // TASKS
            identity = episode_id(f"{name}#{seed}", 1)
            digest = write_under(run.path / sample["trace"], run.trace(identity), name, seed, identity)
            sample |= {"key": f"{name}#{seed}", "task_id": name, "seed": seed, "episode_id": identity}
            sample |= {"trace_sha256": digest}
            log["samples"].append(sample | {"trace": f"episodes/{identity}.jsonl"})

    edit_json(run.evallog, multiply)
    edit_json(run.manifest, lambda manifest: manifest["selection"].update(instances=EPISODES))
    write_samples(read_evallog(run.evallog, check=False), run.evallog)
    return run


@pytest.mark.slow
def test_a_page_of_ten_thousand_episodes_is_below_fifteen_megabytes(tmp_path: Path) -> None:
    """With a cell for each of them, and the plots of sixty."""
    pytest.importorskip("jinja2")
    pytest.importorskip("plotly")
    run = make_run(tmp_path)
    try:
        summary = summarise_run(read_run(run))
        page = render_page([summary])
    finally:
        shutil.rmtree(run.episodes)  # two gigabytes
    assert (summary.success.n_attempted, summary.success.abstained) == (EPISODES, {"infra": EPISODES // 10})
    assert not any(episode.changes for episode in summary.episodes)
    assert page.count(b'<a class="cell ') == EPISODES
    assert b"The plots of 60 of 10000 episodes are in this page" in page
    print(f"{len(page) / 1e6:.2f} MB")
    # The limit is 15 MB; what videos may take is the rest.
    assert len(page) < 8_000_000
