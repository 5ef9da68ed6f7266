"""What became of items in another queue is entered into a new one: once, whole, and without a contradiction."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.errors import QueueError
from hylo_eval.queue import Attempt, Ending, Item, Outcome, Owner, RunQueue, State
from hylo_eval.queue.settings import MOST_LOSSES
from hylo_eval.queue.transfer import History, by_key, write_histories
from tests.hylo_eval.queue.fakes import FakeMachine


def attempt(key: str = "t#0", number: int = 1, ending: Ending = Ending.DONE) -> Attempt:
    """An attempt that has ended."""
    outcome = attrs.evolve(
        Outcome.without_trace("completed", "", started_at=5.0, seconds=2.0), steps=3, success=True, worker="w"
    )
    return Attempt(key=key, task="t", position=0, attempt=number, owner="abc", ending=ending, outcome=outcome)


def history(key: str = "t#0", *endings: Ending, claimed: int | None = None) -> History:
    """A history of attempts that ended so."""
    attempts = [attempt(key, number, ending) for number, ending in enumerate(endings, 1)]
    return History(key=key, claimed=len(attempts) if claimed is None else claimed, attempts=tuple(attempts), host="far")


def new_queue(tmp_path: Any, count: int = 3, max_attempts: int = 3) -> RunQueue:
    """A queue nobody has claimed from."""
    items = [Item(key=f"t#{n}", task="t", position=n) for n in range(count)]
    return RunQueue.create(tmp_path / "queue.db", config={}, items=items, max_attempts=max_attempts)


@given(
    endings=st.lists(
        st.tuples(
            st.lists(st.sampled_from([Ending.RETRIED, Ending.LOST, Ending.RELEASED, Ending.DEMOTED]), max_size=2),
            st.sampled_from([None, Ending.DONE, Ending.ABSTAINED]),
        ),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=20, deadline=None)
def test_what_is_entered_is_what_the_queue_tells(tmp_path_factory, endings):
    """States, counts and attempts are those of the histories, and what is pending can be claimed and no more."""
    histories = [
        history(f"t#{n}", *before, *([] if last is None else [last])) for n, (before, last) in enumerate(endings)
    ]
    with new_queue(tmp_path_factory.mktemp("queue"), len(endings)) as queue:
        write_histories(queue.path, histories)
        finals = [last for _, last in endings]
        counts = queue.counts()
        assert counts[State.DONE] == finals.count(Ending.DONE)
        assert counts[State.ABSTAINED] == finals.count(Ending.ABSTAINED)
        assert counts[State.PENDING] == finals.count(None)
        told = by_key(queue.attempts())
        for entered in histories:
            assert [(item.attempt, item.ending, item.outcome) for item in told.get(entered.key, ())] == [
                (item.attempt, item.ending, item.outcome) for item in entered.attempts
            ]
        claimed = []
        while lease := queue.claim(Owner.here(), in_order=True):
            claimed.append((lease.key, lease.attempt))
        assert claimed == [
            (item.key, item.claimed + 1) for item, last in zip(histories, finals, strict=True) if last is None
        ]


def test_failures_count_on(tmp_path):
    """Two of three tries failed elsewhere, and one was lost, which is no failure: one is left."""
    with new_queue(tmp_path, 1) as queue:
        ended = [Ending.RETRIED, Ending.RELEASED, Ending.LOST, Ending.RETRIED]
        write_histories(queue.path, [history("t#0", *ended)])
        lease = queue.claim(Owner.here())
        assert lease.attempt == 5
        outcome = Outcome.without_trace("env_error", "again", started_at=1.0)
        assert queue.retry(lease, outcome) is State.ABSTAINED


def test_losses_count_on(tmp_path):
    """An item that took its machine down nine times elsewhere does so once more."""
    with new_queue(tmp_path, 1) as queue:
        write_histories(queue.path, [history("t#0", *[Ending.LOST] * (MOST_LOSSES - 1))])
        machine = FakeMachine()
    with RunQueue.open(tmp_path / "queue.db", config={}, machine=machine) as queue:
        assert queue.claim(machine.owner("first")).attempt == MOST_LOSSES
        machine.ended.add("first")
        assert queue.claim(machine.owner("second")) is None
        assert queue.counts()[State.ABSTAINED] == 1


@pytest.mark.parametrize("ending", [Ending.RETRIED, Ending.LOST])
def test_what_failed_elsewhere_comes_last(tmp_path, ending):
    """As it would have in the queue in which it failed."""
    with new_queue(tmp_path) as queue:
        write_histories(queue.path, [history("t#0", ending)])
        assert [queue.claim(Owner.here()).key for _ in range(3)] == ["t#1", "t#2", "t#0"]


@pytest.mark.parametrize("bad", ["unknown", "twice", "claimed"])
def test_an_item_that_is_not_fresh_is_refused_and_nothing_is_entered(tmp_path, bad):
    """All of it, or nothing."""
    with new_queue(tmp_path) as queue:
        if bad == "claimed":
            queue.claim(Owner.here(), in_order=True)
        histories = [history("t#1", Ending.DONE), history({"unknown": "t#9", "twice": "t#1", "claimed": "t#0"}[bad])]
        with pytest.raises(QueueError, match="is no item that nobody has claimed"):
            write_histories(queue.path, histories)
        assert queue.counts()[State.DONE] == 0
        assert list(queue.attempts()) == []


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: history("t#0", Ending.DONE, claimed=0), "contradict the number of its claims"),
        (lambda: history("t#0", Ending.DONE, Ending.DONE), "more than one outcome"),
        (lambda: History(key="t#0", claimed=2, attempts=(attempt(), attempt())), "contradict"),
        (lambda: History(key="t#1", claimed=1, attempts=(attempt(),)), "at another item"),
    ],
)
def test_a_history_does_not_contradict_itself(make, reason):
    """It comes from a file that anybody may have written."""
    with pytest.raises(QueueError, match=reason):
        make()
