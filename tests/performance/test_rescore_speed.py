"""Re-scoring costs little more than reading the traces at all, and its memory does not grow with their number."""

import gc
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import orjson
import pytest

from hylo_core import Benchmark, Predicate, SeedInit, TaskSpec
from hylo_eval import evaluate
from hylo_eval.evallog.files import read_evallog, write_evallog
from hylo_eval.evaluation.rescore import Rescoring, rescore
from hylo_eval.evaluation.rescore_plan import make_scorers, plan_rescoring
from hylo_eval.scoring.applying import score_trace
from hylo_eval.traces.reader import read_trace
from tests.performance.null_episodes import NullAgent, NullEnv

EPISODES = 200
STEPS = 300
SCORERS = ("success", "steps", "safety_interventions")
PART = 100
PAIRS = 11
LIMIT = 2.5
"""CPU of re-scoring with digests over CPU of reading the same files and ``orjson.loads`` of their lines."""
UNCHECKED_LIMIT = 1.3
"""Likewise of reading to score and the scoring itself, without digests; medians are 1.15 to 1.3."""


class NoisyEnv(NullEnv):
    """Returns other numbers of full length at every step."""

    def step(self, action: Any) -> Any:
        self.observation = {"state": np.random.default_rng(self.taken).standard_normal(40)}
        return super().step(action)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 200 episodes of 300 steps of 40 floats."""
    return run_of(EPISODES, tmp_path_factory.mktemp("runs"))


def run_of(episodes: int, root: Path) -> Path:
    """A run of so many episodes of 300 steps of 40 floats."""
    task = TaskSpec(
        id="null",
        version="1",
        instruction="go",
        init=SeedInit(),
        success=Predicate("builtin", "env_success"),
        max_steps=STEPS + 1,
    )
    benchmark = Benchmark(id="null", version="1", tasks=(task,), splits={"heldout": tuple(range(episodes))})
    result = evaluate(benchmark, "heldout", env_factory=lambda _: NoisyEnv(STEPS), agent=NullAgent(), run_root=root)
    return result.run.path


def score(run: Path, name: str) -> None:
    """Re-score the run in this process."""
    (outcome,) = rescore(plan_rescoring([run], scorers=SCORERS, name=name), workers=1)
    assert isinstance(outcome, Rescoring)
    assert outcome.summaries["steps"].mean == STEPS


def read(run: Path) -> None:
    """Read the files and parse their lines."""
    for path in (run / "episodes").iterdir():
        for line in path.read_bytes().splitlines():
            orjson.loads(line)


@pytest.mark.slow
def test_rescoring_costs_at_most_two_and_a_half_times_reading(run: Path):
    """With digests, details and log; the median over short pairs, so that a busy machine slows both sides alike."""
    # In a process of its own, as the command has one: in one that has run simulators before, memory is in small pieces.
    ratios = in_process(time_pairs, part_of(run, PART))
    print(
        f"\nre-scoring over reading and parsing the same lines: {statistics.median(ratios):.2f} of {len(ratios)} pairs"
    )
    assert statistics.median(ratios) <= LIMIT, sorted(ratios)


@pytest.mark.slow
def test_scoring_without_digests_costs_little_more_than_parsing(run: Path):
    """Every line is parsed and checked on both sides; the steps are kept by column and never read whole."""
    ratios = in_process(time_unchecked_pairs, part_of(run, PART))
    print(f"\nscoring without digests over reading and parsing the same lines: {statistics.median(ratios):.2f}")
    assert statistics.median(ratios) <= UNCHECKED_LIMIT, sorted(ratios)


def time_unchecked_pairs(connection: Connection, part: Path) -> None:
    """CPU seconds of scoring over those of reading, for a number of pairs."""
    connection.send(paired(lambda: read(part), lambda _: score_unchecked(part), UNCHECKED_LIMIT))


def score_unchecked(run: Path) -> None:
    """Score the traces of a run, without looking at a digest."""
    scorers = make_scorers(SCORERS)
    gc.disable()  # as re-scoring does while a trace is in memory
    for path in (run / "episodes").iterdir():
        trace = read_trace(path, digests="none", by_column=True)
        assert score_trace(scorers, trace, trace.instance)["steps"].value == STEPS
    gc.enable()


def time_pairs(connection: Connection, part: Path) -> None:
    """CPU seconds of re-scoring over those of reading, for a number of pairs."""
    connection.send(paired(lambda: read(part), lambda turn: score(part, f"speed-{turn}"), LIMIT))


def paired(yardstick: Callable[[], None], measured: Callable[[int], None], limit: float) -> list[float]:
    """CPU seconds of the measured over those of the yardstick, pair by pair; both have run once before."""
    yardstick()
    measured(-1)
    ratios: list[float] = []
    # When pairs miss, twice as many are added, two times at most, and all are judged together: more evidence, the same
    # limit.
    for pairs in (PAIRS, 2 * PAIRS, 4 * PAIRS):
        for _ in range(pairs):
            begun = time.process_time()
            yardstick()
            between = time.process_time()
            measured(len(ratios))
            ratios.append((time.process_time() - between) / (between - begun))
        if statistics.median(ratios) <= limit:
            break
    return ratios


def part_of(run: Path, episodes: int) -> Path:
    """A run folder of the first episodes of a run."""
    log = read_evallog(run / "evallog.json")
    part = run.parent / f"part-{episodes}"
    if part.is_dir():
        return part
    (part / "episodes").mkdir(parents=True)
    samples = log.samples[:episodes]
    for sample in samples:
        (part / sample.trace).symlink_to(run / sample.trace)
    results = attrs.evolve(log.results, n_episodes=len(samples))
    write_evallog(attrs.evolve(log, samples=samples, results=results), part / "evallog.json")
    return part


def peak_kilobytes(connection: Connection, part: Path) -> None:
    """Peak memory of re-scoring a run, in a process of its own."""
    score(part, "memory")
    connection.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def in_process(measure: Callable[[Connection, Path], None], part: Path) -> Any:
    """What a measurement sends, from a fresh process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(sender, part))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        process.join()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_traces(run: Path):
    """A trace takes about 2 MB once read: 190 more of them may cost a tenth of one each, for samples and scores."""
    few, many = (in_process(peak_kilobytes, part_of(run, episodes)) for episodes in (10, EPISODES))
    assert many - few < (EPISODES - 10) * 200
