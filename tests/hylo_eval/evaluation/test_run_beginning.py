"""The record of a run: made at its beginning, checked when it is continued."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hylo_core.canonical import digest
from hylo_eval import EvalError
from hylo_eval.errors import QueueError
from hylo_eval.evaluation.manifest import build_config
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.evaluation.run_beginning import RunBeginning
from hylo_eval.queue import Outcome, Owner, RunQueue, State
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import read_manifest
from tests.hylo_eval.evaluation.setups import plan, setup


def record(root: Path, **changes: Any) -> RunBeginning:
    """The record of a run of four episodes."""
    members: dict[str, Any] = {
        "plan": plan(),
        "setup": setup(),
        "run": RunFolder.at(root, "mine"),
        "scorers": ["success"],
    }
    return RunBeginning(**{**members, **changes})


def opened(what: RunBeginning, **options: Any) -> RunQueue:
    """Its queue."""
    return what.open_queue(**{"fsync": False, "allow_code_change": False, **options})


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[RunQueue]:
    """The queue of a new run."""
    with closing(opened(record(tmp_path, details={"invocation": {"benchmark": "unit"}}))) as queue:
        yield queue


def test_a_new_run_has_a_manifest_and_every_instance_in_its_queue(tmp_path: Path, begun: RunQueue) -> None:
    """In declared order, and nothing else; both hold the same configuration."""
    assert sorted(path.name for path in (tmp_path / "mine").iterdir() if "-" not in path.name) == [
        "episodes",
        "manifest.json",
        "queue.db",
    ]
    assert [result.key for result in begun.results()] == [item.key for item in plan().declared]
    manifest = read_manifest(tmp_path / "mine" / "manifest.json")
    assert manifest["config_digest"] == begun.config_digest == digest(build_config(plan(), setup()))
    assert manifest["invocation"] == {"benchmark": "unit"}
    assert "continued" not in manifest


def test_commands_that_begin_one_run_at_the_same_moment_share_it(tmp_path: Path) -> None:
    """One makes it, the others continue it: no item stands twice, and the manifest is of the one that made it."""
    together = threading.Barrier(4)

    def begin(number: int) -> int:
        what = record(tmp_path, details={"number": number})
        together.wait()
        with closing(opened(what)) as queue:
            return sum(1 for _ in queue.results())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(begin, range(4))) == [4] * 4
    manifest = read_manifest(tmp_path / "mine" / "manifest.json")
    assert sorted([manifest["number"], *(session["number"] for session in manifest["continued"])]) == [0, 1, 2, 3]


def test_a_command_that_comes_second_with_another_run_is_told_what_differs(tmp_path: Path, begun: RunQueue) -> None:
    """It found no queue at first; what the quicker one wrote stays as it is."""
    other = record(tmp_path, plan=plan(max_steps=7))
    before = (tmp_path / "mine" / "manifest.json").read_bytes()
    with pytest.raises(QueueError, match=r"(?s)overrides.max_steps: stored nothing, given 7") as caught:
        other.begin_or_continue(fsync=False, allow_code_change=False)
    assert caught.value.fix == "leave out what differs, or choose another --run-id, without --resume"
    assert (tmp_path / "mine" / "manifest.json").read_bytes() == before


def test_a_run_that_is_continued_says_so(tmp_path: Path, begun: RunQueue) -> None:
    """Every session on its own, with how it was executed; nothing done is done again."""
    lease = begun.claim(Owner.here())
    assert lease is not None
    begun.finish(lease, Outcome.without_trace("completed", "", started_at=0.0))
    for workers in (2, 4):
        with closing(opened(record(tmp_path, details={"execution": {"workers": workers}}))) as queue:
            assert queue.counts()[State.DONE] == 1
    manifest = read_manifest(tmp_path / "mine" / "manifest.json")
    assert [session["execution"]["workers"] for session in manifest["continued"]] == [2, 4]
    assert all(session["at"] and session["source_digest"] for session in manifest["continued"])


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"plan": plan(max_steps=7)}, "max_steps"),
        ({"plan": plan(episodes=2)}, "selection"),
        ({"setup": setup(versions={"scripted": "2"})}, "simulator"),
        ({"setup": setup(max_attempts=1)}, "max_attempts"),
    ],
)
def test_another_configuration_does_not_continue_a_run(
    tmp_path: Path, begun: RunQueue, changes: dict[str, Any], difference: str
) -> None:
    """The error names what differs; the manifest says nothing of the attempt."""
    before = (tmp_path / "mine" / "manifest.json").read_bytes()
    with pytest.raises(QueueError, match="the run 'mine' cannot be continued") as caught:
        opened(record(tmp_path, **changes))
    assert difference in caught.value.message
    assert (tmp_path / "mine" / "manifest.json").read_bytes() == before


def on_assets(options: dict[str, Any], **assets: str) -> RunSetup:
    """With what an env of a family with places is made from, and what lies there."""
    ref = {"ref": "hylo_eval.envs.robocasa.factory:make_robocasa_env", "options": options}
    versions = {"robocasa": "1", **({"robocasa-assets": assets["found"]} if assets else {})}
    return setup(env_ref=ref, versions=versions)


def begin_on(root: Path, options: dict[str, Any], **assets: str) -> None:
    """Begin the run, or continue it."""
    with closing(opened(record(root, setup=on_assets(options, **assets)))):
        pass


@pytest.mark.parametrize("given", [{"assets": "/moved"}, {}], ids=["named elsewhere", "named by a variable"])
def test_a_run_is_continued_where_its_assets_lie_elsewhere(tmp_path: Path, given: dict[str, Any]) -> None:
    """The digest of what lies there is the condition; the manifest says where it lay at first."""
    begin_on(tmp_path, {"assets": "/here"}, found="sha256:1")
    begin_on(tmp_path, given, found="sha256:1")
    manifest = read_manifest(tmp_path / "mine" / "manifest.json")
    assert manifest["env"]["options"] == {"assets": "/here"}
    assert len(manifest["continued"]) == 1


@pytest.mark.parametrize(
    ("before", "now", "fix"),
    [
        (
            {"found": "sha256:1"},
            {},
            r"name the assets again .* --env-arg assets=FOLDER, or HYLO_ROBOCASA_ASSETS=FOLDER",
        ),
        ({"found": "sha256:1"}, {"found": "sha256:2"}, "name the assets again"),
        ({}, {"found": "sha256:1"}, r"begin another run, without --resume .* where the assets were missing"),
    ],
    ids=["gone", "others", "there by now"],
)
def test_other_assets_than_a_run_was_begun_with_are_refused_with_what_mends_it(
    tmp_path: Path, before: dict[str, str], now: dict[str, str], fix: str
) -> None:
    """A version is nothing that a command can leave out."""
    begin_on(tmp_path, {"assets": "/here"}, **before)
    with pytest.raises(QueueError, match="robocasa-assets") as caught:
        begin_on(tmp_path, {"assets": "/there"}, **now)
    assert re.match(fix, caught.value.fix)
    assert "leave out" not in caught.value.fix


def test_other_packages_than_a_run_was_begun_with_are_refused_with_what_mends_it(
    tmp_path: Path, begun: RunQueue
) -> None:
    """Nobody can leave them out; what can be left out is said beside."""
    for changes, more in (({}, ""), ({"max_attempts": 1}, "; leave out what else differs")):
        with pytest.raises(QueueError, match=r"versions.scripted: stored '1', given '2'") as caught:
            opened(record(tmp_path, setup=setup(versions={"scripted": "2"}, **changes)))
        assert caught.value.fix == (
            "continue it in an installation with the stored versions, or begin another run, without --resume and under "
            f"another --run-id{more}"
        )


def test_a_run_that_was_killed_before_it_had_a_queue_is_begun(tmp_path: Path, begun: RunQueue) -> None:
    """Its folder is no obstacle."""
    begun.close()
    for path in (tmp_path / "mine").glob("queue.db*"):
        path.unlink()
    with closing(opened(record(tmp_path))) as queue:
        assert queue.counts()[State.PENDING] == 4


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    """Somebody's files, or traces of a run whose queue is gone."""
    folder = tmp_path / "mine"
    (folder / "episodes").mkdir(parents=True)
    (folder / "episodes" / "x.1.jsonl").write_text("{}")
    with pytest.raises(EvalError, match="there is a run 'mine'"):
        opened(record(tmp_path))
    assert sorted(path.name for path in folder.rglob("*")) == ["episodes", "x.1.jsonl"]


def test_an_outcome_whose_trace_is_gone_is_pending_again(tmp_path: Path, begun: RunQueue) -> None:
    """As after a power cut: the row had reached the disk, the trace had not."""
    lease = begun.claim(Owner.here())
    assert lease is not None
    begun.finish(
        lease,
        Outcome(
            status="completed",
            trace="episodes/lost.1.jsonl",
            trace_sha256="sha256:" + "0" * 64,
            behaviour_sha256="sha256:" + "0" * 64,
            trace_bytes=10,
            steps=1,
            success=True,
            started_at=0.0,
            seconds=1.0,
        ),
    )
    with closing(opened(record(tmp_path))) as queue:
        assert queue.counts() == {State.PENDING: 4, State.LEASED: 0, State.DONE: 0, State.ABSTAINED: 0}


def test_a_run_whose_folder_of_traces_is_gone_goes_on(tmp_path: Path, begun: RunQueue) -> None:
    """Else no episode of it could ever be run again."""
    begun.close()
    (tmp_path / "mine" / "episodes").rmdir()
    with closing(opened(record(tmp_path))) as queue:
        assert queue.counts()[State.PENDING] == 4
    assert (tmp_path / "mine" / "episodes").is_dir()
