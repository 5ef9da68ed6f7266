"""An episode with cameras keeps no pictures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

STEPS, CAMERAS, SIZE = 500, 2, 256
LIMIT_MIB = 120
OURS = Path(__file__).with_name("camera_episode.py")


def output(*command: object) -> dict[str, float]:
    """The JSON that a measuring script prints on its last line.

    Run below a small shell: ``ru_maxrss`` of a new program begins with the size of the process that started it.
    """
    shell = ["sh", "-c", '"$@"; exit $?', "sh", *map(str, command)]
    done = subprocess.run(shell, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_an_episode_with_cameras_adds_little_to_the_environments_own_memory() -> None:
    """500 steps with two fresh 256x256 pictures each are 188 MiB; the harness, imports included, stays below 120."""
    ours = output(sys.executable, OURS, STEPS, CAMERAS, SIZE)
    assert 0 < ours["peak_mib"] - ours["alone_mib"] < LIMIT_MIB


@pytest.mark.slow
def test_memory_does_not_grow_with_the_episode() -> None:
    """Ten times the steps add less than a tenth of their pictures: the trace is written as it goes."""
    short, long = (output(sys.executable, OURS, steps, CAMERAS, SIZE) for steps in (100, 1000))
    pictures_mib = 900 * CAMERAS * SIZE * SIZE * 3 / 2**20
    assert long["peak_mib"] - short["peak_mib"] < pictures_mib / 10


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("peer_script", ["inspect_robots_memory.py"], indirect=True)
def test_an_episode_with_cameras_needs_less_memory_than_a_peers(
    peer_python: Path, peer_script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the same run; the peer's growth is counted from what it has imported already, ours from the bare loop."""
    ours = output(sys.executable, OURS, STEPS, CAMERAS, SIZE)
    theirs = output(peer_python, peer_script, STEPS, CAMERAS, SIZE)
    with capsys.disabled():
        print(f"\n{'peak memory, MiB':<20}{'before':>8}{'peak':>8}{'grown':>8}")
        for name, before, peak in (
            ("ours", ours["alone_mib"], ours["peak_mib"]),
            ("peer", theirs["rss0"], theirs["peak"]),
        ):
            print(f"{name:<20}{before:>8.1f}{peak:>8.1f}{peak - before:>8.1f}")
    assert ours["peak_mib"] - ours["alone_mib"] < LIMIT_MIB
    assert ours["peak_mib"] - ours["alone_mib"] < theirs["peak"] - theirs["rss0"]
