"""A race: two agents on the same instances in turn, until the sequential rule decides, or the budget ends.

The instances come in the declared order, so after every pair all finished pairs are a prefix of it and may be looked
at. Both runs are ordinary run folders; one that was stopped early is an unfinished run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import attrs

from hylo_core.score import Scorer
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.agents.protocol import Agent
from hylo_eval.compare.comparability import EvidenceRefused
from hylo_eval.compare.evidence import EpisodeOutcome, faulty
from hylo_eval.compare.gate import GatePolicy
from hylo_eval.compare.looking import judged_scores
from hylo_eval.compare.pairing import Scores
from hylo_eval.compare.sequential import SequentialLook, longest_finished_prefix, sequential_test
from hylo_eval.compare.table import Side
from hylo_eval.envs.protocol import EnvFactory
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.evaluation.comparing.declaration import declare
from hylo_eval.evaluation.comparing.evidence import episode_outcome, read_conditions
from hylo_eval.evaluation.comparing.turns import Player, Turns
from hylo_eval.evaluation.conclusion import EvalResult, Interrupted
from hylo_eval.evaluation.evaluate import DEFAULT_SCORERS, evaluate, make_run_id
from hylo_eval.evaluation.plan import Plan
from hylo_eval.evaluation.recorded_trace import read_recorded
from hylo_eval.evaluation.worker import Episode
from hylo_eval.numerals import counted
from hylo_eval.scoring.applying import score_trace
from hylo_eval.traces.layout import RunFolder

if TYPE_CHECKING:
    from hylo_eval.safety.protocol import SafetyFilter

Ending = Literal["decided", "futile", "budget", "finished"]


@attrs.frozen(kw_only=True)
class Racer:
    """One side of a race.

    Attributes:
        agent: Who acts.
        ref: What it was made from, for the manifest.
        run_id: The run folder's name; None makes one.
    """

    agent: Agent
    ref: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    run_id: str | None = None


@attrs.frozen(kw_only=True)
class RaceResult:
    """How a race ended.

    Attributes:
        candidate: The candidate's run.
        parent: The parent's run.
        test: The last look.
        ending: Why it ended: the rule decided, futility was certain, the time was up, or every pair was run.
        planned: Episodes that a fixed number of pairs would have taken, both sides together.
        run: Episodes that were run.
    """

    candidate: EvalResult
    parent: EvalResult
    test: SequentialLook
    ending: Ending
    planned: int
    run: int

    @property
    def saved(self) -> int:
        """Episodes that did not have to be run."""
        return self.planned - self.run


def race(
    candidate: Racer,
    parent: Racer,
    plan: Plan,
    policy: GatePolicy,
    *,
    env_factory: EnvFactory,
    run_root: Path | str,
    env_options: Mapping[str, Any] | None = None,
    env_ref: Mapping[str, Any] | None = None,
    safety: Sequence[SafetyFilter] | None = None,
    max_attempts: int = 3,
    seconds: float | None = None,
    stop: Callable[[], bool] | None = None,
    started: Callable[[TaskInstance, int], None] | None = None,
    finished: Callable[[Episode], None] | None = None,
) -> RaceResult:
    """Run two agents in turn, an episode each, until the sequential rule of the policy decides.

    Args:
        candidate: The new agent.
        parent: The agent it is to replace.
        plan: What to run; its length is what a fixed number of pairs would have taken.
        policy: A policy with a sequential rule.
        env_factory: Makes the env of a task; each side has an env of its own, in a thread of its own.
        run_root: The folder of the two run folders.
        env_options: Passed to the factory.
        env_ref: What the factory was made from, for the manifests.
        safety: Filters, as for `evaluate`.
        max_attempts: Tries of an episode whose infrastructure fails.
        seconds: The time budget; None for none. The pair that runs when it ends is not finished.
        stop: Asked before every step; when it says True both runs end as if they had been interrupted.
        started: Told of every attempt.
        finished: Told of every episode that has its outcome.

    Raises:
        EvalError: Something is refused.
        EvidenceRefused: A trace was changed while the race went on; the two runs hold what is finished.
        KeyboardInterrupt: ``stop`` said so; the two runs hold what is finished.
    """
    _require(policy, plan, candidate, parent, seconds)
    root = Path(run_root)
    racers: dict[Side, Racer] = {"candidate": candidate, "parent": parent}
    folders: dict[Side, RunFolder] = {
        side: RunFolder.at(root, racer.run_id or make_run_id(plan.benchmark.id, f"{side}-{racer.agent.info.name}"))
        for side, racer in racers.items()
    }
    budget = _Budget(seconds, stop)
    referee = _Referee(plan, policy, folders)
    turns = Turns(len(racers))

    def run(number: int, side: Side) -> EvalResult:
        def done(episode: Episode) -> None:
            if finished is not None:
                finished(episode)
            if referee.take(side, episode):
                turns.end()
            turns.pass_on(number)

        try:
            return evaluate(
                plan.benchmark,
                plan.split,
                env_factory=env_factory,
                agent=racers[side].agent,
                run_root=root,
                safety=safety,
                plan=plan,
                run_id=folders[side].run_id,
                env_options=env_options,
                env_ref=env_ref,
                agent_ref=racers[side].ref,
                max_attempts=max_attempts,
                in_order=True,
                stop=lambda: turns.over or budget.ended(),
                started=started,
                finished=done,
            )
        except Interrupted as interrupt:
            turns.end()
            return interrupt.result

    players = [Player(turns, number, partial(run, number, side)) for number, side in enumerate(racers)]
    for player in players:
        player.wait()
    for player in players:
        if player.error is not None:
            raise player.error
    if budget.stopped():
        raise KeyboardInterrupt("stopped; the two runs hold what is finished")
    return _result(players, referee, 2 * plan.count)


_SIDES: tuple[Side, ...] = get_args(Side)


def _require(policy: GatePolicy, plan: Plan, candidate: Racer, parent: Racer, seconds: float | None) -> None:
    if not policy.rule.sequential:
        raise EvalError("a race looks after every pair, so its rule must be sequential", fix="sequential=True")
    if policy.metric not in {scorer.name for scorer in DEFAULT_SCORERS}:
        raise EvalError(f"a race is decided by success, not by {policy.metric!r}", fix="leave the metric out")
    if seconds is not None and not 0 < seconds < math.inf:
        raise EvalError(f"the time budget must be finite and above 0, not {seconds:g} s", fix="--max-minutes 60, say")
    pairs, alpha = len(plan.instances), policy.rule.alpha
    if sequential_test((), n_declared=pairs, alpha=alpha).state == "futile":
        raise EvalError(
            f"{counted(pairs, 'pair')} cannot decide a race at alpha {alpha:g}, even if all of them are won",
            fix="allow more with --max-pairs, or leave it out",
        )
    if candidate.agent is parent.agent:
        raise EvalError("both sides are one agent object, which would see the other's state", fix="make two agents")
    if candidate.run_id is not None and candidate.run_id == parent.run_id:
        raise EvalError(
            f"both runs are to be called {candidate.run_id!r}",
            fix="--candidate-run-id and --parent-run-id with two names",
        )


def _result(players: Sequence[Player[EvalResult]], referee: _Referee, planned: int) -> RaceResult:
    ours, theirs = (player.result for player in players)
    if ours is None or theirs is None:
        raise EvalError("the time budget ended before both agents had begun", fix="allow more time")
    return RaceResult(
        candidate=ours,
        parent=theirs,
        test=referee.test,
        ending=referee.ending,
        planned=planned,
        run=len(ours.scored) + len(theirs.scored),
    )


class _Budget:
    """How long a race may go on."""

    def __init__(self, seconds: float | None, stop: Callable[[], bool] | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._stop = stop

    def stopped(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stop is not None and self._stop()

    def ended(self) -> bool:
        """Whether time is up, or somebody asked to stop."""
        return self.stopped() or (self._end is not None and time.monotonic() >= self._end)


class _Referee:
    """Looks after every finished pair."""

    def __init__(self, plan: Plan, policy: GatePolicy, folders: Mapping[Side, RunFolder]) -> None:
        self._policy = policy
        self._folders = folders
        self._order = [item.key for item in plan.declared]
        self._scorers: Sequence[Scorer] = [scorer for scorer in DEFAULT_SCORERS if scorer.name == policy.metric]
        self._outcomes: dict[Side, dict[str, EpisodeOutcome]] = {side: {} for side in _SIDES}
        self._declared = False
        self.test = sequential_test((), n_declared=len(self._order), alpha=policy.rule.alpha)

    @property
    def ending(self) -> Ending:
        """Why the race is over."""
        if self.test.state in ("candidate better", "parent better"):
            return "decided"
        if self.test.state == "futile":
            return "futile"
        return "finished" if self.test.n_looked == self.test.n_declared else "budget"

    def take(self, side: Side, episode: Episode) -> bool:
        """Take in an episode; whether the race is over.

        Raises:
            EvidenceRefused: Its trace is not the one that was recorded: somebody graded or changed it meanwhile, and no
                gate would judge these two runs any more.
        """
        trace = self._read(side, episode)
        self._outcomes[side][trace.key] = episode_outcome(trace, score_trace(self._scorers, trace, trace.instance))
        if any(trace.key not in outcomes for outcomes in self._outcomes.values()):
            return False
        if not self._declared:
            ours, theirs = (read_conditions(self._folders[each]) for each in _SIDES)
            declare(self._folders["candidate"], self._policy, ours, theirs)
            self._declared = True
        scores = {each: self._judged(each) for each in _SIDES}
        prefix = longest_finished_prefix(self._order, scores["candidate"], scores["parent"])
        self.test = sequential_test(prefix, n_declared=len(self._order), alpha=self._policy.rule.alpha)
        return self.test.state != "undecided"

    def _read(self, side: Side, episode: Episode) -> EpisodeTrace:
        path, on_record = episode.result.path, episode.result.digests.trace_sha256
        try:
            recorded = read_recorded(path, on_record)
        except TraceError as error:
            fault = f"has an unreadable trace: {path.name}{f':{error.line}' if error.line else ''}: {error.reason}"
        else:
            changed = recorded.changed_grades
            if recorded.trace_sha256 != on_record:
                changed = f"the queue records trace digest {on_record}, the file has {recorded.trace_sha256 or 'none'}"
            if not changed:
                return recorded.trace
            fault = f"has a trace that does not match: {path.name}: {changed}"
        raise EvidenceRefused([faulty(side, str(self._folders[side].path), fault)])

    def _judged(self, side: Side) -> Scores:
        metric = self._policy.metric
        other: Side = "parent" if side == "candidate" else "candidate"
        paired = {
            key: not self._differ(outcome, self._outcomes[other].get(key))
            for key, outcome in self._outcomes[side].items()
        }
        outcomes = self._outcomes[side]
        scores = {key: outcomes[key].scores[metric] if pair else None for key, pair in paired.items()}
        reasons = {key: outcomes[key].reasons.get(metric, "") for key, pair in paired.items() if pair}
        return judged_scores(self._policy.rule, side, scores, reasons)

    def _differ(self, one: EpisodeOutcome, other: EpisodeOutcome | None) -> bool:
        """Whether two episodes of an instance began differently, and so are no pair."""
        if one.start is None or other is None or other.start is None:
            return False
        return any(aspect not in self._policy.allow for aspect in one.start.differing(other.start))
