"""Re-scoring a run beside ``inspect score`` of a log with as many samples that hold the same steps."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from pathlib import Path

import pytest

from tests.performance.test_rescore_speed import part_of, run_of, score

SAMPLES = int(os.environ.get("HYLO_SAMPLES", "200"))
"""Of the log; with a thousand the peer takes some minutes."""
TURNS = 1
LIMIT = 5.0
"""Samples a second, ours over theirs; one process on each side, seconds of its processor."""

PEER = """
import json, pathlib, sys, time
from inspect_ai import score
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, read_eval_log, write_eval_log
from inspect_ai.scorer import Score, mean, scorer

@scorer(metrics=[mean()])
def success():
    async def judge(state, target):
        return Score(value=float(any(step["success"] for step in state.metadata["steps"])))
    return judge

@scorer(metrics=[mean()])
def steps():
    async def judge(state, target):
        return Score(value=float(len(state.metadata["steps"])))
    return judge

@scorer(metrics=[mean()])
def interventions():
    async def judge(state, target):
        return Score(value=float(len(state.metadata["safety"])))
    return judge

def sample(number, path):
    events = [json.loads(line) for line in path.read_text().splitlines()]
    kept = {kind: [event for event in events if event["type"] == name] for kind, name in (("steps", "step"), ("safety", "safety"))}
    return EvalSample(id=number, epoch=1, input="go", target="", metadata=kept)

folder, log, turns = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
spec = EvalSpec(created="2026-01-01T00:00:00+00:00", task="null", dataset=EvalDataset(), model="mockllm/model", config=EvalConfig())
samples = [sample(number, path) for number, path in enumerate(sorted(folder.iterdir()))]
write_eval_log(EvalLog(eval=spec, samples=samples, status="success"), log)
for turn in range(turns):
    begun = time.process_time()
    scored = score(read_eval_log(log), [success(), steps(), interventions()], action="overwrite", display="none")
    write_eval_log(scored, log + ".scored.eval")
    print("CPU", time.process_time() - begun, len(scored.samples), scored.results.scores[1].metrics["mean"].value)
"""


def ours(part: Path, name: str) -> float:
    """Seconds of the processor: read, check the digests, score, write the log and its details."""
    begun = time.process_time()
    score(part, name)
    return time.process_time() - begun


@pytest.mark.peer
@pytest.mark.slow
def test_rescoring_is_at_least_five_times_as_fast_as_the_peers(inspect_python: Path, tmp_path: Path) -> None:
    """300 steps of 40 numbers a sample, three scorers, both from file to file; digests are checked on our side."""
    part = run_of(SAMPLES, tmp_path)
    ours(part_of(part, 10), "warm")
    mine = statistics.median(ours(part, f"beside-{turn}") for turn in range(TURNS))
    peer = [inspect_python, "-c", PEER, part / "episodes", tmp_path / "theirs.eval", str(TURNS)]
    done = subprocess.run(peer, check=True, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("CPU ")]
    assert [(int(line[2]), float(line[3])) for line in lines] == [(SAMPLES, 300.0)] * TURNS
    theirs = statistics.median(float(line[1]) for line in lines)
    print(
        f"\nre-scoring {SAMPLES} samples: ours {SAMPLES / mine:.0f} a second, inspect-ai {SAMPLES / theirs:.1f}, "
        f"ratio {theirs / mine:.1f}"
    )
    assert theirs / mine >= LIMIT, (mine, theirs)
