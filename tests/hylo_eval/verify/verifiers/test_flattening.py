"""A trajectory as text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.verifiers.flattening import MAX_DEPTH, flatten_trajectory

TEXTS = st.text(max_size=20)


def messages(inner: Any) -> Any:
    """Lists, tuples and messages around what is there already."""
    return (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.fixed_dictionaries({"role": TEXTS, "content": inner | st.none()})
        | st.fixed_dictionaries({"text": inner | st.none()})
        | inner.map(lambda content: SimpleNamespace(content=content))
    )


TRAJECTORIES = st.recursive(TEXTS, messages, max_leaves=20)


@given(TEXTS)
def test_a_string_stays_as_it_is(text: str) -> None:
    """White space and all."""
    assert flatten_trajectory(text) == text


@given(st.lists(TRAJECTORIES, max_size=5))
def test_a_list_is_the_concatenation_of_its_items(items: list[Any]) -> None:
    """With nothing in between, at any depth."""
    assert flatten_trajectory(items) == "".join(map(flatten_trajectory, items))


@given(TRAJECTORIES, st.sampled_from(["content", "text"]))
def test_a_message_is_what_it_holds(inner: Any, member: str) -> None:
    """A mapping and an object alike."""
    expected = flatten_trajectory(inner)
    assert flatten_trajectory({member: inner, "role": "assistant"}) == expected
    assert flatten_trajectory(SimpleNamespace(**{member: inner})) == expected


def test_content_comes_before_text_and_null_content_is_nothing() -> None:
    """A message that only calls a tool says nothing; parts of a content are joined."""
    assert flatten_trajectory({"text": "b", "content": "a"}) == "a"
    assert flatten_trajectory({"text": "b", "content": None}) == "b"
    assert flatten_trajectory({"content": None, "tool_calls": [1]}) == ""
    assert flatten_trajectory([]) == ""
    assert flatten_trajectory({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}) == "ab"


@pytest.mark.parametrize(
    ("trajectory", "path"),
    [
        (5, "trajectory is 5"),
        (None, "trajectory is None"),
        (b"a", "trajectory is b'a'"),
        ({}, r"trajectory is \{\}"),
        ({"role": "assistant"}, "trajectory is"),
        (["a", {"content": ["b", 0.5]}], r"trajectory\[1\].content\[1\] is 0.5"),
        ({"content": {"type": "image_url", "image_url": {}}}, "trajectory.content is"),
        ([None], r"trajectory\[0\] is None"),
        ({"a"}, "trajectory is"),
    ],
)
def test_anything_else_is_refused_with_its_place(trajectory: Any, path: str) -> None:
    """It is not printed in its stead: a guess could not be told from an answer."""
    with pytest.raises(ValueError, match=path):
        flatten_trajectory(trajectory)


def test_a_cycle_is_refused() -> None:
    """Nesting has a bound."""
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ValueError, match="nested deeper than 32 levels"):
        flatten_trajectory(cycle)
    deep: Any = "x"
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert flatten_trajectory(deep) == "x"
