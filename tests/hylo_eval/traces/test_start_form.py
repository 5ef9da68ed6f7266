"""The start event's bytes are those of its JSON form, although most of them are encoded once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import orjson
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import AgentInfo, AgentSpec
from hylo_core.spec import EnvSpec
from hylo_core.trace import ArrayLayout, BenchmarkRef, EpisodeEnd, EpisodeStart, EpisodeStatus
from hylo_eval.traces import start_form
from hylo_eval.traces.start_form import encode_start
from hylo_eval.traces.writer import end_form
from tests.episodes import instance

if TYPE_CHECKING:
    import pytest

BENCHMARK = BenchmarkRef(id="b", version="1", digest="none", split="heldout")
layouts = st.sampled_from([ArrayLayout(), ArrayLayout(shape=(3,)), ArrayLayout(dtype="text")])
starts = st.builds(
    EpisodeStart,
    instance=st.integers(0, 3).map(lambda seed: instance(seed=seed)),
    benchmark=st.just(BENCHMARK),
    agent=st.sampled_from(
        [AgentInfo(name="ä"), AgentInfo(name="b", components={"weights": {"sha": [1, 0.5, None]}}, trained_on=("b/x",))]
    ),
    env_spec=st.sampled_from([EnvSpec(), EnvSpec(control_hz=20.0)]),
    agent_spec=st.sampled_from([AgentSpec(), AgentSpec(replan=2, chunk_length=4)]),
    observations=st.dictionaries(st.text(st.characters(codec="utf-8")), layouts, max_size=3),
    action=layouts,
    versions=st.dictionaries(st.sampled_from("ab"), st.sampled_from("12")),
    renderer=st.sampled_from(["none", "egl"]),
    seeds=st.dictionaries(st.sampled_from(["env", "agent"]), st.integers(0, 9)),
    volatile=st.just({"attempt": 1}),
)


def whole(event: Any, **head: Any) -> bytes:
    """The form that the contract itself gives, without what is volatile."""
    return orjson.dumps({"type": event.type, **head, **attrs.evolve(event, volatile={}).to_dict()})


@given(starts)
def test_the_bytes_are_those_of_the_contracts_own_form(event: EpisodeStart) -> None:
    """Members in their order, those equal to their default left out: behaviour digests rest on it."""
    expected = whole(event, schema=event.schema)
    assert encode_start(event) == expected
    assert encode_start(event) == expected  # from memory


@given(
    st.sampled_from(EpisodeStatus),
    st.integers(0, 9),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, True, False]),
    st.sampled_from(["", "horizon"]),
)
def test_so_are_those_of_the_end_event(status: Any, steps: int, once: Any, at_end: Any, reason: str) -> None:
    """The other event that every episode has."""
    event = EpisodeEnd(status=status, steps=steps, success_once=once, success_at_end=at_end, reason=reason)
    assert orjson.dumps(end_form(event)) == whole(event)


def test_an_env_that_describes_itself_anew_each_time_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is bounded, and forgetting it changes nothing."""
    known: dict[int, Any] = {}
    monkeypatch.setattr(start_form, "_known", known)
    for number in range(2000):
        event = EpisodeStart(
            instance=instance(),
            benchmark=BENCHMARK,
            agent=AgentInfo(name="a"),
            env_spec=EnvSpec(control_hz=1.0 + number),
        )
        assert orjson.loads(encode_start(event))["env_spec"] == {"control_hz": 1 + number}
    assert len(known) <= 512
