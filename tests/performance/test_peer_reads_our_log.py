"""The peer opens what ``export --to inspect-robots`` writes: its reader, its viewer, its summaries."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hylo_eval.evallog.v02 import EvalLog
from hylo_eval.exchange.inspect_robots import encode_inspect_robots
from hylo_eval.exchange.inspect_robots_frames import write_frames
from hylo_eval.exchange.inspect_robots_import import read_inspect_robots
from hylo_eval.exchange.outline import EpisodeOutline
from hylo_eval.exchange.source import load_source
from tests.hylo_eval.evallog.logs import build, golden, sample
from tests.pictures import write_picture_run

READ = """
import json, sys
from inspect_robots import read_eval_log
log = read_eval_log(sys.argv[1])
print(json.dumps({"status": log.status, "task": log.eval.task, "metrics": log.results.metrics,
                  "epochs": [scene.epochs for scene in log.samples], "errored": log.results.errored_trials}))
"""


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Successes, a failure, an abstention with an error, and hostile texts."""
    log = golden()
    path = tmp_path / "exported.json"
    path.write_bytes(encode_inspect_robots(log, lambda item: EpisodeOutline("pick <script>up</script>", "horizon")))
    return path


def ask(python: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the peer's command line."""
    code = "from inspect_robots.cli import main; import sys; sys.exit(main())"
    given = [str(argument) for argument in arguments]
    return subprocess.run([python, "-c", code, *given], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.peer
def test_their_reader_finds_our_numbers_and_nulls(peer_python: Path, exported: Path) -> None:
    """Means, epochs and errors as in our log."""
    done = subprocess.run([peer_python, "-c", READ, exported], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    log = golden()
    assert found == {
        "status": "success",
        "task": "golden",
        "metrics": {"success": 0.75, "steps": 28.25},
        "epochs": [[{name: item.value(name) for name in ("success", "steps")}] for item in log.samples],
        "errored": 1,
    }


@pytest.mark.peer
def test_their_inspect_view_and_summarize_open_it(peer_python: Path, exported: Path, tmp_path: Path) -> None:
    """Whatever is null; with a page that shows every scene, and texts that stay texts."""
    inspected = ask(peer_python, "inspect", exported)
    assert inspected.returncode == 0, inspected.stderr
    assert "golden-agent" in inspected.stdout
    assert "0.75" in inspected.stdout
    page = tmp_path / "page.html"
    viewed = ask(peer_python, "view", exported, "--out", page)
    assert viewed.returncode == 0, viewed.stderr
    shown = page.read_text()
    assert all(item.key in shown for item in golden().samples)
    assert "<script>up" not in shown
    summed = ask(peer_python, "summarize", exported)
    assert summed.returncode == 0, summed.stderr
    written = summed.stdout + "".join(path.read_text() for path in tmp_path.rglob("*.md"))
    assert "hit step limit" in written


@pytest.mark.peer
def test_their_viewer_shows_frames_of_our_videos(peer_python: Path, tmp_path: Path) -> None:
    """Of a recorded video, evenly spaced from the first frame to the last; the page holds pictures."""
    pytest.importorskip("av")
    source = load_source(write_picture_run(tmp_path, "run", count=1).run)
    shown = write_frames(source, tmp_path / "frames" / "out")
    frames = sorted((tmp_path / "frames" / "out").iterdir())
    assert len(frames) == 8
    for frame, colour in ((frames[0], [0, 0, 128]), (frames[-1], [0, 200, 128])):
        assert np.load(frame)[16, 24] == pytest.approx(colour, abs=12)
    path = tmp_path / "out.json"
    path.write_bytes(encode_inspect_robots(source.log, transcripts=shown, frames_dir="frames/out"))
    viewed = ask(peer_python, "view", path, "--out", tmp_path / "page.html")
    assert viewed.returncode == 0, viewed.stderr
    assert (tmp_path / "page.html").read_text().count("data:image/png;base64,") >= 8
    assert read_inspect_robots(path) == source.log


@pytest.mark.peer
@pytest.mark.parametrize(
    "log", [build(), build(sample("lift", 0, None)), build(sample("lift", 0, 1.0), status="partial")]
)
def test_they_open_a_log_in_which_nothing_is_a_number(peer_python: Path, tmp_path: Path, log: EvalLog) -> None:
    """No sample, only abstentions, or a run that was stopped (which their inspect ends with 1)."""
    path = tmp_path / "log.json"
    path.write_bytes(encode_inspect_robots(log))
    inspected = ask(peer_python, "inspect", path)
    assert inspected.returncode == (1 if log.status == "partial" else 0), inspected.stderr
    assert "Traceback" not in inspected.stderr
    assert ask(peer_python, "view", path, "--out", tmp_path / "page.html").returncode == 0


@pytest.mark.peer
def test_a_log_that_the_peer_wrote_is_imported(peer_python: Path, tmp_path: Path) -> None:
    """A run of its own mock task, with the numbers that it prints."""
    chosen = ("--task", "cubepick-reach", "--policy", "random", "--embodiment", "cubepick")
    done = ask(peer_python, "run", *chosen, "--log-dir", tmp_path / "logs")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "logs").glob("*.json")
    theirs = json.loads(path.read_text())
    ours = read_inspect_robots(path)
    assert len(ours.samples) == theirs["results"]["total_trials"]
    assert ours.mean("success_at_end") == pytest.approx(theirs["results"]["metrics"]["success_at_end"])
