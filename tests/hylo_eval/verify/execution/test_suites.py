"""The rule from test ids to a verdict, and command lines without a shell."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.execution.deadline import Deadline, check_timeout
from hylo_eval.verify.execution.suites import grade_required_ids, is_workspace_program, split_command
from hylo_eval.verify.specs.suites import GotestSpec
from hylo_eval.verify.verdict import InvalidTask

ids = st.sampled_from("abcdef")


@given(st.dictionaries(ids, st.booleans()), st.lists(ids), st.lists(ids))
def test_required_ids(outcomes, must_pass, must_not_break):
    """All required ids must have passed; without any, all that ran must have, and at least one ran."""
    verdict = grade_required_ids(outcomes, GotestSpec(must_pass=must_pass, must_not_break=must_not_break))
    required = must_pass + must_not_break
    counted = required or list(outcomes)
    assert verdict.reward == float(bool(counted) and all(outcomes.get(test_id) is True for test_id in counted))
    assert verdict.detail["total"] == len(counted)
    assert verdict.detail["passed"] == sum(outcomes.get(test_id) is True for test_id in counted)


def test_first_failure():
    """The first required id that did not pass is named."""
    verdict = grade_required_ids({"a": True, "b": False}, GotestSpec(must_pass=["a", "c", "b"]), exit_code=1)
    assert verdict.detail == {"passed": 1, "total": 3, "first_failure": "c", "exit_code": 1}


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_timeouts(seconds):
    """A timeout must be a positive number of seconds that a wait can take."""
    with pytest.raises(InvalidTask, match="timeout"):
        check_timeout(seconds, field="timeout")


def test_deadline():
    """A deadline in the past leaves no time, one in the future some."""
    assert Deadline.after(-1.0).passed
    assert 0.0 < Deadline.after(60.0).remaining_seconds <= 60.0


def test_command_lines():
    """A command line is split like a shell's words, and expands nothing."""
    assert split_command("prog 'a b' $HOME *", field="command") == ["prog", "a b", "$HOME", "*"]
    for command in ("", "  ", "a 'b", "a\0b"):
        with pytest.raises(InvalidTask):
            split_command(command, field="command")


def test_workspace_programs():
    """A program named by a path in the workspace is the candidate's, one found on the search path is not."""
    assert is_workspace_program("./gradlew", Path("/app"))
    assert is_workspace_program("/app/bin/test", Path("/app"))
    assert not is_workspace_program("gradle", Path("/app"))
    assert not is_workspace_program("/usr/bin/gradle", Path("/app"))
