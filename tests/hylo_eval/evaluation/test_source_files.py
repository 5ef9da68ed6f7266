"""Digests of the files that somebody else's plug-ins are written in."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import find_benchmark
from hylo_eval.agents.reach_scripted import ReachScripted
from hylo_eval.compare import EvidenceRefused, pair_evidence
from hylo_eval.envs.reach import ReachEnv
from hylo_eval.evaluation.comparing.evidence import read_evidence
from hylo_eval.evaluation.evaluate import evaluate
from hylo_eval.evaluation.making import make_agent, make_env_factory
from hylo_eval.evaluation.manifest import describe_safety
from hylo_eval.evaluation.plan import plan_run
from hylo_eval.evaluation.source_files import source_of, source_of_env
from hylo_eval.safety.finite import NonFiniteGuard
from hylo_eval.traces.finding import find_run
from tests.runs import edit_manifest

MINE = {"source_digest": f"sha256:{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}"}


class OwnReach(ReachEnv):
    """Somebody's own env, whatever it inherits."""


class OwnAgent(ReachScripted):
    """Somebody's own agent."""


class OwnFilter(NonFiniteGuard):
    """Somebody's own filter."""


def own_factory(task: Any) -> ReachEnv:
    """A function as a factory."""
    return OwnReach(task)


@pytest.mark.parametrize("plugin", [OwnReach, own_factory])
def test_the_file_of_a_plugin_of_somebody_else_has_a_digest(plugin: Any) -> None:
    """Of a class and of a function."""
    assert source_of(plugin) == MINE


@pytest.mark.parametrize("plugin", [ReachEnv, functools.partial(OwnReach), len, None])
def test_what_is_ours_or_in_no_file_has_none(plugin: Any) -> None:
    """Hylo's own files have a digest of their own; an object is written nowhere, or not known where."""
    assert source_of(plugin) == {}


def test_agents_envs_and_filters_are_recorded_with_it() -> None:
    """The three kinds of code that decide what an episode is."""
    here = "tests.hylo_eval.evaluation.test_source_files"
    assert make_env_factory(f"{here}:OwnReach", {}, {}).ref == {"ref": f"{here}:OwnReach", "options": {}, **MINE}
    assert make_agent(f"{here}:OwnAgent", {}).ref["source_digest"] == MINE["source_digest"]
    ours, theirs = describe_safety([NonFiniteGuard(), OwnFilter()])
    assert theirs == {**ours, **MINE}
    assert "source_digest" not in ours


def test_a_reference_says_whose_file_it_is_where_a_function_is_passed() -> None:
    """So a run from Python says what the command would; what cannot be found has none."""
    here = "tests.hylo_eval.evaluation.test_source_files"
    assert source_of_env(len, {"ref": f"{here}:OwnReach"}) == MINE
    assert source_of_env(OwnReach, {"ref": f"{here}:Nothing"}) == {}
    assert source_of_env(OwnReach, {"ref": "no reference"}) == {}
    assert source_of_env(OwnReach, {}) == MINE


def test_runs_of_an_environment_whose_file_was_changed_between_them_are_refused(tmp_path: Path) -> None:
    """Under one reference, with a looser tolerance say: nothing else would tell. Accepted by its name only."""
    bench = find_benchmark("reach_fixed")
    for run_id, speed in (("candidate", 0.25), ("parent", 0.2)):
        evaluate(
            bench,
            "heldout",
            env_factory=OwnReach,
            agent=ReachScripted(speed=speed),
            run_root=tmp_path,
            run_id=run_id,
            plan=plan_run(bench, "heldout", episodes=2),
        )
    edit_manifest(tmp_path / "parent", lambda members: members["env"].update(source_digest="sha256:other"))
    ours, theirs = (read_evidence(find_run(name, tmp_path)) for name in ("candidate", "parent"))
    assert ours.conditions.env_source == MINE["source_digest"]
    with pytest.raises(EvidenceRefused, match="that of the parent's sha256:other") as refused:
        pair_evidence(ours, theirs)
    assert [item.name for item in refused.value.differences] == ["env-source"]
    assert [item.name for item in pair_evidence(ours, theirs, allow=["env-source"]).allowed] == ["env-source"]
