"""Mode unsolvable."""

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.modes.unsolvable import grade_ejection_candidate
from hylo_eval.verify.verdict import Status


def test_every_answer_scores_zero():
    """There is no right answer."""
    spec = candidate_spec("unsolvable", {})
    for answer in ("42", ""):
        verdict = grade_candidate(spec, answer, {})
        assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)


def test_giving_up_is_right_here_and_wrong_elsewhere():
    """Only an unsolvable task rewards an agent that declares it unsolvable."""
    assert grade_ejection_candidate(candidate_spec("unsolvable", {})).reward == 1.0
    assert grade_ejection_candidate(candidate_spec("mcq", {"expected": "A"})).reward == 0.0
