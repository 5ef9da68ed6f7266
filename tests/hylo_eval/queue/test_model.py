"""Claims, results, failures, crashes and expiry in any order, against a model that a page holds."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path
from unittest import mock

import attrs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hylo_eval.queue import Lease, Owner, RunQueue, State
from hylo_eval.queue import settings as queue_settings
from hylo_eval.traces.layout import PARTIAL, RunFolder, episode_id
from tests.hylo_eval.queue.fakes import CONFIG, LEASE_SECONDS, FakeMachine, items, outcome

MAX_ATTEMPTS = 2
MAX_LOSSES = 3
OWNERS = ("a", "b", "c")
owners = st.sampled_from(OWNERS)
choices = st.integers(min_value=0, max_value=10**6)


@attrs.define
class Expected:
    """What an item must look like."""

    key: str
    task: str
    place: int
    state: State = State.PENDING
    attempt: int = 0
    failures: int = 0
    losses: int = 0
    lease: Lease | None = None
    expires: float = 0.0
    owner: str = ""
    begun: bool = True
    finished: list[int] = attrs.field(factory=list)


class QueueAgainstModel(RuleBasedStateMachine):
    """The queue and the model do the same; leases are kept after their end, as a revived process keeps its own."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.bound = mock.patch.object(queue_settings, "MOST_LOSSES", MAX_LOSSES)
        self.bound.start()
        self.machine = FakeMachine()
        self.model: dict[str, Expected] = {}
        self.owner: dict[str, Owner] = {}
        self.kept: list[Lease] = []
        self.traces: dict[str, set[int]] = {}
        self.lives = 0
        self.back = 0

    @initialize(tasks=st.integers(1, 3), episodes=st.integers(1, 3))
    def create(self, tasks: int, episodes: int) -> None:
        made = list(items(tasks, episodes))
        self.model = {item.key: Expected(key=item.key, task=item.task, place=item.position) for item in made}
        self.back = len(made)
        self.queue = RunQueue.create(
            self.folder / "queue.db",
            config=CONFIG,
            items=made,
            max_attempts=MAX_ATTEMPTS,
            lease_seconds=LEASE_SECONDS,
            machine=self.machine,
        )
        for name in OWNERS:
            self.restart(name)

    def restart(self, name: str) -> None:
        """A fresh process under a name of the model."""
        self.lives += 1
        self.owner[name] = self.machine.owner(f"{name}{self.lives}")

    def fail(self, expected: Expected) -> None:
        """A failure of the infrastructure, in the model."""
        expected.failures += 1
        self.send_back(expected, abstains=expected.failures == MAX_ATTEMPTS)

    def lose(self, expected: Expected) -> None:
        """A lost lease, which is no failure that anybody saw."""
        expected.losses += 1
        self.send_back(expected, abstains=expected.losses == MAX_LOSSES)

    def send_back(self, expected: Expected, *, abstains: bool) -> None:
        """What both come to, in the model."""
        expected.state = State.ABSTAINED if abstains else State.PENDING
        # Whoever fails later stands further back.
        self.back += 1
        expected.place = self.back

    def recover(self) -> None:
        """What every claim must take back first: expired leases, and those of processes that are gone.

        What was taken ahead and never begun is pending again as if nothing had been.
        """
        for expected in self.model.values():
            gone = expected.owner in self.machine.ended or expected.expires <= self.machine.now
            if expected.state is State.LEASED and gone:
                if expected.begun or expected.attempt in self.traces.get(expected.key, ()):
                    self.lose(expected)
                else:
                    expected.state = State.PENDING

    def current(self, lease: Lease) -> Expected | None:
        """The item of a lease that still holds."""
        expected = self.model[lease.key]
        holds = expected.state is State.LEASED and expected.attempt == lease.attempt
        return expected if holds and self.machine.now < expected.expires else None

    @rule(name=owners, task=st.integers(0, 3), in_order=st.booleans())
    def claim(self, name: str, task: int, in_order: bool) -> None:
        # A look at processes is due once a second.
        self.machine.sleep(1.0)
        self.recover()
        pending = {key: item for key, item in self.model.items() if item.state is State.PENDING}
        prefer = f"task-{task}"
        lease = self.queue.claim(self.owner[name], prefer=prefer, in_order=in_order)
        if not pending:
            assert lease is None
            return
        assert lease is not None
        expected = pending[lease.key]
        if in_order:
            assert lease.key == next(iter(pending))
        else:
            sizes = {each.task: 0 for each in pending.values()}
            for each in pending.values():
                sizes[each.task] += 1
            assert lease.task == prefer if prefer in sizes else sizes[lease.task] == max(sizes.values())
            assert expected.place == min(each.place for each in pending.values() if each.task == lease.task)
        self.take(expected, lease, name, begun=True)

    @rule(name=owners, task=st.integers(0, 3), count=st.integers(1, 3))
    def claim_more(self, name: str, task: int, count: int) -> None:
        wanted = f"task-{task}"
        pending = {key: item for key, item in self.model.items() if (item.state, item.task) == (State.PENDING, wanted)}
        leases = self.queue.claim_more(self.owner[name], wanted, count)
        assert [lease.key for lease in leases] == sorted(pending, key=lambda key: pending[key].place)[:count]
        for lease in leases:
            self.take(pending[lease.key], lease, name, begun=False)

    @precondition(lambda self: self.kept)
    @rule(choice=choices)
    def begin(self, choice: int) -> None:
        lease = self.kept[choice % len(self.kept)]
        expected = self.model[lease.key]
        if expected.state is State.LEASED and expected.attempt == lease.attempt:
            expected.begun = True
        self.queue.begin(lease)

    @precondition(lambda self: self.kept)
    @rule(choice=choices, whole=st.booleans())
    def write_trace(self, choice: int, whole: bool) -> None:
        """The worker begins before it is on record."""
        lease = self.kept[choice % len(self.kept)]
        path = RunFolder(self.folder).trace(episode_id(lease.key, lease.attempt))
        path.parent.mkdir(exist_ok=True)
        (path if whole else path.with_name(path.name + PARTIAL)).touch()
        self.traces.setdefault(lease.key, set()).add(lease.attempt)

    def take(self, expected: Expected, lease: Lease, name: str, *, begun: bool) -> None:
        """A claim, in the model."""
        expected.begun = begun
        expected.state, expected.lease, expected.owner = State.LEASED, lease, self.owner[name].id
        expected.attempt += 1
        expected.expires = self.machine.now + LEASE_SECONDS
        assert lease.attempt == expected.attempt
        self.kept.append(lease)

    @precondition(lambda self: len(self.kept) > 1)
    @rule(first=choices, second=choices)
    def finish_together(self, first: int, second: int) -> None:
        leases = [self.kept[choice % len(self.kept)] for choice in (first, second)]
        with self.queue.together():
            for lease in leases:
                expected = self.current(lease)
                assert self.queue.finish(lease, outcome(steps=lease.attempt)) is (expected is not None)
                if expected is not None:
                    expected.state = State.DONE
                    expected.finished.append(lease.attempt)

    @precondition(lambda self: self.kept)
    @rule(choice=choices)
    def fail_together(self, choice: int) -> None:
        lease = self.kept[choice % len(self.kept)]
        with suppress(ZeroDivisionError), self.queue.together():
            self.queue.finish(lease, outcome(steps=lease.attempt))
            raise ZeroDivisionError  # nothing of it is kept

    @precondition(lambda self: self.kept)
    @rule(choice=choices)
    def finish(self, choice: int) -> None:
        lease = self.kept[choice % len(self.kept)]
        expected = self.current(lease)
        assert self.queue.finish(lease, outcome(steps=lease.attempt)) is (expected is not None)
        if expected is not None:
            expected.state = State.DONE
            expected.finished.append(lease.attempt)

    @precondition(lambda self: self.kept)
    @rule(choice=choices)
    def retry(self, choice: int) -> None:
        lease = self.kept[choice % len(self.kept)]
        expected = self.current(lease)
        if expected is not None:
            self.fail(expected)
        state = self.queue.retry(lease, outcome("env_error", steps=lease.attempt))
        assert state is (None if expected is None else expected.state)

    @precondition(lambda self: self.kept)
    @rule(choice=choices)
    def release(self, choice: int) -> None:
        lease = self.kept[choice % len(self.kept)]
        expected = self.current(lease)
        assert self.queue.release(lease) is (expected is not None)
        if expected is not None:
            expected.state = State.PENDING

    @rule(name=owners)
    def renew(self, name: str) -> None:
        held = [
            each
            for each in self.model.values()
            if each.state is State.LEASED and each.owner == self.owner[name].id and self.machine.now < each.expires
        ]
        assert self.queue.renew(self.owner[name]) == len(held)
        for each in held:
            each.expires = self.machine.now + LEASE_SECONDS

    @rule(seconds=st.sampled_from((LEASE_SECONDS / 3, LEASE_SECONDS)))
    def wait(self, seconds: float) -> None:
        self.machine.sleep(seconds)

    @rule(name=owners)
    def crash(self, name: str) -> None:
        self.machine.ended.add(self.owner[name].id)
        self.restart(name)

    @rule()
    def reopen(self) -> None:
        self.queue.close()
        self.queue = RunQueue.open(self.folder / "queue.db", config=CONFIG, machine=self.machine)

    @rule()
    def reboot(self) -> None:
        for each in self.model.values():
            if each.state is State.LEASED:
                each.expires = 0.0
        self.machine.boot += "'"
        self.machine.now = 10 * LEASE_SECONDS
        for name in OWNERS:
            self.restart(name)
        # Every process of the earlier run of the machine is gone, and so is what they kept.
        self.kept.clear()
        self.reopen()

    @invariant()
    def agrees(self) -> None:
        results = {result.key: result for result in self.queue.results()}
        assert list(results) == list(self.model)
        for key, expected in self.model.items():
            result = results[key]
            assert (result.state, result.attempt) == (expected.state, expected.attempt)
            assert len(expected.finished) == (expected.state is State.DONE)
            assert (result.outcome is not None) == (expected.state in {State.DONE, State.ABSTAINED})
            if expected.finished:
                assert result.outcome is not None
                assert result.outcome.steps == expected.finished[0]

    @invariant()
    def is_consistent(self) -> None:
        """The counts that claims rely on are those of the rows; ended attempts and leases are all the attempts."""
        connection = sqlite3.connect(self.folder / "queue.db")
        wrong = connection.execute(
            "SELECT name FROM tasks WHERE pending <> "
            "(SELECT COUNT(*) FROM items WHERE task = tasks.id AND state = 'pending')"
        ).fetchall()
        claims, ended, leased = connection.execute(
            "SELECT (SELECT SUM(attempt) FROM items), (SELECT COUNT(*) FROM attempts), (SELECT COUNT(*) FROM leases)"
        ).fetchone()
        states = connection.execute("SELECT COUNT(*) FROM items WHERE state = 'leased'").fetchone()
        connection.close()
        assert wrong == []
        assert claims == ended + leased
        assert states == (leased,)

    def teardown(self) -> None:
        self.bound.stop()
        if self.model:
            self.queue.close()
        shutil.rmtree(self.folder)


QueueAgainstModel.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestQueueAgainstModel = QueueAgainstModel.TestCase
