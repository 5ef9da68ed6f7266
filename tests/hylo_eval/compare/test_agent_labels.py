"""What agents are called beside each other."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.compare.agent_labels import (
    AgentName,
    agent_labels,
    agent_name_of,
    settings_of,
    settings_words,
    side_labels,
)


def named(digest: str, name: str = "act 1", **settings: Any) -> AgentName:
    """An agent with settings."""
    return AgentName(agent=name, agent_digest=f"sha256:{digest}", agent_settings=settings)


def test_an_agent_that_nobody_shares_its_name_with_is_called_by_it() -> None:
    """Also where it stands twice."""
    assert agent_labels([named("1", noise=0.2), named("1", noise=0.2), named("2", "dp 1")]) == (
        "act 1",
        "act 1",
        "dp 1",
    )


def test_settings_that_differ_tell_agents_apart() -> None:
    """Those that differ and no others; a missing one is said."""
    labels = agent_labels([named("1", noise=0.2, seed=3), named("2", noise=0.5, seed=3), named("3", seed=3)])
    assert labels == ("act 1, noise=0.2", "act 1, noise=0.5", "act 1, noise unset")


def test_where_settings_do_not_tell_them_apart_the_digest_does() -> None:
    """Equal settings, more of them than anybody reads, and values that only differ far behind."""
    many = [named(str(place) * 9, **{f"option_{index}": place + index for index in range(4)}) for place in (1, 2)]
    long = [named(str(place) * 9, path="/" + "x" * 80 + str(place)) for place in (1, 2)]
    for agents in ([named("1" * 9, a=1), named("2" * 9, a=1)], many, long):
        assert agent_labels(agents) == ("act 1, digest 11111111", "act 1, digest 22222222")
    assert agent_labels([named("1" * 9), AgentName(agent="act 1", agent_digest="")]) == (
        "act 1, digest 11111111",
        "act 1, digest unknown",
    )


def test_only_those_that_settings_do_not_tell_apart_need_the_digest() -> None:
    """Two of one setting take no readable label from the third."""
    agents = [named("1" * 9, noise=0.2), named("2" * 9, noise=0.2), named("3" * 9, noise=0.5)]
    assert agent_labels(agents) == (
        "act 1, noise=0.2, digest 11111111",
        "act 1, noise=0.2, digest 22222222",
        "act 1, noise=0.5",
    )


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.dictionaries(st.sampled_from("xyz"), st.integers(0, 2), max_size=3)),
        max_size=8,
    )
)
def test_two_agents_never_have_one_label(agents: list[tuple[str, dict[str, int]]]) -> None:
    """And one agent never has two."""
    listed = [
        AgentName(agent="act 1", agent_digest=f"sha256:{letter * 8}{sorted(settings.items())}", agent_settings=settings)
        for letter, settings in agents
    ]
    labels = agent_labels(listed)
    short = {item.agent_digest[7:15] for item in listed}
    distinct = {item.agent_digest for item in listed}
    if len(short) == len(distinct):
        assert len(set(labels)) == len(distinct)
    assert len(set(zip(labels, (item.agent_digest for item in listed), strict=True))) == len(distinct)


def test_options_have_the_last_word_over_components() -> None:
    """And a manifest that somebody wrote by hand has a name all the same."""
    assert settings_of({"components": {"noise": 0.4, "net": "a"}, "options": {"noise": 0.2}}) == {
        "noise": 0.2,
        "net": "a",
    }
    found = agent_name_of({"agent": {"name": "act", "version": "1", "options": {"noise": 0.2}}})
    assert (found.agent, found.agent_settings) == ("act 1", {"noise": 0.2})
    assert found.agent_digest.startswith("sha256:")
    for hostile in ({}, {"agent": 3}, {"agent": {"options": 4, "components": [1]}}, {"agent": {"name": 2**80}}):
        assert agent_name_of(hostile).agent_settings == {}


def test_settings_are_said_in_short() -> None:
    """The first three, by name."""
    assert settings_words({"b": "x", "a": 0.5}) == "a=0.5, b=x"
    assert settings_words(dict.fromkeys("dcba", 1)) == "a=1, b=1, c=1, …"
    assert settings_words({}) == ""


def test_two_runs_of_one_agent_beside_each_other_are_told_apart_by_their_ids() -> None:
    """Only those that need it: what is set apart already keeps its label."""
    agents = [named("1"), named("1"), named("2", "dp 1")]
    assert side_labels(agents, ["monday", "tuesday", "wednesday"]) == ("act 1 (monday)", "act 1 (tuesday)", "dp 1")
