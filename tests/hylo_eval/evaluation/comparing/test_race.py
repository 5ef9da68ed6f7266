"""A race: in turn, on the same instances, no longer than it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest

from hylo_eval import EvalError, plan_run, read_evallog
from hylo_eval.compare.comparability import EvidenceRefused
from hylo_eval.compare.decision import GateRule
from hylo_eval.compare.gate import GatePolicy
from hylo_eval.evaluation.comparing import race as racing
from hylo_eval.evaluation.comparing.evidence import read_evidence
from hylo_eval.evaluation.comparing.gating import judge
from hylo_eval.evaluation.comparing.race import Racer, RaceResult, race
from hylo_eval.traces.finding import find_run
from tests.episodes import FunctionAgent, ScriptedEnv
from tests.runs import unit

POLICY = GatePolicy(rule=GateRule(mode="improve", sequential=True))
BENCH = unit(20, "unit/lift", "unit/push")
PLAN = plan_run(BENCH, "heldout")


class PushedEnv(ScriptedEnv):
    """Succeeds once it is pushed by a half or more."""

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated, {**info, "success": bool(action[0] >= 0.5)}


def pushing(name: str, force: Callable[[float], float]) -> Racer:
    """A side whose push depends on the seed."""
    agent = FunctionAgent(lambda observation, _: np.full(2, force(float(observation["position"][0]))))
    return Racer(agent=agent, run_id=name)


def strong(name: str = "strong") -> Racer:
    """Always succeeds."""
    return pushing(name, lambda _: 0.5)


def weak(name: str = "weak") -> Racer:
    """Never does."""
    return pushing(name, lambda _: 0.01)


def run(root: Path, candidate: Racer, parent: Racer, **options: Any) -> RaceResult:
    """Race on twenty seeds of two tasks."""
    env = options.pop("env_factory", PushedEnv)
    return race(candidate, parent, PLAN, POLICY, env_factory=env, run_root=root, **options)


def test_the_sides_take_turns_in_the_declared_order(tmp_path: Path) -> None:
    """An instance, first the candidate, then the parent; the next instance of the declared order."""
    seen: list[tuple[str, str]] = []

    def started(instance: Any, attempt: int) -> None:
        seen.append((threading.current_thread().name[-1], instance.key))

    run(tmp_path, strong(), weak(), started=started)
    assert seen == [(side, instance.key) for instance in PLAN.instances[:7] for side in "01"]


def test_seven_wins_decide_and_the_rest_is_saved(tmp_path: Path) -> None:
    """E(7, 0) is the first value above 20; 66 of 80 episodes are not run, and the two folders are ordinary runs."""
    result = run(tmp_path, strong(), weak())
    assert (result.ending, result.test.state, result.run, result.saved) == ("decided", "candidate better", 14, 66)
    for name in ("strong", "weak"):
        evidence = read_evidence(find_run(name, tmp_path))
        assert (evidence.faults, evidence.finished, len(evidence.outcomes)) == ((), False, 7)
    judged = judge(POLICY, result.candidate.run, result.parent.run, run_root=tmp_path)
    assert judged.outcome.decision.verdict == "pass"
    assert judged.outcome.look is not None
    assert judged.outcome.look.test == result.test


def test_a_worse_candidate_loses_as_fast(tmp_path: Path) -> None:
    """The mirror image."""
    assert run(tmp_path, weak(), strong()).test.state == "parent better"


def test_equal_agents_race_until_futility_is_certain(tmp_path: Path) -> None:
    """E(7, 0) passes and E(6, 0) does not: with six pairs left nothing can be shown any more."""
    result = run(tmp_path, strong("one"), strong("two"))
    assert (result.ending, result.test.n_looked, result.saved) == ("futile", 34, 12)


def test_a_race_may_need_every_pair(tmp_path: Path) -> None:
    """Thirty-three ties, then wins in the last seven instances: the last pair decides."""
    last = {instance.key for instance in PLAN.instances[-7:]}

    class LateEnv(ScriptedEnv):
        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            self.late = options["instance"].key in last
            return super().reset(seed=seed, options=options)

        def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
            observation, reward, terminated, truncated, info = super().step(action)
            success = bool(self.late and action[0] >= 0.5)
            return observation, reward, terminated, truncated, {**info, "success": success}

    result = run(tmp_path, strong(), weak(), env_factory=LateEnv)
    assert (result.ending, result.saved, result.test.decided_at) == ("decided", 0, 40)
    assert all(read_evidence(find_run(name, tmp_path)).finished for name in ("strong", "weak"))


def test_each_side_has_an_env_in_a_thread_of_its_own(tmp_path: Path) -> None:
    """Made, stepped and closed there, and never at the same time as the other."""
    used: dict[int, set[int]] = {}
    moving: list[int] = []

    class WatchedEnv(PushedEnv):
        def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
            used.setdefault(id(self), set()).add(threading.get_ident())
            moving.append(1)
            found = super().step(action)
            assert len(moving) == 1
            moving.pop()
            return found

    run(tmp_path, strong(), weak(), env_factory=WatchedEnv)
    assert all(len(threads) == 1 for threads in used.values())
    assert len(set.union(*used.values())) == 2


def test_a_stop_ends_both_runs_with_what_is_finished(tmp_path: Path) -> None:
    """As an interrupt: no verdict."""
    finished: list[Any] = []
    with pytest.raises(KeyboardInterrupt, match="the two runs hold what is finished"):
        run(tmp_path, strong(), weak(), finished=finished.append, stop=lambda: len(finished) >= 5)
    counts = [len(read_evidence(find_run(name, tmp_path)).outcomes) for name in ("strong", "weak")]
    assert counts == [3, 2]


def test_a_time_budget_ends_it_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that a finished episode moves by a minute."""
    clock = [0.0]
    monkeypatch.setattr(racing, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def finished(episode: Any) -> None:
        clock[0] += 60.0

    result = run(tmp_path, strong(), weak(), seconds=600.0, finished=finished)
    assert (result.ending, result.test.state, result.run) == ("budget", "undecided", 10)
    with pytest.raises(EvalError, match="ended before both agents had begun"):
        run(tmp_path, strong("a"), weak("b"), seconds=60.0, started=lambda *_: finished(None))


def test_an_error_of_one_side_ends_both(tmp_path: Path) -> None:
    """And is raised as it is: nobody waits for a turn that never comes."""

    def finished(episode: Any) -> None:
        if len(seen := [*finished_keys, episode.instance.key]) == 4:
            raise OSError(28, "No space left on device")
        finished_keys[:] = seen

    finished_keys: list[str] = []
    with pytest.raises(OSError, match="No space left"):
        run(tmp_path, strong(), weak(), finished=finished)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("hylo-race")]


def broken_chain(path: Path) -> None:
    """Grade a trace, and then its grade."""
    grade = {"type": "grade", "grader": "person", "digest": "", "value": 1.0, "prev_sha256": f"sha256:{'0' * 64}"}
    with path.open("ab") as file:
        file.write(orjson.dumps(grade) + b"\n")


def another_reward(path: Path) -> None:
    """Change what an episode came to."""
    path.write_bytes(path.read_bytes().replace(b'"success":false', b'"success":true '))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (broken_chain, r"does not match: .*: line \d+: the grade names sha256:0"),
        (another_reward, "does not match: .*: the queue records trace digest sha256:"),
        (lambda path: path.write_bytes(b"{"), "has an unreadable trace: "),
        (Path.unlink, "has an unreadable trace: .*: "),
    ],
)
def test_a_trace_that_is_changed_while_a_race_goes_on_ends_it(
    tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    """As a refusal that names side, trace and fault, as a gate does; both runs keep what is finished."""
    finished: list[Any] = []

    def changed(episode: Any) -> None:
        finished.append(episode)
        if len(finished) == 4:
            change(episode.result.path)

    with pytest.raises(EvidenceRefused, match=f"the parent's run .*{said}") as caught:
        run(tmp_path, strong(), weak(), finished=changed)
    assert str(tmp_path / "weak") in caught.value.fix
    kept = {name: read_evallog(tmp_path / name / "evallog.partial.json").samples for name in ("strong", "weak")}
    assert {name: [sample.value("success") for sample in samples] for name, samples in kept.items()} == {
        "strong": [1.0, 1.0],
        "weak": [0.0, None],
    }
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("hylo-race")]


def test_agents_that_raise_lose_pairs(tmp_path: Path) -> None:
    """An agent error of the candidate is a failure; of the parent it is no pair."""

    def act(observation: Any, replies: int) -> Any:
        raise ValueError("no such instruction")

    def broken(name: str) -> Racer:
        return Racer(agent=FunctionAgent(act), run_id=name)

    assert run(tmp_path, broken("broken"), strong()).test.state == "parent better"
    assert run(tmp_path, strong("good"), broken("bad")).ending == "futile"


def test_what_is_no_race_is_refused(tmp_path: Path) -> None:
    """Before any folder is written."""
    one = strong()
    fixed = GatePolicy(rule=GateRule(mode="improve"))
    with pytest.raises(EvalError, match="its rule must be sequential"):
        race(one, weak(), PLAN, fixed, env_factory=PushedEnv, run_root=tmp_path)
    six = plan_run(BENCH, "heldout", max_episodes=6)
    with pytest.raises(EvalError, match=r"6 pairs cannot decide a race at alpha 0\.05, even if all of them are won"):
        race(one, weak(), six, POLICY, env_factory=PushedEnv, run_root=tmp_path)
    with pytest.raises(EvalError, match="both sides are one agent object"):
        run(tmp_path, one, Racer(agent=one.agent, run_id="two"))
    with pytest.raises(EvalError, match="both runs are to be called"):
        run(tmp_path, one, strong())
    with pytest.raises(EvalError, match="must be finite and above 0, not 0"):
        run(tmp_path, one, weak(), seconds=0.0)
    assert not list(tmp_path.iterdir())
