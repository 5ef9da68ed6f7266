"""The goal is evaluated by us, and the simulator's verdict decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.task import Predicate
from hylo_eval.envs.libero.goal import Goal
from hylo_eval.errors import EnvError

KNOWN = ("bowl_1", "plate_1", "drawer_1")


@given(first=st.booleans(), second=st.booleans(), verdict=st.booleans())
def test_verdict_decides_and_difference_is_marked(first, second, verdict):
    """Success is the simulator's verdict whatever we find; a different finding is a disagreement."""
    goal = Goal(Predicate("expr", expr="(and (on bowl_1 plate_1) (close drawer_1))"), KNOWN)
    state = goal.evaluate(lambda relation, _: {"on": first, "close": second}[relation], verdict)
    assert state.success is verdict
    assert state.conjuncts == (first, second)
    assert state.disagreement is ((first and second) != verdict)


def test_arguments_are_handed_on_in_order():
    """``(on bowl plate)`` asks whether the bowl is on the plate, not the reverse."""
    asked = []
    goal = Goal(Predicate("expr", expr="(on bowl_1 plate_1)"), KNOWN)
    goal.evaluate(lambda relation, arguments: bool(asked.append((relation, arguments))), verdict=False)
    assert asked == [("on", ("bowl_1", "plate_1"))]


def test_env_success_is_the_verdict_alone():
    """Without an expression there are no conjuncts and nothing to disagree with."""
    goal = Goal(Predicate("builtin", name="env_success"), KNOWN)
    state = goal.evaluate(lambda *_: pytest.fail("nothing to ask"), verdict=True)
    assert (state.success, state.conjuncts, state.disagreement) == (True, (), False)


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        (Predicate("expr", expr="(above bowl_1 plate_1)"), "uses 'above'"),
        (Predicate("expr", expr="(printjointstate bowl_1)"), "uses 'printjointstate'"),
        (Predicate("expr", expr="(on bowl_1)"), "1 arguments; it takes 2"),
        (Predicate("expr", expr="(and (on bowl_1 plate_2))"), "speaks of 'plate_2'"),
        (Predicate("callable", ref="package.module:check"), "not by"),
    ],
)
def test_goals_that_cannot_be_evaluated_are_refused_at_once(predicate, reason):
    """An unknown relation, arity, object or kind is found when the environment is made, not at step 200."""
    with pytest.raises(EnvError) as caught:
        Goal(predicate, KNOWN)
    assert reason in str(caught.value)
