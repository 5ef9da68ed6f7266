"""Mode structure_closure."""

import pytest

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.modes import structure_closure as mode
from hylo_eval.verify.verdict import InvalidTask, Status

TASK = {"prefix": '{"a": [1, ', "expected": '{"a": [1, 2]}', "format": "json"}


@pytest.mark.parametrize(
    ("continuation", "reward", "trailing"),
    [
        ("2]}", 1.0, False),
        ("2]} and more", 1.0, True),
        ("3]}", 0.0, False),
        ("2", 0.0, False),
        ("", 0.0, False),
    ],
)
def test_the_continuation_must_complete_the_reference(continuation, reward, trailing):
    """The first structure decides; what follows is reported; an empty continuation is graded."""
    verdict = grade_candidate(candidate_spec("structure_closure", TASK), continuation, {})
    assert (verdict.status, verdict.reward) == (Status.SCORED, reward)
    assert verdict.detail["trailing_content"] is trailing


def test_deep_nesting_is_a_zero():
    """A hundred thousand brackets are a wrong answer."""
    verdict = grade_candidate(candidate_spec("structure_closure", TASK), "[" * 100_000, {})
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)


@pytest.mark.parametrize(("after", "trailing"), [("x", True), (" ", False)])
def test_output_beyond_the_limit_is_still_trailing_content(monkeypatch, after, trailing):
    """The end of the structure is looked for up to a limit, what follows it up to the end."""
    monkeypatch.setattr(mode, "MAX_CONTINUATION_CHARACTERS", 8)
    spec = candidate_spec("structure_closure", TASK)
    verdict = grade_candidate(spec, "2]}" + " " * 1000 + after, {})
    assert (verdict.reward, verdict.detail["trailing_content"]) == (1.0, trailing)
    late = grade_candidate(spec, " " * 1000 + "2]}", {})
    assert (late.reward, late.detail["syntax_complete"]) == (0.0, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"prefix": "{}", "expected": "{}"},
        {"prefix": "]"},
        {"prefix": '{"b": '},
        {"expected": '{"a": [1, 2]'},
        {"expected": '{"a": [1, 2]} x'},
        {"expected": '{"a": [1, 1e999]}'},
        {"format": "tool"},
        {"format": "code_fence", "prefix": "```\n", "expected": "```\nx"},
    ],
)
def test_a_task_that_contradicts_itself_is_refused(changes):
    """A finished or broken prefix, and a reference that does not complete it, are the task's defects."""
    with pytest.raises(InvalidTask):
        candidate_spec("structure_closure", TASK | changes)
