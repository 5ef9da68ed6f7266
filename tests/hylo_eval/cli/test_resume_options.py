"""What may be given beside ``run --resume``: how a run is executed may change, what it is may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.benchmark_files import reach_file


@pytest.fixture
def resume(hylo: Any, tmp_path: Path) -> Any:
    """A finished run of two episodes, and the command that continues it."""
    at = ("--run-root", tmp_path)
    given = ("--agent-arg", "speed=0.2", "--episodes", "2", "--workers", "0", "--run-id", "mine")
    assert hylo("run", "reach_fixed", "--agent", "reach-scripted", *given, *at).code == 0

    def call(*options: object) -> Any:
        return hylo("run", "--resume", "mine", *at, *options)

    return call


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--agent-arg", "speed=0.2"),
        ("--workers", "1", "--deadline", "step=30", "--recycle-after", "5"),
        ("--budget", "10m"),
        ("--fsync",),
    ],
    ids=" ".join,
)
def test_what_is_on_record_and_how_it_is_executed_may_be_given(resume: Any, options: tuple[str, ...]) -> None:
    """The run goes on as it was called."""
    done = resume(*options)
    assert done.code == 0, done.err
    assert "settings: episodes=2, workers=0, agent speed=0.2" in done.out


def test_a_run_is_resumed_by_its_folder(resume: Any, hylo: Any, tmp_path: Path) -> None:
    """As every other command takes it; a run root given beside it is not looked into."""
    for folder in (tmp_path / "mine", f"{tmp_path}/mine/"):
        done = hylo("run", "--resume", folder)
        assert done.code == 0, done.err
        assert f"run: {tmp_path}/mine" in done.out.replace("\n", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--agent-arg", "speed=0.1"), "agent.options.speed: stored 0.2, given 0.1"),
        (("--max-steps", "7"), "overrides.max_steps: stored nothing, given 7"),
        (("--episodes", "3"), "selection.episodes: stored 2, given 3"),
        (("--max-attempts", "9"), "max_attempts: stored 3, given 9"),
        (("--replicate", "2"), "replicate: stored nothing, given 2"),
        (("--safety", "none"), "safety[0]: stored "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_the_run_is_may_not_change(resume: Any, options: tuple[str, ...], said: str) -> None:
    """Refused, with what is stored and what was given, and what to do."""
    done = resume(*options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "\n  fix: " in done.err


def test_an_unknown_option_of_the_environment_is_refused(resume: Any) -> None:
    """As it is without ``--resume``."""
    done = resume("--env-arg", "size=3")
    assert done.code == 2
    assert "env 'reach' has no option 'size'" in done.err


LACKING = """
from hylo_eval.envs.reach import ReachEnv
from hylo_eval.errors import EnvUnready

class Lacking(ReachEnv):
    def reset(self, **arguments):
        raise EnvUnready("a texture is missing", fix="fetch the textures")
"""
BENCHMARK = reach_file("env_without_textures:Lacking", benchmark_id="lacking")


def test_a_run_whose_episodes_abstained_is_not_tried_again_and_says_so(
    hylo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was missing may be there by now: that is a new run."""
    (tmp_path / "env_without_textures.py").write_text(LACKING, encoding="utf-8")
    (tmp_path / "lacking.toml").write_text(BENCHMARK, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    how = ("--agent", "zero", "--workers", "0", "--run-id", "mine", "--run-root", tmp_path)
    assert hylo("run", tmp_path / "lacking.toml", *how).code == 3
    # One try an episode, as trying again cannot help.
    attempts = hylo("status", tmp_path / "mine", "--json").json["attempts"]
    assert [(item["attempt"], item["status"], item["count"]) for item in attempts] == [(1, "env_error", 2)]
    again = hylo("run", "--resume", tmp_path / "mine")
    assert again.code == 3
    said = " ".join(again.err.split())
    assert "nothing was run 2 of them abstained, for which there is no other try in this run: when what they" in said
    assert "begin another, without --resume and under another --run-id" in said


def test_repetitions_are_not_resumed_by_their_common_name(hylo: Any, tmp_path: Path) -> None:
    """Each is a run; all of them go on by their own command."""
    (tmp_path / "night-r1").mkdir()
    done = hylo("run", "--resume", "night", "--run-root", tmp_path)
    assert done.code == 2
    assert "fix: it was run in repetitions: name one, night-r1, or repeat its whole command" in done.err


def test_a_name_that_a_run_has_already_is_said_to_continue_it(hylo: Any, tmp_path: Path) -> None:
    """In a line, of a run that was stopped and of one that is whole; a new run says nothing of the kind."""
    how = ("run", "reach_fixed", "--agent", "zero", "--episodes", "3", "--max-steps", "2", "--workers", "0")
    how += ("--run-id", "mine", "--run-root", tmp_path)
    first = hylo(*how, "--budget", "0.000001s")
    assert first.code == 3
    assert "is continued" not in first.err
    second = hylo(*how)
    assert second.code == 0
    assert second.err.splitlines().count("the run mine is continued: 0 of 3 episodes had their outcome already") == 1
    third = hylo(*how)
    assert third.code == 0
    said = "the run mine is whole, every episode had its outcome already: nothing was run; another --run-id begins a new one"
    assert [line for line in third.err.splitlines() if "mine" in line] == [said]
    assert hylo("run", "--resume", tmp_path / "mine", "--json").err.splitlines() == [said.partition(";")[0]]
