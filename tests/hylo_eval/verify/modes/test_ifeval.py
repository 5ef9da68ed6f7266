"""Mode ifeval."""

import pytest

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.modes.ifeval import grade_ifeval_candidate
from hylo_eval.verify.verdict import InvalidTask, Status

PARAMETERS = {
    "constraints": [
        {"name": "punctuation:no_comma"},
        {"name": "length_constraints:number_words", "params": {"num_words": 2}},
    ]
}


def test_every_constraint_must_hold():
    """1.0 when all hold; one that fails makes it 0.0 and is named."""
    spec = candidate_spec("ifeval", PARAMETERS)
    good = grade_candidate(spec, "pick up", {})
    assert (good.status, good.reward, good.detail["failed"]) == (Status.SCORED, 1.0, [])
    bad = grade_candidate(spec, "pick, up", {})
    assert (bad.status, bad.reward, bad.detail["failed"]) == (Status.SCORED, 0.0, ["punctuation:no_comma"])
    assert [entry["passed"] for entry in bad.detail["constraints"]] == [False, True]
    assert bad == grade_ifeval_candidate(spec, "pick, up")


@pytest.mark.parametrize("constraints", [[], [{"name": "punctuation:no_such"}]])
def test_a_specification_that_checks_nothing_known_is_refused(constraints):
    """No constraint, or an unknown one, is the task's defect."""
    with pytest.raises(InvalidTask):
        candidate_spec("ifeval", {"constraints": constraints})
