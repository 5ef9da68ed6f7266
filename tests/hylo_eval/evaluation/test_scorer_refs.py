"""What a log says of scorers, so that they are found again."""

from __future__ import annotations

from typing import Any

import pytest

from hylo_core import Score
from hylo_core.refs import load_ref
from hylo_eval.evaluation.making import make_scorer
from hylo_eval.evaluation.scorer_refs import declare, scorer_ref
from hylo_eval.plugins import BUILT_IN

HERE = "tests.hylo_eval.evaluation.test_scorer_refs"


class Above:
    """A scorer with a member; a class attribute says what it measures."""

    name = "above"
    binary = True
    unit = "m"

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold

    def score(self, trace: Any, task: Any) -> Score:
        return Score(float(self.threshold < 1))


class Needy(Above):
    """Cannot be made without arguments."""

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold)


class Slotted:
    """Keeps its members in slots."""

    __slots__ = ("limit",)
    name = "slotted"

    def __init__(self, limit: int = 1) -> None:
        self.limit = limit

    def score(self, trace: Any, task: Any) -> Score:
        return Score(float(self.limit))


STRICT = Above(0.9)


@pytest.mark.parametrize("plugin", BUILT_IN["scorers"], ids=lambda plugin: plugin.name)
def test_a_built_in_scorer_has_the_reference_of_its_short_name(plugin: Any) -> None:
    """So that a log's own scorers are the ones its run was scored with."""
    assert scorer_ref(make_scorer(plugin.name)) == plugin.ref


def test_a_reference_gives_an_equal_scorer_or_there_is_none() -> None:
    """A class where the defaults make it, a name where the module has one, else nothing."""
    assert scorer_ref(Above()) == f"{HERE}:Above"
    assert scorer_ref(STRICT) == f"{HERE}:STRICT"
    assert load_ref(scorer_ref(STRICT)).threshold == 0.9
    assert scorer_ref(Slotted()) == f"{HERE}:Slotted"
    for nameless in (Above(0.7), Needy(0.5), Slotted(2), type("Local", (Above,), {})()):
        assert scorer_ref(nameless) == ""


def test_a_declaration_says_what_the_scorer_says_of_itself() -> None:
    """In the order in which they were asked."""
    found = declare([Slotted(), Above()])
    assert list(found) == ["slotted", "above"]
    assert (found["above"].binary, found["above"].unit) == (True, "m")
    assert (found["slotted"].binary, found["slotted"].unit) == (False, "")
