"""The files of a verdict."""

import json
import os
from pathlib import Path

import pytest

from hylo_eval.verify.verdict import Reward, infra_error, invalid_task, scored
from hylo_eval.verify.verdict_files import write_verdict


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_scored_verdict_has_three_files(tmp_path):
    """The reward is written for Harbor twice, as JSON and as text."""
    folder = tmp_path / "deep" / "logs"
    write_verdict(folder, scored(1, extracted="C"))
    assert names(folder) == ["reward.json", "reward.txt", "verdict.json"]
    assert (folder / "reward.json").read_text() == '{"reward": 1.0}\n'
    assert (folder / "reward.txt").read_text() == "1.0\n"
    record = json.loads((folder / "verdict.json").read_text())
    assert record == {"reward": 1.0, "status": "scored", "detail": {"extracted": "C"}}
    assert (folder / "reward.json").stat().st_mode & 0o777 == 0o644


def test_a_negative_zero_is_written_as_zero(tmp_path):
    """Readers compare texts, too."""
    write_verdict(tmp_path, scored(-0.0))
    assert (tmp_path / "reward.txt").read_text() == "0.0\n"
    assert json.loads((tmp_path / "verdict.json").read_text())["reward"] == 0.0


@pytest.mark.parametrize("verdict", [invalid_task("no key"), infra_error("down"), Reward(7.0), None])
def test_an_unscored_verdict_leaves_no_reward_behind(tmp_path, verdict):
    """A stale reward must not stand beside an abstention."""
    write_verdict(tmp_path, scored(1.0))
    write_verdict(tmp_path, verdict)
    assert names(tmp_path) == ["verdict.json"]
    assert json.loads((tmp_path / "verdict.json").read_text())["reward"] == 0.0


def test_what_a_candidate_planted_is_replaced(tmp_path):
    """A link is not written through and a folder does not stand in the way."""
    victim = tmp_path / "victim"
    victim.write_text("kept")
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "reward.json").symlink_to(victim)
    (logs / "verdict.json").mkdir()
    (logs / "verdict.json" / "inner").write_text("x")
    write_verdict(logs, scored(0.5))
    assert victim.read_text() == "kept"
    assert not (logs / "reward.json").is_symlink()
    assert json.loads((logs / "verdict.json").read_text())["reward"] == 0.5


def test_a_planted_folder_of_any_depth_is_removed(tmp_path):
    """A nest far deeper than Python recurses ends neither the grader nor the verdict."""
    (tmp_path / "reward.txt").mkdir()
    folder = os.open(tmp_path / "reward.txt", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    write_verdict(tmp_path, infra_error("down"))
    assert names(tmp_path) == ["verdict.json"]


@pytest.mark.parametrize("failing", ["reward.json", "reward.txt", "verdict.json"])
def test_a_failing_write_leaves_nothing_that_says_scored(tmp_path, monkeypatch, failing):
    """Whichever file cannot be written, none of the three is left, nor a part of one."""
    replace = Path.replace

    def fail(self, target):
        if Path(target).name == failing:
            raise OSError(28, "no space left")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_verdict(tmp_path, scored(1.0))
    assert names(tmp_path) == []


def test_the_verdict_is_the_last_file(tmp_path, monkeypatch):
    """Whoever waits for verdict.json finds the reward files beside it."""
    order = []
    replace = Path.replace

    def record(self, target):
        order.append(Path(target).name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", record)
    write_verdict(tmp_path, scored(1.0))
    assert order == ["reward.json", "reward.txt", "verdict.json"]
