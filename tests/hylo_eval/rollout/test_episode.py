"""The control loop: every outcome, every chunk, the same behaviour every time."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hylo_core import EpisodeStatus, EpisodeTrace, derive_seed
from hylo_eval import AgentError, EnvError, EvalError, FilteredAction, Reply, read_trace, run_episode
from hylo_eval.errors import SafetyAbort
from hylo_eval.rollout.episode import EpisodeResult
from hylo_eval.safety.bounds import ActionBounds
from hylo_eval.safety.finite import NonFiniteGuard
from hylo_eval.safety.rate import RateLimit
from tests.episodes import FunctionAgent, ScriptedEnv, instance, task

Run = Callable[..., tuple[EpisodeResult, EpisodeTrace]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run an episode and read its trace back."""
    numbers = itertools.count()

    def call(
        env: Any = None, agent: Any = None, item: Any = None, **options: Any
    ) -> tuple[EpisodeResult, EpisodeTrace]:
        path = tmp_path / f"{next(numbers)}.jsonl"
        result = run_episode(
            env or ScriptedEnv(), agent or FunctionAgent(), item or instance(), trace_path=path, **options
        )
        trace = read_trace(path)
        assert trace.end == result.end or trace.end.status == result.end.status
        assert (trace.trace_sha256, trace.behaviour_sha256) == (
            result.digests.trace_sha256,
            result.digests.behaviour_sha256,
        )
        assert result.digests.size == path.stat().st_size
        assert not list(tmp_path.glob("*.partial"))
        return result, trace

    return call


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that raises."""

    def function(*_: Any) -> Any:
        raise error

    return function


def at_step(step: int, answer: Any) -> Callable[[int], Any]:
    """A step hook that answers (or raises) at one step."""

    def hook(index: int) -> Any:
        if index != step:
            return None
        if isinstance(answer, BaseException):
            raise answer
        return dict(answer)

    return hook


COMPLETED = [
    # success at, terminate at, task changes -> steps, once, at end, reason
    ((), None, {}, 10, False, False, "horizon"),
    ((4,), None, {}, 5, True, None, "success"),
    ((9,), None, {}, 10, True, True, "success"),
    ((4,), None, {"stop_on_success": False}, 10, True, False, "horizon"),
    ((4, 9), None, {"stop_on_success": False}, 10, True, True, "horizon"),
    ((), 6, {}, 7, False, False, "terminated"),
    ((6,), 6, {"stop_on_success": False}, 7, True, None, "terminated"),
    ((2, 6), 6, {"stop_on_success": False}, 7, True, True, "terminated"),
    ((2,), 6, {"stop_on_success": False}, 7, True, False, "terminated"),
    ((), None, {"max_steps": 1}, 1, False, False, "horizon"),
]


@pytest.mark.parametrize(("success_at", "terminate_at", "changes", "steps", "once", "at_end", "reason"), COMPLETED)
def test_a_completed_episode_says_how_it_ended(
    run: Run,
    success_at: tuple[int, ...],
    terminate_at: int | None,
    changes: dict[str, Any],
    steps: int,
    once: bool,
    at_end: bool | None,
    reason: str,
) -> None:
    """The end of an episode that stopped because of its success is unknown, never a copy of success_once."""
    _, trace = run(ScriptedEnv(success_at=success_at, terminate_at=terminate_at), item=instance(task(**changes)))
    end = trace.end
    assert end is not None
    assert (end.status, end.steps, end.success_once, end.success_at_end, end.reason) == (
        EpisodeStatus.COMPLETED,
        steps,
        once,
        at_end,
        reason,
    )
    assert [step.index for step in trace.steps] == list(range(steps))


FAILURES = [
    ({"on_reset": raising(RuntimeError("no context"))}, None, "env_error", "reset", "RuntimeError", 0),
    ({"on_reset": raising(SystemExit(1))}, None, "env_error", "reset", "SystemExit", 0),
    ({"on_reset": lambda: {"instruction": None}}, None, "env_error", "reset", "EnvError", 0),
    ({"on_reset": lambda: {"success": 0}}, None, "env_error", "reset", "EnvError", 0),
    ({"on_step": at_step(3, ValueError("qacc"))}, None, "env_error", "step", "ValueError", 3),
    ({"on_step": at_step(3, {"success": np.True_})}, None, "env_error", "step", "EnvError", 3),
    ({"on_step": at_step(3, {"success": 1.0})}, None, "env_error", "step", "EnvError", 3),
    ({"on_step": at_step(3, {"reward": "1"})}, None, "env_error", "step", "EnvError", 3),
    ({"on_step": at_step(3, {"observation": {"other": np.zeros(2)}})}, None, "env_error", "step", "EnvError", 3),
    ({}, raising(RuntimeError("no weights")), "agent_error", "act", "RuntimeError", 0),
    ({}, raising(SystemExit(0)), "agent_error", "act", "SystemExit", 0),
    ({}, lambda observation, replies: np.zeros(3), "agent_error", "act", "AgentError", 0),
    ({}, lambda observation, replies: np.zeros((2, 2, 2)), "agent_error", "act", "AgentError", 0),
    ({}, lambda observation, replies: "left", "agent_error", "act", "AgentError", 0),
    ({}, lambda observation, replies: [True, False], "agent_error", "act", "AgentError", 0),
    ({}, lambda observation, replies: [[1.0], [1.0, 2.0]], "agent_error", "act", "AgentError", 0),
    ({}, lambda observation, replies: None, "agent_error", "act", "AgentError", 0),
    (
        {},
        lambda observation, replies: np.array([np.nan if replies == 2 else 0.0, 0.0]),
        "agent_error",
        "filter",
        "AgentError",
        2,
    ),
]


@pytest.mark.parametrize(("env", "act", "status", "phase", "error_type", "steps"), FAILURES)
def test_a_failure_is_a_typed_outcome(
    run: Run, env: dict[str, Any], act: Any, status: str, phase: str, error_type: str, steps: int
) -> None:
    """Who raised where decides the status; the steps before it stay on record, success is never claimed."""
    result, trace = run(ScriptedEnv(**env), FunctionAgent(act))
    assert trace.status == status
    assert trace.end is not None
    assert (trace.end.steps, trace.end.success_at_end) == (steps, None)
    (error,) = trace.errors
    assert (error.phase, error.error_type) == (phase, error_type)
    assert "Traceback" in error.volatile["traceback"]
    assert result.error is not None


def test_errors_of_ours_keep_their_blame_in_any_phase(run: Run) -> None:
    """An agent's client may raise EnvError for nothing; an env that finds the agent at fault may say so."""
    _, trace = run(ScriptedEnv(on_step=at_step(0, AgentError("this arm has no such joint"))))
    assert trace.status is EpisodeStatus.AGENT_ERROR
    _, trace = run(ScriptedEnv(on_step=at_step(0, EnvError("lost"))))
    assert trace.status is EpisodeStatus.ENV_ERROR


@pytest.mark.parametrize("error", [RuntimeError("no model"), SystemExit("no model")], ids=["error", "exit"])
def test_an_env_that_cannot_even_describe_itself_is_an_outcome(run: Run, error: BaseException) -> None:
    """Its failure at reset is recorded all the same."""

    class Mute(ScriptedEnv):
        @property
        def env_spec(self) -> Any:
            raise error

    _, trace = run(Mute())
    assert trace.status is EpisodeStatus.ENV_ERROR
    assert trace.errors[0].message == "no model"


def test_an_unstable_simulation_is_its_own_outcome(run: Run) -> None:
    """The step that broke it is on record; success it claims does not count as the end."""
    _, trace = run(ScriptedEnv(success_at=(3,), on_step=at_step(3, {"unstable": "MuJoCo warned mjWARN_BADQACC"})))
    assert trace.end is not None
    assert (trace.status, trace.end.steps, trace.end.reason) == (
        EpisodeStatus.SIM_UNSTABLE,
        4,
        "MuJoCo warned mjWARN_BADQACC",
    )


class Stop:
    """Stops the episode at the third action."""

    name = "stop"

    def begin(self, env_spec: Any, action_space: Any) -> None:
        self.seen = 0

    def apply(self, action: Any, observation: Any) -> FilteredAction:
        self.seen += 1
        return FilteredAction(action, "too close", abort=self.seen == 3)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


def test_a_safety_abort_stops_before_the_action_reaches_the_env(run: Run) -> None:
    """The intervention is on record with what was proposed and that nothing was applied."""
    _, trace = run(safety=(Stop(),))
    assert trace.end is not None
    assert (trace.status, trace.end.steps) == (EpisodeStatus.SAFETY_ABORT, 2)
    (event,) = trace.safety
    assert (event.index, event.filter, event.proposed, event.applied, event.abort) == (
        2,
        "stop",
        [0.25, 0.25],
        None,
        True,
    )


def test_a_filter_changes_the_action_and_both_are_on_record(run: Run) -> None:
    """The env gets the clipped action, the trace holds proposed and applied."""
    _, trace = run(agent=FunctionAgent(lambda observation, replies: np.array([2.0, 0.5])), safety=(ActionBounds(),))
    assert trace.steps[0].proposed == [2.0, 0.5]
    assert trace.steps[0].applied == [1.0, 0.5]
    assert trace.steps[0].observation["position"] == [4.0, 3.5]
    assert len(trace.safety) == 10
    assert trace.safety[0].reason == "entry 0 is 2, outside [-1, 1]"


def test_holding_the_last_action_is_an_intervention_not_an_error(run: Run) -> None:
    """With hold, a NaN is replaced by the last applied action and recorded as text."""
    agent = FunctionAgent(lambda observation, replies: np.array([np.nan if replies == 1 else 0.5, 0.0]))
    _, trace = run(agent=agent, safety=(NonFiniteGuard("hold"),))
    assert trace.status is EpisodeStatus.COMPLETED
    assert np.isnan(trace.steps[1].proposed[0])
    assert trace.steps[1].applied == [0.5, 0.0]
    assert trace.safety[0].reason == "entries 0 are not finite; the last action is held"


def test_chunks_are_executed_up_to_the_replan_count(run: Run) -> None:
    """Row 0 first; the rest of a chunk is dropped; the agent is asked at the steps that say inference."""
    chunks = FunctionAgent(
        lambda observation, replies: np.arange(8.0).reshape(4, 2) / 100 + replies, chunk_length=4, replan=3
    )
    _, trace = run(agent=chunks)
    assert [step.inference for step in trace.steps] == [True, False, False] * 3 + [True]
    assert [step.proposed[0] for step in trace.steps[:4]] == [0.0, 0.02, 0.04, 1.0]


def test_a_chunk_shorter_than_the_replan_count_is_an_agent_error(run: Run) -> None:
    """Executing fewer than promised would be another protocol than the one on record."""
    agent = FunctionAgent(lambda observation, replies: np.zeros((2, 2)), chunk_length=4, replan=3)
    _, trace = run(agent=agent)
    assert trace.errors[0].message == "the reply holds 2 actions, fewer than the replan count 3"


@pytest.mark.parametrize(
    ("actions", "spec", "message"),
    [
        ((8, 2), {}, "the reply holds 8 actions, more than the chunk length 1 of the agent's spec"),
        ((2,), {"chunk_length": 4, "replan": 2}, "the reply holds 1 action, fewer than the replan count 2"),
    ],
)
def test_a_reply_that_is_not_what_the_spec_says_is_an_agent_error(
    run: Run, actions: tuple[int, ...], spec: dict[str, int], message: str
) -> None:
    """A chunk nobody declared would lose all but its first action in silence, and the record would say otherwise."""
    _, trace = run(agent=FunctionAgent(lambda observation, replies: np.zeros(actions), **spec))
    assert trace.status is EpisodeStatus.AGENT_ERROR
    assert trace.errors[0].message == message


def test_a_chunk_may_end_early_where_enough_of_it_is_executed(run: Run) -> None:
    """A planner that comes to its end answers with what it has left."""
    agent = FunctionAgent(lambda observation, replies: np.zeros((2, 2)), chunk_length=4, replan=2)
    _, trace = run(agent=agent)
    assert trace.status is EpisodeStatus.COMPLETED


def test_no_action_of_one_episode_reaches_the_next(run: Run) -> None:
    """An episode that ends in the middle of a chunk leaves nothing behind: the next begins by asking."""
    agent = FunctionAgent(
        lambda observation, replies: np.full((8, 2), observation["position"][0] / 100), chunk_length=8, replan=8
    )
    env = ScriptedEnv(terminate_at=2)
    _, first = run(env, agent, instance(seed=5))
    _, second = run(env, agent, instance(seed=7))
    assert first.steps[-1].proposed == [0.05, 0.05]
    assert second.steps[0].inference
    assert second.steps[0].proposed == [0.07, 0.07]
    assert agent.opened == 2
    assert [session.closed for session in agent.sessions] == [1, 1]


def test_observations_reach_the_agent_read_only(run: Run) -> None:
    """An agent that writes into an observation fails; the env's memory is not its own."""

    def scribble(observation: Any, replies: int) -> Any:
        observation["position"][0] = 9

    _, trace = run(agent=FunctionAgent(scribble))
    assert trace.status is EpisodeStatus.AGENT_ERROR
    assert "read-only" in trace.errors[0].message


def test_the_session_is_closed_once_whatever_happens(run: Run) -> None:
    """Also after an error; what close raises changes no outcome and is kept."""
    agent = FunctionAgent(raising(RuntimeError("x")))
    run(agent=agent)
    assert agent.sessions[0].closed == 1

    class BadClose(FunctionAgent):
        def open_episode(self, *arguments: Any) -> Any:
            session = super().open_episode(*arguments)
            session.close = raising(OSError("socket gone"))  # type: ignore[method-assign]
            return session

    _, trace = run(agent=BadClose())
    assert trace.status is EpisodeStatus.COMPLETED
    assert trace.end is not None
    assert trace.end.volatile["close_error"] == "OSError: socket gone"


def test_an_interrupt_ends_the_trace_as_cancelled(tmp_path: Path) -> None:
    """Ctrl-C in the middle is no failure of the agent: the trace says cancelled, and the interrupt goes on."""
    path = tmp_path / "trace.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run_episode(ScriptedEnv(on_step=at_step(4, KeyboardInterrupt())), FunctionAgent(), instance(), trace_path=path)
    trace = read_trace(path)
    assert trace.status is EpisodeStatus.CANCELLED
    assert len(trace.steps) == 4


def test_an_interrupt_that_nobody_asked_for_is_a_failure_of_who_raised_it(tmp_path: Path) -> None:
    """Where stops are asked for, an agent or env that raises the exception itself must not hold up the run for ever."""

    def interrupts(observation: Any, replies: int) -> Any:
        raise KeyboardInterrupt

    options: dict[str, Any] = {"stop": lambda: False}
    env = ScriptedEnv(on_step=at_step(4, KeyboardInterrupt()))
    result = run_episode(env, FunctionAgent(), instance(), trace_path=tmp_path / "env.jsonl", **options)
    assert (result.end.status, result.end.steps) == (EpisodeStatus.ENV_ERROR, 4)
    agent = FunctionAgent(interrupts)
    result = run_episode(ScriptedEnv(), agent, instance(), trace_path=tmp_path / "agent.jsonl", **options)
    assert result.end.status is EpisodeStatus.AGENT_ERROR


def test_equal_episodes_have_equal_behaviour_whatever_the_clock_and_attempt(run: Run) -> None:
    """What may differ between two equal runs stands under volatile and nowhere else."""
    ticks = itertools.count()
    one, first = run(attempt=1)
    two, second = run(attempt=2, clock=lambda: float(next(ticks)))
    assert one.digests.behaviour_sha256 == two.digests.behaviour_sha256
    assert one.digests.trace_sha256 != two.digests.trace_sha256
    assert first.episode_id.endswith(".1")
    assert second.episode_id.endswith(".2")


def test_the_seeds_handed_out_and_the_memory_held_are_on_record(run: Run) -> None:
    """The env gets the instance's seed, the agent one made of the key alone; memory varies, so it is volatile."""
    agent = FunctionAgent()
    _, trace = run(agent=agent, item=instance(seed=7))
    assert trace.start.seeds == {"env": 7, "agent": derive_seed("unit/task#7", "agent")}
    assert agent.sessions[0].seed == trace.start.seeds["agent"]
    assert trace.end is not None
    # A Python with numpy holds more than one mebibyte and less than a terabyte.
    assert 2**20 < trace.end.volatile["resident_bytes"] < 2**40


def test_another_seed_or_action_is_another_behaviour(run: Run) -> None:
    """The digest sees what it should."""
    digests = {
        run(item=instance(seed=3))[0].digests.behaviour_sha256,
        run(item=instance(seed=4))[0].digests.behaviour_sha256,
        run(agent=FunctionAgent(lambda observation, replies: np.full(2, 0.5)))[0].digests.behaviour_sha256,
    }
    assert len(digests) == 3


def test_non_finite_observations_are_kept_as_they_are(run: Run) -> None:
    """NaN and infinities come back as floats, not as null."""
    observation = {"position": np.array([np.nan, -np.inf])}
    _, trace = run(ScriptedEnv(on_step=at_step(0, {"observation": observation})))
    assert np.isnan(trace.steps[0].observation["position"][0])
    assert trace.steps[0].observation["position"][1] == -np.inf


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), np.float32("-inf"), np.array(np.nan)])
def test_a_reward_that_is_not_finite_is_the_environments_fault(run: Run, reward: Any) -> None:
    """It is no number that anybody can score: the step does not count, and the agent did nothing wrong."""
    result, trace = run(ScriptedEnv(on_step=at_step(3, {"reward": reward})))
    assert (result.end.status, len(trace.steps)) == (EpisodeStatus.ENV_ERROR, 3)
    assert (trace.errors[0].phase, trace.errors[0].error_type, trace.errors[0].step) == ("step", "EnvError", 3)
    assert trace.errors[0].message == f"the reward must be a finite number, not {float(reward)}"


def test_the_reward_of_an_unstable_simulation_may_be_anything(run: Run) -> None:
    """The simulator has warned of what the actions did: that is the outcome, and the step is kept as it was."""
    _, trace = run(ScriptedEnv(on_step=at_step(3, {"reward": -np.inf, "unstable": "MuJoCo warned mjWARN_BADQACC"})))
    assert (trace.status, trace.steps[3].reward) == (EpisodeStatus.SIM_UNSTABLE, -np.inf)


def test_pictures_are_kept_as_digests(run: Run) -> None:
    """A picture never enters the trace; another pixel is another digest."""

    class Camera(ScriptedEnv):
        def reset(self, **options: Any) -> Any:
            observation, info = super().reset(**options)
            return {**observation, "camera": np.zeros((4, 4, 3), np.uint8)}, info

        def step(self, action: Any) -> Any:
            observation, *rest = super().step(action)
            picture = np.zeros((8, 8, 3), np.uint8)[::2, ::2]
            picture[0, 0, 0] = self.taken == 2
            return {**observation, "camera": picture}, *rest

    _, trace = run(Camera())
    assert trace.reset is not None
    plain = trace.reset.images["camera"]
    assert [step.images["camera"] == plain for step in trace.steps[:3]] == [True, False, True]  # type: ignore[index]
    assert "camera" not in trace.steps[0].observation
    assert trace.start.observations["camera"].shape == (4, 4, 3)


def test_reply_metadata_and_transport_time_are_kept(run: Run) -> None:
    """Beside the step, as volatile."""
    agent = FunctionAgent(lambda observation, replies: Reply(np.zeros(2), 0.125, {"tokens": 7}))
    _, trace = run(agent=agent)
    assert trace.steps[0].volatile is not None
    assert trace.steps[0].volatile["transport_seconds"] == 0.125
    assert trace.steps[0].volatile["reply"] == {"tokens": 7}


def test_a_trace_is_written_once(tmp_path: Path) -> None:
    """Neither a finished nor a half-written trace is ever overwritten."""
    path = tmp_path / "trace.jsonl"
    run_episode(ScriptedEnv(), FunctionAgent(), instance(), trace_path=path)
    with pytest.raises(EvalError, match="exists already"):
        run_episode(ScriptedEnv(), FunctionAgent(), instance(), trace_path=path)
    (tmp_path / "other.jsonl.partial").touch()
    with pytest.raises(EvalError, match="another process is writing"):
        run_episode(ScriptedEnv(), FunctionAgent(), instance(), trace_path=tmp_path / "other.jsonl")


def test_observations_of_any_numeric_layout_are_recorded(run: Run) -> None:
    """A number in an array of no dimensions, a foreign byte order, a view: the trace holds their values."""
    observation = {
        "position": np.zeros(2),
        "number": np.array(2.5),
        "foreign": np.array([1.5, 2.5], ">f8"),
        "view": np.arange(6.0).reshape(2, 3).T,
    }
    env = ScriptedEnv(on_step=lambda index: {"observation": dict(observation)})
    reset = env.reset
    env.reset = lambda **options: (observation, reset(**options)[1])  # type: ignore[method-assign]
    _, trace = run(env, item=instance(task(max_steps=2)))
    expected = {name: value.tolist() for name, value in observation.items()}
    assert [step.observation for step in trace.steps] == [expected, expected]
    assert trace.reset is not None
    assert trace.reset.observation == expected


UNRECORDABLE = [
    ({"observation": {"position": np.array([object(), None])}}, "is a ndarray, not an array of numbers or text"),
    ({"observation": {"position": {1, 2}}}, "is a set, not an array of numbers or text"),
    ({"observation": {"position": "\ud800"}}, "float64 of shape (2,) at the reset and is text"),
    ({"observation": {"position": np.zeros(3)}}, "float64 of shape (2,) at the reset and is float64 of shape (3,)"),
    ({"observation": {"position": np.zeros(2, np.float32)}}, "is float32 of shape (2,)"),
    ({"observation": None}, "must be a mapping from text to arrays, not NoneType"),
    ({"goal": object()}, "info['goal'] must be a tuple of bools"),
    ({"goal": "abc"}, "info['goal'] must be a tuple of bools, not 'abc'"),
    ({"goal": (1, 0)}, "an entry of info['goal'] must be a bool, not 1"),
    ({"disagreement": None}, "info['disagreement'] must be a bool, not None"),
    ({"disagreement": np.zeros(2)}, "info['disagreement'] must be a bool"),
    ({"unstable": None}, "info['unstable'] must be text, not None"),
]


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("place", ["reset", "step", "agent"])
def test_whether_another_try_would_help_is_the_environments_to_say(run: Run, place: str, lasting: bool) -> None:
    """An agent that raises the same is to blame itself, and has no other try anyway."""

    def fail(*_: Any) -> Any:
        raise EnvError("a texture is missing", lasting=lasting)

    faults = {"reset": {"on_reset": fail}, "step": {"on_step": fail}, "agent": {}}
    result, _ = run(ScriptedEnv(**faults[place]), FunctionAgent(fail if place == "agent" else None))
    status = EpisodeStatus.AGENT_ERROR if place == "agent" else EpisodeStatus.ENV_ERROR
    assert (result.end.status, result.lasting) == (status, lasting and place != "agent")


@pytest.mark.parametrize(("answer", "message"), UNRECORDABLE, ids=range(len(UNRECORDABLE)))
def test_what_an_environment_returns_and_no_trace_can_hold_is_its_fault(run: Run, answer: Any, message: str) -> None:
    """An env_error with a readable trace, not the end of the run."""
    result, trace = run(ScriptedEnv(on_step=at_step(2, answer)))
    assert result.end.status is EpisodeStatus.ENV_ERROR
    assert result.end.steps == len(trace.steps)
    assert message in trace.errors[0].message


def test_a_reset_that_says_nonsense_is_the_environments_fault(run: Run) -> None:
    """Also where it only describes itself."""
    result, trace = run(ScriptedEnv(on_reset=lambda: {"settle_steps": "many"}))
    assert (result.end.status, trace.errors[0].phase) == (EpisodeStatus.ENV_ERROR, "reset")


def test_metadata_of_a_reply_is_kept_as_a_trace_writes_numbers(run: Run) -> None:
    """Scalars of numpy are numbers, what is not finite is text."""
    metadata = {"tokens": np.int64(3), "logprob": float("nan"), "top": (np.float32(0.5), None)}
    agent = FunctionAgent(lambda observation, replies: Reply(np.zeros(2), transport_seconds=0.25, metadata=metadata))
    _, trace = run(agent=agent)
    volatile = trace.steps[0].volatile
    assert volatile is not None
    assert volatile["reply"] == {"tokens": 3, "logprob": "NaN", "top": [0.5, None]}
    assert volatile["transport_seconds"] == 0.25


endless: dict[str, Any] = {}
endless["again"] = endless


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(np.zeros(2), metadata={"a": object()}), "metadata.a: holds a object; only JSON values are allowed"),
        (Reply(np.zeros(2), metadata={"a": np.zeros(2)}), "metadata.a: holds a ndarray; only JSON values are allowed"),
        (Reply(np.zeros(2), metadata={1: 2}), "metadata: has the key 1 of type int; keys are text"),  # type: ignore[dict-item]
        (Reply(np.zeros(2), metadata={"a": "\ud800"}), "metadata.a: holds a lone surrogate"),
        (Reply(np.zeros(2), metadata=endless), "the metadata of a reply is JSON: maximum recursion depth"),
        (Reply(np.zeros(2), transport_seconds="1"), "transport_seconds must be a finite number, not '1'"),  # type: ignore[arg-type]
        (Reply(np.zeros(2), transport_seconds=float("nan")), "transport_seconds must be a finite number, not nan"),
    ],
)
def test_a_reply_no_trace_can_hold_is_the_agents_fault(run: Run, reply: Reply, message: str) -> None:
    """An agent_error with a readable trace, not the end of the run."""
    result, trace = run(agent=FunctionAgent(lambda observation, replies: reply))
    assert (result.end.status, trace.errors[0].phase) == (EpisodeStatus.AGENT_ERROR, "act")
    assert message in trace.errors[0].message


def test_a_rate_limit_holds_against_an_agent_that_reuses_its_buffer(run: Run) -> None:
    """The action it compares with is a copy: with the agent's own array every change would look like none."""
    buffer = np.zeros(2)

    def act(observation: Any, replies: int) -> Any:
        buffer[:] = 1.0 if replies % 2 else -1.0
        return buffer

    _, trace = run(agent=FunctionAgent(act), safety=[RateLimit(0.1)])
    assert [step.applied[0] for step in trace.steps[:3]] == [-1.0, -0.9, -1.0]


def test_an_env_that_writes_to_its_action_is_found_out(run: Run) -> None:
    """The trace says what reached the env, not what the env made of it."""

    class Clips(ScriptedEnv):
        def step(self, action: Any) -> Any:
            action[:] = 9.0
            return super().step(action)

    result, trace = run(Clips(), FunctionAgent(lambda observation, replies: np.full(2, 5.0)), safety=[ActionBounds()])
    assert result.end.status is EpisodeStatus.ENV_ERROR
    assert "read-only" in trace.errors[0].message


RESETS = [
    ({"instruction": "stop"}, "info['instruction'] is 'stop', which does not come from the task's 'go'"),
    ({"settle_steps": "5"}, "info['settle_steps'] must be a number of steps, not '5'"),
    ({"settle_steps": 5.7}, "info['settle_steps'] must be a number of steps, not 5.7"),
    ({"settle_steps": -5}, "info['settle_steps'] must be a number of steps, not -5"),
    ({"state_digest": 5}, "info['state_digest'] must be text, not 5"),
]


@pytest.mark.parametrize(("said", "message"), RESETS, ids=range(len(RESETS)))
def test_what_a_reset_says_is_checked_and_never_coerced(run: Run, said: dict[str, Any], message: str) -> None:
    """An agent told something else than the task's instruction would be evaluated on another task."""
    result, trace = run(ScriptedEnv(on_reset=lambda: said))
    assert (result.end.status, trace.reset) == (EpisodeStatus.ENV_ERROR, None)
    assert trace.errors[0].message == message


class Unreadable(Exception):
    """Its message cannot be read."""

    def __str__(self) -> str:
        raise self.args[0] if self.args else RuntimeError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Unreadable(), "(its message cannot be read: RuntimeError)"),
        (Unreadable(SystemExit), "(its message cannot be read: SystemExit)"),
        (asyncio.CancelledError("late"), "late"),
        (GeneratorExit(), ""),
        (SystemExit(0), "0"),
        (EnvError("mine"), "mine"),
        (SafetyAbort("mine"), "mine"),
        (ValueError("\ud800"), "\\ud800"),
        (ValueError("x" * 10_000), "x" * 8192 + "... (1808 more characters)"),
        (ValueError("<A object at 0x7f5c38f011f0>"), "<A object at 0x...>"),
    ],
    ids=range(10),
)
def test_whatever_an_agent_raises_is_its_own_error(run: Run, error: BaseException, message: str) -> None:
    """Neither its type nor its message ends the run, leaves the denominator, or differs between equal runs."""
    result, trace = run(agent=FunctionAgent(raising(error)))
    assert result.end.status is EpisodeStatus.AGENT_ERROR
    assert trace.errors[0].message == message


@pytest.mark.parametrize("error", [Unreadable(), asyncio.CancelledError()])
def test_a_session_may_raise_anything_when_it_is_closed(run: Run, error: BaseException) -> None:
    """The outcome stands; what was raised is kept."""
    agent = FunctionAgent()
    opened = agent.open_episode

    def open_episode(*given: Any) -> Any:
        session = opened(*given)
        session.close = raising(error)  # type: ignore[method-assign]
        return session

    agent.open_episode = open_episode  # type: ignore[method-assign]
    result, trace = run(agent=agent)
    assert result.end.status is EpisodeStatus.COMPLETED
    assert type(error).__name__ in trace.end.volatile["close_error"]


def test_a_trace_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """A folder that is gone at the end is a sentence that names the file, not a fault in Hylo."""
    folder = tmp_path / "episodes"
    folder.mkdir()

    def vanish(index: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    with pytest.raises(EvalError, match=r"cannot write the trace .*\.partial: No such file"):
        run_episode(ScriptedEnv(on_step=vanish), FunctionAgent(), instance(), trace_path=folder / "one.jsonl")
