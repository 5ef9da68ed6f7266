"""The control loop with a full trace costs no more than a peer's without any."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

EPISODES, STEPS = 20, 1000
PAIRS, MORE_PAIRS = 5, 10
LIMIT = 1.0
OURS = Path(__file__).with_name("null_episodes.py")


def output(*command: object) -> dict[str, float]:
    """The JSON that a measuring script prints on its last line."""
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def microseconds_a_step(peer_python: Path, peer_script: Path) -> tuple[float, float]:
    """CPU a step: ours with filters, digests and a full trace, and the peer's without a trace."""
    ours = output(sys.executable, OURS, EPISODES, STEPS)["us_per_step"]
    theirs = output(peer_python, peer_script, EPISODES, STEPS, "none")["cpu_s"]
    return ours, 1e6 * theirs / (EPISODES * STEPS)


def median_ratio(pairs: list[tuple[float, float]]) -> float:
    """Ours over theirs."""
    return statistics.median(ours / theirs for ours, theirs in pairs)


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("peer_script", ["inspect_robots_runner.py"], indirect=True)
def test_a_traced_step_costs_no_more_than_a_peers_untraced_one(
    peer_python: Path, peer_script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The median ratio of CPU a step, over pairs run in turns, is at most 1.

    A first round that misses it is continued, not repeated: nothing measured is thrown away and all pairs decide
    together, so a moment's noise costs no verdict, and a slower loop does not pass by being tried again.
    """
    pairs = [microseconds_a_step(peer_python, peer_script) for _ in range(PAIRS)]
    if median_ratio(pairs) > LIMIT:
        pairs += [microseconds_a_step(peer_python, peer_script) for _ in range(MORE_PAIRS)]
    with capsys.disabled():
        print(f"\n{'CPU a step, microseconds':<28}{'ours':>8}{'peer':>8}{'ratio':>8}")
        for number, (ours, theirs) in enumerate(pairs, 1):
            print(f"{f'pair {number}':<28}{ours:>8.2f}{theirs:>8.2f}{ours / theirs:>8.2f}")
        print(f"{'median of the ratios':<44}{median_ratio(pairs):>8.2f}")
    assert median_ratio(pairs) <= LIMIT
