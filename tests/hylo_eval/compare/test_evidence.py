"""Which evidence is comparable, and what it amounts to as scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.trace import BenchmarkRef
from hylo_eval import EvalError
from hylo_eval.compare import paired_compare
from hylo_eval.compare.comparability import EXCEPTIONS, EvidenceRefused, pair_evidence
from hylo_eval.compare.evidence import EpisodeOutcome, RunConditions, RunEvidence, Start


def conditions(run_id: str, **changes: Any) -> RunConditions:
    """Conditions that differ between runs only in who ran."""
    members: dict[str, Any] = {
        "run_id": run_id,
        "created_at": f"2026-01-01T00:00:00+00:00 {run_id}",
        "config_digest": f"sha256:{run_id}",
        "log_sha256": f"sha256:log-{run_id}",
        "benchmark": BenchmarkRef(id="unit", version="1", digest="sha256:bench", split="heldout"),
        "tasks_digest": "sha256:tasks",
        "overrides": {},
        "scorers": ("success",),
        "agent_name": run_id,
        "agent_version": "1",
        "trained_on": (),
        "versions": {"mujoco": "3.3.0"},
        "renderer": "egl",
        "env": {"ref": "unit:Env", "options": {"noise": 0.0}},
        "safety": ({"name": "finite"},),
        "hylo_version": "0.1.0",
    }
    return RunConditions(**{**members, **changes})


def outcome(score: float | None, reason: str = "", start: Start | None = None) -> EpisodeOutcome:
    """One episode with a success score."""
    reasons = {"success": reason} if reason else {}
    return EpisodeOutcome(
        scores={"success": score}, reasons=reasons, task_digest="sha256:task", start=start or Start(state="sha256:s")
    )


def evidence(run_id: str, scores: Mapping[str, float | None], **changes: Any) -> RunEvidence:
    """A run with these success scores."""
    return RunEvidence(
        conditions=conditions(run_id, **changes), outcomes={key: outcome(score) for key, score in scores.items()}
    )


def ten(run_id: str, **changes: Any) -> RunEvidence:
    """Ten failures."""
    return evidence(run_id, {f"t#{seed}": 0.0 for seed in range(10)}, **changes)


def refusal(candidate: RunEvidence, parent: RunEvidence, **options: Any) -> EvidenceRefused:
    """The refusal that must come."""
    with pytest.raises(EvidenceRefused) as caught:
        pair_evidence(candidate, parent, **options)
    return caught.value


OTHER = BenchmarkRef(id="unit", version="2", digest="sha256:other", split="heldout")
TRAIN = BenchmarkRef(id="unit", version="1", digest="sha256:bench", split="train")

DIFFERENT = [
    (
        "benchmark",
        {"benchmark": OTHER},
        "the candidate ran unit 1 (sha256:bench), the parent unit 2 (sha256:other)",
    ),
    ("split", {"benchmark": TRAIN}, "the candidate ran split 'heldout', the parent 'train'"),
    (
        "tasks",
        {"overrides": {"max_steps": 50}, "tasks_digest": "sha256:short"},
        "the candidate ran the tasks with nothing changed, the parent with max_steps=50",
    ),
    ("tasks", {"tasks_digest": "sha256:x"}, "the candidate ran tasks sha256:tasks, the parent sha256:x"),
    (
        "scorers",
        {"scorers": ("steps", "success")},
        "the candidate was scored with success, the parent with steps, success",
    ),
    ("versions", {"versions": {"mujoco": "3.2.7"}}, "candidate against parent: mujoco 3.3.0 against 3.2.7"),
    ("versions", {"versions": {}}, "candidate against parent: mujoco 3.3.0 against nothing"),
    (
        "renderer",
        {"renderer": "osmesa"},
        "the candidate's pictures were drawn with 'egl', the parent's with 'osmesa'",
    ),
    (
        "env",
        {"env": {"ref": "unit:Env", "options": {"noise": 0.1}}},
        "candidate against parent: options.noise 0.0 against 0.1",
    ),
    (
        "safety",
        {"safety": ({"name": "finite"}, {"name": "rate", "limit": 0.1})},
        "candidate against parent: filter 1.name nothing against rate, filter 1.limit nothing against 0.1",
    ),
]


@pytest.mark.parametrize(("name", "changes", "sentence"), DIFFERENT)
def test_each_difference_is_refused_with_both_values_and_can_be_allowed_by_its_name(
    name: str, changes: dict[str, Any], sentence: str
) -> None:
    """The refusal says what to type; allowed, the same sentence stands in the evidence."""
    candidate, parent = ten("a"), ten("b", **changes)
    refused = refusal(candidate, parent)
    assert [(item.name, item.sentence) for item in refused.differences] == [(name, sentence)]
    assert f"{name}: {sentence}" in str(refused)
    assert f"--allow {name}" in refused.fix
    allowed = pair_evidence(candidate, parent, allow=[name])
    assert [(item.name, item.sentence) for item in allowed.allowed] == [(name, sentence)]


@pytest.mark.parametrize(("name", "changes", "sentence"), DIFFERENT)
def test_another_exception_does_not_help(name: str, changes: dict[str, Any], sentence: str) -> None:
    """An exception lets its own difference pass and nothing else."""
    others = [other for other in EXCEPTIONS if other != name]
    assert [item.name for item in refusal(ten("a"), ten("b", **changes), allow=others).differences] == [name]


def test_all_differences_are_said_at_once() -> None:
    """Nobody wants to meet them one by one."""
    parent = ten("b", renderer="osmesa", versions={"mujoco": "3.2.7"}, scorers=())
    assert [item.name for item in refusal(ten("a"), parent).differences] == ["scorers", "versions", "renderer"]


def test_the_agents_own_packages_may_differ() -> None:
    """A new checkpoint may bring another torch; the simulator stays."""
    candidate = ten("a", versions={"mujoco": "3.3.0", "torch": "2.9"})
    assert not pair_evidence(candidate, ten("b")).allowed


@pytest.mark.parametrize("trained_on", ["unit/heldout", "unit"])
def test_a_candidate_trained_on_the_split_is_refused_and_a_parent_is_not(trained_on: str) -> None:
    """A parent that cheated only makes the candidate's task harder."""
    cheat = ten("a", trained_on=(trained_on,))
    sentence = "the candidate says that it was trained on unit/heldout"
    assert [item.sentence for item in refusal(cheat, ten("b")).differences] == [sentence]
    assert not pair_evidence(ten("b"), cheat).allowed
    assert not pair_evidence(ten("a", trained_on=("unit/train",)), ten("b")).allowed


def test_the_same_run_twice_is_refused_and_cannot_be_allowed() -> None:
    """Also as a copy under another name, and as the same run scored again."""
    run = ten("a")
    copied = attrs.evolve(ten("b"), conditions=conditions("b", log_sha256="sha256:log-a"))
    rescored = attrs.evolve(run, conditions=conditions("a", log_sha256="sha256:other"))
    for other in (run, copied, rescored):
        refused = refusal(run, other, allow=list(EXCEPTIONS))
        assert [item.name for item in refused.differences] == ["same-run"]
        assert refused.fix == "name two runs; hylo-eval ls lists them"
        assert refused.again == ()


def test_faults_are_refused_whatever_is_allowed() -> None:
    """The first ones in full, the others counted."""
    broken = attrs.evolve(ten("b"), faults=tuple(f"has fault {number}" for number in range(5)))
    sentences = [
        item.sentence for item in refusal(ten("a"), broken, allow=list(EXCEPTIONS), intersect=True).differences
    ]
    assert sentences == [
        "the parent's run has fault 0",
        "the parent's run has fault 1",
        "the parent's run has fault 2",
        "the parent's run has 2 more such faults",
    ]


def test_another_set_of_instances_needs_intersect_which_is_shown() -> None:
    """The keys are named; the intersection holds the shared ones only."""
    ours = evidence("a", {"t#1": 1.0, "t#2": 1.0})
    theirs = evidence("b", {"t#2": 0.0, "t#3": 0.0, "t#4": 0.0, "t#5": 0.0, "t#6": 0.0})
    [found] = refusal(ours, theirs, allow=list(EXCEPTIONS)).differences
    assert found.sentence == (
        "the two runs are of different instances: 1 shared, 1 only the candidate has (t#1), "
        "4 only the parent has (t#3, t#4, t#5, …)"
    )
    assert found.flags == ("--intersect",)
    both = pair_evidence(ours, theirs, intersect=True)
    assert both.scores("candidate", "success") == {"t#2": 1.0}
    assert both.scores("parent", "success") == {"t#2": 0.0}
    assert both.notes == (
        "intersection: 1 shared instances; left out are 1 that only the candidate has and 4 that only the parent has",
    )


def test_two_selections_with_other_tasks_digests_can_be_intersected() -> None:
    """One ran a task alone, the other all: what they share is compared task by task, by the traces."""
    ours, theirs = evidence("a", {"t#1": 1.0}, tasks_digest="sha256:one"), evidence("b", {"t#1": 0.0, "u#1": 0.0})
    assert pair_evidence(ours, theirs, intersect=True).scores("parent", "success") == {"t#1": 0.0}
    changed = attrs.evolve(theirs, outcomes={"t#1": attrs.evolve(outcome(0.0), task_digest="sha256:harder")})
    [found] = refusal(ours, changed, intersect=True).differences
    assert found.sentence == "1 of 1 instance is of other tasks on the two sides, t#1 first"


def test_runs_without_a_shared_instance_are_refused_even_as_an_intersection() -> None:
    """There is nothing to compare."""
    [found] = refusal(evidence("a", {"t#1": 1.0}), evidence("b", {"t#2": 1.0}), intersect=True).differences
    assert (found.sentence, found.allowable) == ("the two runs share no instance", False)


@pytest.mark.parametrize(
    ("steps", "said"),
    [((12.0, 50.0), "; what there is of it is no random sample: successes tend to end first"), ((50.0, 50.0), "")],
)
def test_that_successes_end_first_is_said_where_the_episodes_show_it(steps: tuple[float, float], said: str) -> None:
    """A success of twelve steps beside a failure of fifty; not where all are of one length."""
    outcomes = {
        f"t#{seed}": attrs.evolve(outcome(success), scores={"success": success, "steps": taken})
        for seed, (success, taken) in enumerate(zip((1.0, 0.0), steps, strict=True))
    }
    part = attrs.evolve(evidence("a", {}), outcomes=outcomes, finished=False)
    [refused] = refusal(part, ten("b"), unfinished_refused=True).differences
    assert refused.sentence == f"the candidate's run is not finished{said}"


def test_an_unfinished_run_is_noted_or_refused_as_asked() -> None:
    """A gate decides nothing on it; people must ask for the intersection."""
    part = attrs.evolve(evidence("a", {"t#0": 1.0}), finished=False)
    found = pair_evidence(part, ten("b"))
    assert (found.finished, found.notes) == (False, ("the candidate's run is not finished",))
    [refused] = refusal(part, ten("b"), unfinished_refused=True).differences
    assert refused.sentence == "the candidate's run is not finished"
    assert refused.flags == ("--intersect",)
    assert pair_evidence(part, ten("b"), unfinished_refused=True, intersect=True).scores("parent", "success") == {
        "t#0": 0.0
    }


def started_otherwise(count: int, total: int, **aspects: str) -> tuple[RunEvidence, RunEvidence]:
    """Two runs in which so many of all pairs began otherwise; the candidate wins every pair."""
    ours = {f"t#{seed:03d}": outcome(1.0) for seed in range(total)}
    theirs = {
        key: outcome(0.0, start=Start(**{"state": "sha256:s", **aspects}) if index < count else None)
        for index, key in enumerate(ours)
    }
    return (
        RunEvidence(conditions=conditions("a"), outcomes=ours),
        RunEvidence(conditions=conditions("b"), outcomes=theirs),
    )


def test_a_pair_that_began_differently_is_no_pair_up_to_one_in_a_hundred() -> None:
    """It abstains on both sides under its own reason, and is shown."""
    found = pair_evidence(*started_otherwise(1, 100, state="sha256:z", instruction="push"))
    assert found.unpaired == {"t#000": ("state", "instruction")}
    assert found.notes == ("1 of 100 pairs began differently (instruction, state) and is not counted",)
    for side in ("candidate", "parent"):
        assert found.scores(side, "success")["t#000"] is None
        assert found.reasons(side, "success") == {"t#000": "not_a_pair"}
    comparison = paired_compare(found.scores("candidate", "success"), found.scores("parent", "success"))
    assert (comparison.n_pairs, comparison.candidate_wins) == (99, 99)


@pytest.mark.parametrize(
    ("aspect", "word"),
    [("state", "state"), ("model", "model"), ("instruction", "instruction"), ("frames", "first picture")],
)
def test_more_of_them_refuse_the_evidence_unless_the_aspect_is_allowed(aspect: str, word: str) -> None:
    """Two in a hundred were run on other scenes; allowed by name, they are pairs again."""
    pair = started_otherwise(2, 100, **{aspect: "other"})
    [found] = refusal(*pair).differences
    assert (found.name, found.sentence) == (aspect, f"2 of 100 pairs began with another {word}, t#000 first")
    allowed = pair_evidence(*pair, allow=[aspect])
    assert not allowed.unpaired
    assert [item.name for item in allowed.allowed] == [aspect]
    assert allowed.scores("candidate", "success")["t#000"] == 1.0


def test_an_episode_that_never_began_is_no_other_start() -> None:
    """Its abstention has a reason of its own."""
    ours, theirs = ten("a"), ten("b")
    never = attrs.evolve(outcome(None, "infra"), start=None)
    theirs = attrs.evolve(theirs, outcomes={**theirs.outcomes, "t#0": never})
    found = pair_evidence(ours, theirs)
    assert not found.unpaired
    assert found.reasons("parent", "success") == {"t#0": "infra"}


def test_an_unknown_exception_is_refused_and_an_unneeded_one_is_noted() -> None:
    """A name that names nothing suggests the near one."""
    with pytest.raises(EvalError, match="no exception 'version' to allow; did you mean 'versions'"):
        pair_evidence(ten("a"), ten("b"), allow=["version"])
    assert pair_evidence(ten("a"), ten("b"), allow=["versions"]).notes == ("--allow versions was not needed",)


def test_a_refusal_says_what_is_wrong_then_where_then_the_fix() -> None:
    """A line each; digests are cut to what tells them apart, and in full in the differences."""
    long = {"versions": {"assets": f"sha256:{'a' * 64}"}}, {"versions": {"assets": f"sha256:{'b' * 64}"}}
    refused = refusal(ten("new", renderer="x", **long[0]), ten("old", **long[1]))
    head, *where, fix = str(refused).splitlines()
    assert head == "new and old are not comparable (versions, renderer; docs/gate.md#what-is-refused)"
    assert where == [
        f"  versions: candidate against parent: assets sha256:{'a' * 12}… against sha256:{'b' * 12}…",
        "  renderer: the candidate's pictures were drawn with 'x', the parent's with 'egl'",
    ]
    assert fix == (
        "  fix: run both agents under the same conditions; or, if that is meant, --allow versions --allow renderer"
    )
    assert refused.again == ("--allow", "versions", "--allow", "renderer")
    assert "b" * 64 in refused.differences[0].sentence


def test_what_nothing_lets_pass_is_given_no_way_around() -> None:
    """One difference that is never accepted makes exceptions for the others useless."""
    broken = attrs.evolve(ten("b", renderer="x"), faults=("has a fault",))
    refused = refusal(ten("a"), broken)
    assert refused.again == ()
    assert refused.fix == (
        "restore the files of b as they were written, or run its agent again; run both agents under the same conditions"
    )


def test_a_faulty_copy_is_not_taken_for_the_run_whose_id_it_carries() -> None:
    """The folder is named, where there is one."""
    broken = attrs.evolve(ten("b"), faults=("has a fault",), folder="runs/copy of b")
    assert refusal(ten("a"), broken).fix.startswith("restore the files of runs/copy of b as they were written")


def test_options_come_before_the_spec_that_they_decide() -> None:
    """Only the first differences are shown."""
    envs = [
        {"spec": {"state": ["a"] * count}, "ref": "unit:Env", "options": {"privileged": count > 4}} for count in (9, 4)
    ]
    refused = refusal(ten("a", env=envs[0]), ten("b", env=envs[1]))
    assert "candidate against parent: options.privileged True against False, spec." in str(refused)


def test_hostile_names_stay_on_their_line() -> None:
    """A renderer called so that it looks like another difference; the command line escapes the rest."""
    text = str(refusal(ten("a"), ten("b", renderer="x\n  traces: all right")))
    assert len(text.splitlines()) == 3


scores = st.dictionaries(
    st.integers(0, 30).map("t#{}".format), st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=20
)


@given(scores, scores)
def test_swapping_the_sides_mirrors_the_evidence(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Neither side is special: the same refusals, and the same pairs seen from the other side."""
    candidate, parent = evidence("a", ours), evidence("b", theirs)
    try:
        forward = pair_evidence(candidate, parent, intersect=True)
    except EvidenceRefused as refused:
        assert [item.name for item in refused.differences] == [
            item.name for item in refusal(parent, candidate, intersect=True).differences
        ]
        assert not ours.keys() & theirs.keys()
        return
    back = pair_evidence(parent, candidate, intersect=True)
    one = paired_compare(forward.scores("candidate", "success"), forward.scores("parent", "success"))
    two = paired_compare(back.scores("candidate", "success"), back.scores("parent", "success"))
    assert one.table == two.table.mirrored()
    assert (one.p_value, one.reverse_p_value) == (two.reverse_p_value, two.p_value)
    assert forward.scores("candidate", "success") == back.scores("parent", "success")
