"""The header of a log is read without its samples: beside inspect-ai's, and beside our own of a small log."""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path

import pytest

from hylo_eval import read_evallog_header, write_evallog
from tests.hylo_eval.evallog.logs import build, sample

SAMPLES = 10_000
READS = 15
TURNS = 3
LIMIT = 1 / 3
"""Of the peer's header-only read of a log of as many samples."""

WRITE_THEIRS = """
import sys
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
from inspect_ai.scorer import Score
spec = EvalSpec(created="2026-01-01T00:00:00+00:00", task="golden", dataset=EvalDataset(), model="agent", config=EvalConfig())
samples = [
    EvalSample(id=i, epoch=1, input="go", target="", scores={"success": Score(value=1.0), "steps": Score(value=12.0)})
    for i in range(int(sys.argv[2]))
]
write_eval_log(EvalLog(eval=spec, samples=samples, status="success"), sys.argv[1])
"""

READ_THEIRS = """
import statistics, sys, time
from inspect_ai.log import read_eval_log
def once():
    begun = time.perf_counter()
    assert read_eval_log(sys.argv[1], header_only=True).eval.task == "golden"
    return time.perf_counter() - begun
once()
print(statistics.median(once() for _ in range(int(sys.argv[2]))))
"""


def ours(path: Path) -> float:
    """Median seconds of reading a header."""
    read_evallog_header(path)
    taken: list[float] = []
    for _ in range(READS):
        begun = time.perf_counter()
        read_evallog_header(path)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A small log and one of 10,000 samples, of ten tasks each."""
    folder = tmp_path_factory.mktemp("logs")
    paths = (folder / "small.json", folder / "large.json")
    for path, count in zip(paths, (100, SAMPLES), strict=True):
        write_evallog(build(*(sample(f"t{seed % 10}", seed, float(seed % 3 > 0), 12.0) for seed in range(count))), path)
    return paths


@pytest.mark.peer
def test_reading_a_header_takes_at_most_a_third_of_the_peers(
    inspect_python: Path, logs: tuple[Path, Path], tmp_path: Path
) -> None:
    """In turns, medians of medians, a log of 10,000 samples on both sides, their own format."""
    theirs = tmp_path / "theirs.eval"
    subprocess.run([inspect_python, "-c", WRITE_THEIRS, theirs, str(SAMPLES)], check=True)
    ratios: list[float] = []
    for _ in range(TURNS):
        done = subprocess.run(
            [inspect_python, "-c", READ_THEIRS, theirs, str(READS)], check=True, capture_output=True, text=True
        )
        mine = ours(logs[1])
        ratios.append(mine / float(done.stdout))
        print(f"\nheader of {SAMPLES} samples: ours {1e3 * mine:.2f} ms, inspect-ai {1e3 * float(done.stdout):.2f} ms")
    assert statistics.median(ratios) <= LIMIT, ratios


@pytest.mark.slow
def test_reading_a_header_does_not_depend_on_the_number_of_samples(logs: tuple[Path, Path]) -> None:
    """A hundred times the samples, the same time; twice as much is left to noise."""
    small, large = logs
    ratios = [ours(large) / ours(small) for _ in range(5)]
    assert statistics.median(ratios) <= 2.0, ratios
