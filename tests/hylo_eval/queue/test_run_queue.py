"""The queue seen by one process at a time: who gets what, and whose result counts."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from hylo_eval.errors import QueueError
from hylo_eval.queue import Ending, Item, Lease, Owner, RunQueue, State, claiming, tables
from hylo_eval.queue.claiming import OTHER_HOST_SLACK_SECONDS
from hylo_eval.queue.run_queue import LIVENESS_SECONDS
from hylo_eval.queue.settings import MOST_LOSSES
from hylo_eval.traces.layout import PARTIAL, episode_id
from tests.hylo_eval.queue.fakes import CONFIG, LEASE_SECONDS, FakeMachine, items, outcome


@pytest.fixture
def machine() -> FakeMachine:
    return FakeMachine()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


@pytest.fixture
def queue(path: Path, machine: FakeMachine) -> Iterator[RunQueue]:
    """Two tasks of three episodes."""
    with RunQueue.create(path, config=CONFIG, items=items(2, 3), max_attempts=2, machine=machine) as made:
        yield made


@pytest.fixture
def owner(machine: FakeMachine) -> Owner:
    return machine.owner("first")


@pytest.fixture
def other(machine: FakeMachine) -> Owner:
    return machine.owner("second")


def claim(queue: RunQueue, owner: Owner, **options: object) -> Lease:
    """A lease there must be."""
    lease = queue.claim(owner, **options)  # type: ignore[arg-type]
    assert lease is not None
    return lease


def test_a_failure_that_lasts_is_not_tried_again(queue: RunQueue, owner: Owner):
    """What is missing here is missing at the next try; the one try is on record, and the others are not touched."""
    lease = claim(queue, owner)
    assert queue.retry(lease, attrs.evolve(outcome("env_error", error="no textures"), lasting=True)) is State.ABSTAINED
    assert [(attempt.attempt, attempt.ending) for attempt in queue.attempts()] == [(1, Ending.ABSTAINED)]
    assert queue.counts()[State.PENDING] == 5


def test_each_item_is_claimed_once_and_finished_once(queue: RunQueue, owner: Owner):
    """Six items: six claims, then nothing is pending, then six results in declared order."""
    leases = [claim(queue, owner) for _ in range(6)]
    assert queue.claim(owner) is None
    assert all(queue.finish(lease, outcome(steps=lease.position)) for lease in leases)
    assert queue.counts() == {State.PENDING: 0, State.LEASED: 0, State.DONE: 6, State.ABSTAINED: 0}
    assert [(result.position, result.outcome and result.outcome.steps) for result in queue.results()] == [
        (number, number) for number in range(6)
    ]


def test_a_worker_stays_with_its_task_then_takes_from_the_fullest(queue: RunQueue, owner: Owner):
    """With one of task 1 gone, task 0 is the fullest; the preferred task goes first while it has items."""
    assert claim(queue, owner, prefer="task-1").key == "task-1#0"
    assert claim(queue, owner).task == "task-0"
    assert [claim(queue, owner, prefer="task-1").key for _ in range(3)] == ["task-1#1", "task-1#2", "task-0#1"]


def test_the_fullest_of_many_tasks_is_found_by_an_index(
    path: Path, owner: Owner, machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
):
    """More tasks than are read one by one: the one task with two items goes first."""
    monkeypatch.setattr(tables, "FEW_TASKS", 5)
    many = [*items(10, 1), Item(key="another", task="task-7", position=10)]
    with RunQueue.create(path, config=CONFIG, items=many, max_attempts=2, machine=machine) as queue:
        (plan,) = queue._file.connection().execute(f"EXPLAIN QUERY PLAN {claiming._FULLEST}").fetchall()
        assert "USING COVERING INDEX tasks_fullest" in plan[3]
        assert claim(queue, owner).key == "task-7#0"


def test_an_unknown_preferred_task_is_no_task(queue: RunQueue, owner: Owner):
    """The fullest task gives an item instead."""
    assert claim(queue, owner, prefer="no such task").attempt == 1


def test_in_order_takes_the_lowest_position_whatever_is_preferred(queue: RunQueue, owner: Owner):
    """A run under a time budget is a prefix of the declared order."""
    assert [claim(queue, owner, prefer="task-1", in_order=True).position for _ in range(6)] == list(range(6))


def test_a_lease_finishes_once(queue: RunQueue, owner: Owner):
    """A second result of the same lease changes nothing."""
    lease = claim(queue, owner)
    assert queue.finish(lease, outcome(steps=1))
    assert not queue.finish(lease, outcome(steps=2))
    assert queue.retry(lease, outcome()) is None
    assert not queue.release(lease)
    assert [result.outcome.steps for result in queue.results() if result.outcome] == [1]
    assert len(list(queue.attempts())) == 1


def test_a_revived_owner_cannot_finish_what_another_took_over(
    queue: RunQueue, owner: Owner, other: Owner, machine: FakeMachine
):
    """After the lease expired the item is somebody else's, under a higher attempt."""
    stale = claim(queue, owner, in_order=True)
    machine.sleep(LEASE_SECONDS)
    fresh = claim(queue, other, in_order=True)
    assert (fresh.key, fresh.attempt) == (stale.key, stale.attempt + 1)
    assert queue.renew(owner) == 0
    assert not queue.finish(stale, outcome(steps=1))
    assert queue.retry(stale, outcome()) is None
    assert not queue.release(stale)
    assert queue.finish(fresh, outcome(steps=2))
    assert next(queue.results()).outcome == outcome(steps=2)


def test_an_expired_lease_is_over_before_anybody_takes_the_item(queue: RunQueue, owner: Owner, machine: FakeMachine):
    """Whether a result counts does not depend on who looked in between."""
    lease = claim(queue, owner)
    machine.sleep(LEASE_SECONDS)
    assert not queue.finish(lease, outcome())
    assert queue.renew(owner) == 0


def test_a_renewed_lease_does_not_expire(queue: RunQueue, owner: Owner, other: Owner, machine: FakeMachine):
    """Ten lengths of a lease later it still finishes."""
    lease = claim(queue, owner, in_order=True)
    for _ in range(20):
        machine.sleep(LEASE_SECONDS / 2)
        assert queue.renew(owner) == 1
    assert claim(queue, other, in_order=True).key != lease.key
    assert queue.finish(lease, outcome())


def test_the_item_of_a_dead_process_is_taken_over_at_once(
    queue: RunQueue, owner: Owner, other: Owner, machine: FakeMachine
):
    """Nobody waits for the lease of a process that is gone; the attempt is on record as lost."""
    lease = claim(queue, owner, in_order=True)
    machine.ended.add(owner.id)
    machine.sleep(LIVENESS_SECONDS)
    assert claim(queue, other, in_order=True).key == lease.key
    (attempt,) = queue.attempts()
    assert (attempt.ending, attempt.outcome.status, attempt.owner) == (Ending.LOST, "worker_lost", "first")
    assert attempt.outcome.error == "process 100 on robot-lab ended without a result"


def test_when_nothing_is_pending_dead_processes_are_looked_for_at_once(
    queue: RunQueue, owner: Owner, other: Owner, machine: FakeMachine
):
    """The last items of a run do not wait for the next look at processes."""
    for _ in range(6):
        claim(queue, owner)
    assert queue.claim(other) is None
    machine.ended.add(owner.id)
    assert claim(queue, other).attempt == 2


def test_leases_of_an_earlier_run_of_the_machine_are_over(path: Path, queue: RunQueue, owner: Owner):
    """The clock began anew, so their ends mean nothing: here they would lie far ahead."""
    lease = claim(queue, owner, in_order=True)
    restarted = FakeMachine(boot="boot-2", now=5.0)
    with RunQueue.open(path, config=CONFIG, machine=restarted) as again:
        assert claim(again, restarted.owner("third"), in_order=True).key == lease.key


def test_a_lease_of_another_machine_ends_by_the_wall_clock_with_slack(
    path: Path, queue: RunQueue, owner: Owner, machine: FakeMachine
):
    """Its processes and its clock cannot be seen from here."""
    lease = claim(queue, owner, in_order=True)
    elsewhere = FakeMachine(name="other-lab", boot="boot-9", now=1e6, wall=machine.wall, ended={owner.id})
    with RunQueue.open(path, config=CONFIG, machine=elsewhere) as again:
        third = elsewhere.owner("third")
        elsewhere.sleep(LEASE_SECONDS + OTHER_HOST_SLACK_SECONDS - 1)
        held = claim(again, third, in_order=True)
        assert held.key != lease.key
        assert again.release(held)
        elsewhere.sleep(1)
        assert claim(again, third, in_order=True).key == lease.key


def test_without_a_boot_id_another_name_is_another_machine(path: Path):
    """Off Linux: the lease of another machine is not judged by this one's clock, its own one's is."""
    far = FakeMachine(name="far-lab", boot="", now=1e6)
    with RunQueue.create(path, config=CONFIG, items=items(1, 2), max_attempts=3, machine=far) as queue:
        lease = claim(queue, far.owner("a"))
        near = FakeMachine(boot="", now=50.0)
        with RunQueue.open(path, config=CONFIG, machine=near) as again:
            assert claim(again, near.owner("b")).key != lease.key
        far.sleep(LEASE_SECONDS)
        assert claim(queue, far.owner("c")).key == lease.key


@pytest.mark.parametrize("expires", [1e12, -1.0])
def test_a_lease_that_would_last_longer_than_any_is_over(
    path: Path, queue: RunQueue, owner: Owner, other: Owner, machine: FakeMachine, expires: float
):
    """An end that no clock of this queue wrote holds no item for ever."""
    lease = claim(queue, owner, in_order=True)
    machine.sleep(LIVENESS_SECONDS)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE leases SET expires = ?", (expires,))
    connection.close()
    assert claim(queue, other, in_order=True).key == lease.key


def test_an_owner_of_another_run_of_the_machine_cannot_claim(queue: RunQueue):
    """Its lease would end by a clock that nobody here can read."""
    with pytest.raises(QueueError, match="cannot claim"):
        queue.claim(FakeMachine(boot="boot-7").owner("x"))


def test_a_failure_of_the_infrastructure_goes_to_the_back_and_at_last_abstains(queue: RunQueue, owner: Owner):
    """Two attempts are allowed: the second failure is the item's outcome."""
    poison = claim(queue, owner, prefer="task-0")
    assert queue.retry(poison, outcome("env_error", error="first")) is State.PENDING
    assert [claim(queue, owner, prefer="task-0").key for _ in range(2)] == ["task-0#1", "task-0#2"]
    again = claim(queue, owner, prefer="task-0")
    assert (again.key, again.attempt) == (poison.key, 2)
    assert queue.retry(again, outcome("timeout", error="second")) is State.ABSTAINED
    result = next(queue.results())
    assert (result.state, result.attempt, result.outcome) == (State.ABSTAINED, 2, outcome("timeout", error="second"))
    assert [(attempt.ending, attempt.outcome.error) for attempt in queue.attempts()] == [
        (Ending.RETRIED, "first"),
        (Ending.ABSTAINED, "second"),
    ]


def test_lost_leases_have_a_bound_of_their_own(queue: RunQueue, owner: Owner, machine: FakeMachine):
    """An episode that takes its machine down every time ends as abstained and not in an endless loop."""
    first = claim(queue, owner, in_order=True)
    for attempt in range(2, MOST_LOSSES + 1):
        machine.sleep(LEASE_SECONDS)
        assert claim(queue, owner, in_order=True).attempt == attempt
    machine.sleep(LEASE_SECONDS)
    assert claim(queue, owner, in_order=True).key != first.key
    result = next(queue.results())
    assert (result.state, result.outcome and result.outcome.status) == (State.ABSTAINED, "worker_lost")


def test_a_run_that_is_killed_again_and_again_uses_up_no_tries(queue: RunQueue, owner: Owner, machine: FakeMachine):
    """Losses say nothing of the episode: all the failures that are allowed are still to come."""
    for _ in range(3):
        claim(queue, owner, in_order=True)
        machine.sleep(LEASE_SECONDS)
    assert queue.retry(claim(queue, owner, in_order=True), outcome("env_error")) is State.PENDING
    assert queue.retry(claim(queue, owner, in_order=True), outcome("env_error")) is State.ABSTAINED


def test_what_was_taken_ahead_and_never_begun_lost_nothing(
    queue: RunQueue, path: Path, owner: Owner, other: Owner, machine: FakeMachine
):
    """Of three leases of a process that dies, one claimed, one begun since, one only held: the last is no loss.

    It keeps its place, while the others go to the back; and its attempt's number is used up.
    """
    first = claim(queue, owner, prefer="task-0")
    begun, held = queue.claim_more(owner, "task-0", 2)
    queue.begin(begun)
    machine.ended.add(owner.id)
    machine.sleep(LIVENESS_SECONDS)
    lease = claim(queue, other, prefer="task-0")
    assert (lease.key, lease.attempt) == (held.key, 2)
    assert {attempt.key: attempt.ending for attempt in queue.attempts()} == {
        first.key: Ending.LOST,
        begun.key: Ending.LOST,
        held.key: Ending.RELEASED,
    }
    assert not queue.finish(held, outcome())


@pytest.mark.parametrize("ends", ["", PARTIAL])
def test_a_trace_says_that_what_was_taken_ahead_did_begin(tmp_path: Path, machine: FakeMachine, ends: str):
    """A worker begins before that can be on record: what ends everything in that moment is bounded as any loss is."""
    path, owner = tmp_path / "queue.db", machine.owner("a")
    (tmp_path / "episodes").mkdir()
    with RunQueue.create(path, config=CONFIG, items=items(1, 2), max_attempts=1, machine=machine) as queue:
        for attempt in range(1, MOST_LOSSES + 1):
            claim(queue, owner)
            (ahead,) = queue.claim_more(owner, "task-0", 1)
            assert ahead.attempt == attempt
            (tmp_path / "episodes" / f"{episode_id(ahead.key, attempt)}.jsonl{ends}").touch()
            machine.sleep(LEASE_SECONDS)
        assert queue.claim(owner) is None
        assert queue.counts()[State.ABSTAINED] == 2


def test_beginning_under_a_lease_that_is_over_changes_nothing(
    queue: RunQueue, owner: Owner, other: Owner, machine: FakeMachine
):
    """A revived owner does not make what others hold ahead a loss of theirs."""
    claim(queue, owner, prefer="task-0")
    (stale,) = queue.claim_more(owner, "task-0", 1)
    machine.sleep(LEASE_SECONDS)
    claim(queue, other, prefer="task-1")
    (held,) = queue.claim_more(other, "task-0", 1)
    assert held.key == stale.key
    queue.begin(stale)
    machine.ended.add(other.id)
    machine.sleep(LIVENESS_SECONDS)
    claim(queue, owner, prefer="task-1")
    endings = {attempt.attempt: attempt.ending for attempt in queue.attempts() if attempt.key == held.key}
    assert endings == {stale.attempt: Ending.RELEASED, held.attempt: Ending.RELEASED}


def test_a_released_item_keeps_its_place_and_its_tries_but_not_its_number(queue: RunQueue, owner: Owner):
    """However often the operator stops it, it is never abstained for that, and no attempt number is used twice."""
    for attempt in range(1, 6):
        lease = claim(queue, owner, prefer="task-1")
        assert (lease.key, lease.attempt) == ("task-1#0", attempt)
        assert queue.release(lease)
    assert [attempt.ending for attempt in queue.attempts()] == [Ending.RELEASED] * 5


def test_leases_lists_who_holds_what(queue: RunQueue, owner: Owner, other: Owner):
    """In declared order, and without what is finished."""
    first, second, third = claim(queue, owner, in_order=True), claim(queue, other, in_order=True), claim(queue, owner)
    queue.finish(second, outcome())
    assert queue.leases() == tuple(sorted((first, third), key=lambda lease: lease.position))


def test_demoted_items_run_again(queue: RunQueue, owner: Owner):
    """The void attempt stays on record with the reason, and no failure is counted for it."""
    lease = claim(queue, owner, in_order=True)
    assert not queue.demote(lease.key, "not ended yet")
    queue.finish(lease, outcome())
    assert queue.demote(lease.key, "its trace is gone")
    assert not queue.demote("no such key", "")
    again = claim(queue, owner, in_order=True)
    assert (again.key, again.attempt) == (lease.key, 2)
    assert queue.retry(again, outcome("timeout")) is State.PENDING
    first, second = queue.attempts()
    assert (first.ending, first.outcome.error) == (Ending.DEMOTED, "its trace is gone")
    assert (second.ending, second.outcome.error) == (Ending.RETRIED, "")


def test_a_demoted_abstention_has_one_more_try(queue: RunQueue, owner: Owner):
    """Which it may finish, or fail for good."""
    for expected in (State.PENDING, State.ABSTAINED):
        assert queue.retry(claim(queue, owner, in_order=True), outcome("timeout")) is expected
    assert queue.demote("task-0#0", "its trace is gone")
    again = claim(queue, owner, in_order=True)
    assert (again.key, again.attempt) == ("task-0#0", 3)
    assert queue.retry(again, outcome("timeout")) is State.ABSTAINED


def test_damaged_traces_send_their_items_back(tmp_path: Path, queue: RunQueue, owner: Owner):
    """Right bytes with grades behind them stay; cut, changed and missing ones do not."""
    contents = {0: b"0123456789 grades", 1: b"012345678", 2: b"012345678X", 3: None}
    digest = f"sha256:{hashlib.sha256(b'0123456789').hexdigest()}"
    for position, content in contents.items():
        lease = claim(queue, owner, in_order=True)
        trace = f"{position}.jsonl"
        if content is not None:
            (tmp_path / trace).write_bytes(content)
        queue.finish(lease, outcome(trace=trace, trace_sha256=digest, trace_bytes=10))
    found = queue.verify_recent(tmp_path)
    assert [(demotion.key, demotion.reason) for demotion in found] == [
        ("task-1#0", "the trace 1.jsonl has 9 of 10 bytes"),
        ("task-0#1", "the trace 2.jsonl does not have the digest on record"),
        ("task-1#1", "the trace 3.jsonl cannot be read: No such file or directory"),
    ]
    assert queue.counts()[State.DONE] == 1
    assert queue.verify_recent(tmp_path) == ()


def test_old_ends_are_not_checked(tmp_path: Path, path: Path, machine: FakeMachine, owner: Owner):
    """The last hundred, and what ended within the seconds before the last end; here an hour lies between two halves."""
    with RunQueue.create(path, config=CONFIG, items=items(1, 300), max_attempts=1, machine=machine) as queue:
        for number in range(300):
            machine.sleep(3600 if number == 150 else 0)
            queue.finish(claim(queue, owner, in_order=True), outcome())
        demoted = queue.verify_recent(tmp_path)
    assert [demotion.key for demotion in demoted] == [f"task-0#{number}" for number in range(150, 300)]


def test_threads_have_connections_of_their_own(queue: RunQueue, machine: FakeMachine):
    """Four threads share the object and lose nothing."""
    found: list[str] = []

    def work(name: str) -> None:
        owner = machine.owner(name)
        while (lease := queue.claim(owner)) is not None:
            if queue.finish(lease, outcome()):
                found.append(lease.key)
        queue.release_thread()

    threads = [threading.Thread(target=work, args=(f"thread-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(item.key for item in items(2, 3))


def test_a_lease_somebody_made_up_is_none(queue: RunQueue, owner: Owner, other: Owner):
    """Position, key, attempt and owner must all be the ones on record."""
    import attrs

    lease = claim(queue, owner)
    for forged in (
        attrs.evolve(lease, key="task-1#2"),
        attrs.evolve(lease, attempt=2),
        attrs.evolve(lease, owner=other.id),
        attrs.evolve(lease, position=lease.position + 1),
    ):
        assert not queue.finish(forged, outcome())
    assert queue.finish(lease, outcome())


def test_items_may_change_while_results_are_read(queue: RunQueue, path: Path, owner: Owner, machine: FakeMachine):
    """The reader sees the moment at which it began; another process's changes in between disturb no claim."""
    results = queue.results()
    assert next(results).state is State.PENDING
    with RunQueue.open(path, config=CONFIG, machine=machine) as another:
        assert another.finish(claim(another, machine.owner("second"), in_order=True), outcome())
    assert queue.finish(claim(queue, owner, in_order=True), outcome())
    assert [result.state for result in results] == [State.PENDING] * 5
    assert queue.counts()[State.DONE] == 2


def test_positions_may_have_gaps_but_no_doubles(tmp_path: Path, machine: FakeMachine, owner: Owner):
    """A stratified slice of a run is a queue too."""
    sparse = [Item(key=f"k{number}", task="t", position=number) for number in (7, 3, 1000)]
    with RunQueue.create(tmp_path / "a.db", config=CONFIG, items=sparse, max_attempts=3, machine=machine) as queue:
        poison = claim(queue, owner)
        assert poison.key == "k3"
        queue.retry(poison, outcome("timeout"))
        assert [claim(queue, owner).key for _ in range(3)] == ["k7", "k1000", "k3"]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (Item(key="a", task="t", position=1), "the key 'a' stands twice"),
        (Item(key="b", task="t", position=0), "the position 0 of 'b' is another item's too"),
        ("b", "made of items"),
    ],
)
def test_items_that_clash_are_refused(tmp_path: Path, second: Item, reason: str):
    """And no file is left behind."""
    first = Item(key="a", task="t", position=0)
    with pytest.raises(QueueError, match=reason):
        RunQueue.create(tmp_path / "q.db", config=CONFIG, items=[first, second], max_attempts=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("max_attempts", "lease_seconds"), [(0, 60.0), (True, 60.0), (1, 0.0), (1, float("nan"))])
def test_rules_that_make_no_sense_are_refused(tmp_path: Path, max_attempts: int, lease_seconds: float):
    """At creation, not at the first claim."""
    with pytest.raises(QueueError):
        RunQueue.create(
            tmp_path / "q.db", config=CONFIG, items=(), max_attempts=max_attempts, lease_seconds=lease_seconds
        )
