"""How two configurations differ."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.canonical import digest
from hylo_eval.queue.configuration import MAX_LINES, describe_differences, differ_by_release, differences

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, 1.0]) | st.text(max_size=3)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@given(documents, documents)
def test_there_is_a_difference_exactly_where_digests_differ(stored: Any, given_now: Any):
    """1 and 1.0 are one number, true and 1 are two values."""
    assert (list(differences(stored, given_now)) == []) == (digest(stored) == digest(given_now))


def test_each_difference_is_one_line():
    """Of kinds, lengths and members, with the path a person would write."""
    stored = {"agent": {"noise": 0.1, "name": "a"}, "tasks": [1, 2], "safety": True, "odd name": 1}
    now = {"agent": {"noise": 0.2, "name": "a"}, "tasks": [1], "safety": 1, "extra": "new\nline"}
    assert [str(difference) for difference in differences(stored, now)] == [
        "agent.noise: stored 0.1, given 0.2",
        "extra: stored nothing, given 'new\\nline'",
        "'odd name': stored 1, given nothing",
        "safety: stored True, given 1",
        "tasks[1]: stored 2, given nothing",
    ]


def test_only_members_of_hylo_are_about_code():
    """``hylo.version`` is, ``hylo_agent`` is not."""
    now = {"hylo": {"version": "2"}, "hylo_agent": 2}
    assert [difference.is_code for difference in differences({"hylo": {"version": "1"}}, now)] == [True, False]


@pytest.mark.parametrize(
    ("stored", "by_release"),
    [
        ({"hylo": 1, "env": {}, "safety": [{}]}, True),
        ({"hylo": 2, "env": {}, "safety": [{}]}, False),
        ({"hylo": 1, "env": {"source_digest": "other"}, "safety": [{}]}, False),
        ({"hylo": 1, "env": {}, "safety": []}, False),
        ({"hylo": 2, "env": {"source_digest": "one"}, "safety": [{"source_digest": "one"}]}, False),
    ],
)
def test_a_digest_that_an_older_release_kept_none_of_is_of_its_code(stored: dict[str, Any], by_release: bool):
    """Nothing tells that the file was another; without another release, or with another file, something does."""
    now = {"hylo": 2, "env": {"source_digest": "one"}, "safety": [{"source_digest": "one"}]}
    assert differ_by_release(list(differences(stored, now))) is by_release
    assert differ_by_release(list(differences(now, stored))) is by_release


def test_what_is_too_much_is_counted():
    """An error text has a bounded number of lines."""
    found = list(differences({}, {f"m{number:03}": number for number in range(MAX_LINES + 7)}))
    lines = describe_differences(found).splitlines()
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "  and 7 more"
