"""How a run was called is kept, and read back as what anybody may have edited."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import EvalError
from hylo_eval.evaluation.invocation import invocation_of, read_budget, read_deadlines, read_devices, resumed
from hylo_eval.evaluation.manifest import write_manifest
from hylo_eval.evaluation.phases import Deadlines
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import MANIFEST_SCHEMA, read_manifest

NOTHING: dict[str, Any] = {
    "benchmark": None,
    "agent": None,
    "split": None,
    "key": None,
    "shard": None,
    "episodes": None,
    "max_episodes": None,
    "max_steps": None,
    "max_attempts": 3,
    "tasks": (),
    "scorers": (),
    "safety": (),
    "agent_arg": (),
    "env_arg": (),
    "run_id": None,
    "resume": None,
}
NOTHING |= dict.fromkeys(
    (
        "executor",
        "python",
        "devices",
        "ray_address",
        "gpus_per_worker",
        "video",
        "workers",
        "recycle_after",
        "max_rss_mb",
        "replicate",
    )
)
NOTHING |= {"deadlines": (), "fsync": False}
CALLED = {
    **NOTHING,
    "workers": 2,
    "replicate": 2,
    "video": "failures",
    "gpus_per_worker": 0.25,
    "deadlines": ("reset=30",),
    "fsync": True,
    "benchmark": "reach_fixed",
    "agent": "zero",
    "tasks": ("a", "b"),
    "max_steps": 7,
    "env_arg": ("noise=0.1",),
    "agent_arg": ("url=ws://robot:8000", "api_key=sk-secret"),
}


def stored(root: Path, invocation: Any) -> dict[str, Any]:
    """The options that continue a run whose manifest holds an invocation."""
    folder = RunFolder.at(root, "mine")
    folder.create()
    write_manifest({"schema": MANIFEST_SCHEMA, "invocation": invocation}, folder.manifest)
    return {**NOTHING, "run_root": root, "resume": "mine"}


def test_a_run_is_continued_as_it_was_called(tmp_path: Path) -> None:
    """Every option that says what is run; what is given now stands in its place, pair by pair."""
    options = stored(tmp_path, invocation_of({**CALLED, "agent_arg": ("url=ws://robot:8000",)}))
    again = resumed({**options, "env_arg": ("noise=0.2", "cameras=true"), "workers": 4}, {"env_arg", "workers"})
    assert again["run_id"] == "mine"
    assert {name: again[name] for name in ("benchmark", "agent", "tasks", "max_steps", "max_attempts")} == {
        "benchmark": "reach_fixed",
        "agent": "zero",
        "tasks": ("a", "b"),
        "max_steps": 7,
        "max_attempts": 3,
    }
    assert set(again["env_arg"]) == {"noise=0.2", "cameras=true"}
    assert again["agent_arg"] == ("url=ws://robot:8000",)
    assert again["workers"] == 4
    assert resumed(options, set())["workers"] == 2
    assert (again["video"], again["gpus_per_worker"], again["deadlines"], again["fsync"]) == (
        "failures",
        0.25,
        ("reset=30",),
        True,
    )


def moved(root: Path, *sessions: Any, env: str = "hylo_eval.envs.robocasa.factory:make_robocasa_env") -> dict[str, Any]:
    """The options that continue a run begun with a place and a setting, after other sessions of it."""
    options = stored(root, {"benchmark": "b", "agent": "zero", "env_arg": {"assets": "/old", "cameras": "true"}})
    path = RunFolder.at(root, "mine").manifest
    write_manifest({**read_manifest(path), "env": {"ref": env}, "continued": list(sessions)}, path)
    return options


def session(**env: str) -> dict[str, Any]:
    """What a manifest keeps of a session with ``--env-arg``."""
    return {"at": "2026-01-01T00:00:00+00:00", "invocation": {"benchmark": "b", "agent": "zero", "env_arg": env}}


@pytest.mark.parametrize(
    ("sessions", "given", "expected"),
    [
        ((), (), "/old"),
        ((session(assets="/new", cameras="true"),), (), "/new"),
        ((session(assets="/new"), session(assets="/newest")), (), "/newest"),
        ((session(assets="/new"), session(cameras="true")), (), "/new"),
        ((session(assets="/new"),), ("assets=/here",), "/here"),
        (("", {"at": "then"}, {"invocation": None}), (), "/old"),
    ],
)
def test_a_place_is_the_one_that_was_given_last(tmp_path: Path, sessions: Any, given: Any, expected: str) -> None:
    """Only of options that are places, and only where no other is given now."""
    again = resumed({**moved(tmp_path, *sessions), "env_arg": given}, {"env_arg"} if given else set())
    assert set(again["env_arg"]) == {f"assets={expected}", "cameras=true"}


def test_what_is_no_place_is_that_of_the_beginning(tmp_path: Path) -> None:
    """Of another family's environment, nothing of a later session counts; a session that was edited is refused."""
    again = resumed(moved(tmp_path, session(assets="/new", cameras="false"), env="somebodys:Env"), set())
    assert set(again["env_arg"]) == {"assets=/old", "cameras=true"}
    with pytest.raises(EvalError, match=r"invocation\.env_arg: must hold texts"):
        resumed(moved(tmp_path / "edited", {"invocation": {"env_arg": {"assets": 3}}}), set())


def test_a_secret_is_not_kept_and_is_asked_for(tmp_path: Path) -> None:
    """The error names the option; given again, it is taken."""
    kept = invocation_of(CALLED)
    assert "sk-secret" not in str(kept)
    options = stored(tmp_path, kept)
    with pytest.raises(EvalError, match="--agent-arg api_key is a secret and was not written down"):
        resumed(options, set())
    again = resumed({**options, "agent_arg": ("api_key=sk-secret",)}, {"agent_arg"})
    assert set(again["agent_arg"]) == {"url=ws://robot:8000", "api_key=sk-secret"}


def test_a_file_is_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark or agent file is kept by its absolute path; an alias stays one."""
    (tmp_path / "mine.toml").touch()
    monkeypatch.chdir(tmp_path)
    kept = invocation_of({**CALLED, "benchmark": "mine.toml"})
    assert (kept["benchmark"], kept["agent"]) == (str(tmp_path / "mine.toml"), "zero")


@pytest.mark.parametrize(
    "invocation",
    [
        None,
        [],
        "reach_fixed",
        {"benchmark": 7},
        {"wrokers": 3},
        {"workers": "3"},
        {"fsync": 1},
        {"max_steps": True},
        {"max_steps": "7"},
        {"tasks": "a"},
        {"tasks": [1]},
        {"env_arg": ["noise=1"]},
        {"env_arg": {"noise": 1}},
    ],
)
def test_an_invocation_that_is_none_is_refused(tmp_path: Path, invocation: Any) -> None:
    """A manifest can be edited by anybody."""
    with pytest.raises(EvalError, match=r"invocation|does not say how the run was called"):
        resumed(stored(tmp_path, invocation), set())


def test_a_run_that_is_none_is_refused_with_one_that_is(tmp_path: Path) -> None:
    """A slip of the keyboard is recognised; two names for one run are not guessed at."""
    options = stored(tmp_path, invocation_of(CALLED))
    with pytest.raises(EvalError, match=r"there is no run 'mien'.*mine"):
        resumed({**options, "resume": "mien"}, set())
    with pytest.raises(EvalError, match="name two runs"):
        resumed({**options, "run_id": "other"}, {"run_id"})


@pytest.mark.parametrize("folder", ["{root}/not/there", "not/there", "../mine", "{root}/mine/manifest.json"])
def test_a_run_folder_that_is_not_there_is_called_a_folder(tmp_path: Path, folder: str) -> None:
    """Nobody who names a folder is told about run ids; a file is none either."""
    options = stored(tmp_path, invocation_of(CALLED))
    named = folder.format(root=tmp_path)
    with pytest.raises(EvalError, match=rf"^there is no run folder {re.escape(repr(named))}") as refused:
        resumed({**options, "resume": named}, set())
    assert "--run-id" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "seconds"), [(None, None), ("90s", 90.0), ("20m", 1200.0), ("1.5h", 5400.0), ("0.5s", 0.5)]
)
def test_a_budget_is_read_in_seconds(text: str | None, seconds: float | None) -> None:
    """With its unit."""
    assert read_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "20", "m", "-1m", "0s", "1d", "1e3s", "20 m", "infs", "nans", "٣m"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    """The error shows one."""
    with pytest.raises(EvalError, match="--budget takes a time such as 90s"):
        read_budget(text)


def test_deadlines_are_read_over_the_defaults() -> None:
    """What is not named keeps its own."""
    assert read_deadlines(("reset=30", "act=0.5")) == Deadlines(reset=30, act=0.5)
    assert read_deadlines(()) == Deadlines()


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("rest=3", "no phase 'rest'.*reset"),
        ("step=soon", "--deadline step takes seconds, not 'soon'"),
        ("step=\uff11\uff12", "--deadline step takes seconds in the digits 0 to 9"),
        ("step=1_0", "--deadline step takes seconds in the digits 0 to 9"),
        ("step=1e-9", r"deadline of step must be at least 0\.2 seconds"),
        ("step=0", r"deadline of step must be at least 0\.2 seconds"),
        ("step=inf", r"deadline of step must be at least 0\.2 seconds"),
        ("step", "--deadline"),
    ],
)
def test_what_is_no_deadline_is_refused(pair: str, message: str) -> None:
    """The error names phase and value."""
    with pytest.raises(EvalError, match=message):
        read_deadlines((pair,))


def test_devices_are_numbers_or_ids() -> None:
    """As CUDA names them; no list of them is no GPU."""
    assert read_devices(None) == ()
    assert read_devices("0,1") == ("0", "1")
    assert read_devices("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6") == ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",)


@pytest.mark.parametrize("text", ["", "0,", "0, 1", "0;1", "a/b", "x" * 65])
def test_what_is_no_device_is_refused(text: str) -> None:
    """It would reach an environment variable."""
    with pytest.raises(EvalError, match="--devices takes numbers or ids"):
        read_devices(text)
