"""Reading the first and the last event the short way."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import ContractError
from hylo_core.trace import EpisodeEnd, EpisodeStart
from hylo_eval.traces.first_and_last import read_end, read_start
from tests import strategies
from tests.hylo_eval.traces.test_reader import GOLDEN

FIRST, *_, LAST = (orjson.loads(line) for line in GOLDEN.read_bytes().splitlines())


def members(event: dict[str, Any]) -> dict[str, Any]:
    """The members of an event beside type and schema."""
    return {name: value for name, value in event.items() if name not in ("type", "schema")}


def read(reader: Any, event: dict[str, Any]) -> str:
    """What is read, as text, or the refusal."""
    try:
        return repr(reader(event))
    except ContractError as error:
        return f"refused: {error}"


def test_events_as_they_are_written_are_read_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The long way is for those that break the contract and, once, for what the starts of a run share."""
    started = EpisodeStart.from_dict(members(FIRST))
    assert read_start(members(FIRST)) == started
    monkeypatch.setattr("hylo_core.codec.structure", lambda *_, **__: pytest.fail("the long way"))
    assert read_start(members(FIRST)) == started
    assert read_end(members(LAST)).steps == 3


@given(name=st.sampled_from([*members(LAST), "success_at_end", "more"]), value=strategies.any_json)
def test_an_end_is_judged_as_its_contract_judges_it(name: str, value: Any) -> None:
    """Same event, same refusal, with any JSON in place of any member."""
    event = {**members(LAST), name: value}
    assert read(read_end, event) == read(EpisodeEnd.from_dict, event)


@given(name=st.sampled_from([*members(FIRST), "more"]), value=strategies.any_json)
def test_a_start_is_judged_as_its_contract_judges_it(name: str, value: Any) -> None:
    """Likewise; a start of the same run has been read before."""
    read_start(members(FIRST))
    event = {**members(FIRST), name: value}
    assert read(read_start, event) == read(EpisodeStart.from_dict, event)


@pytest.mark.parametrize("name", ["status", "steps"])
def test_an_end_without_what_it_must_have_is_refused(name: str) -> None:
    """By the name of what is missing."""
    event = members(LAST)
    del event[name]
    with pytest.raises(ContractError, match=f"{name}: is missing"):
        read_end(event)
