"""From benchmark and agent to a run folder."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from hylo_core import AgentInfo, Benchmark, EpisodeStatus, Score
from hylo_core.errors import ContractError
from hylo_core.frozen import thaw
from hylo_eval import AgentError, EnvError, EvalError, evaluate, plan_run, read_evallog, read_trace
from hylo_eval.errors import MissingSimulator
from hylo_eval.evallog import v01
from hylo_eval.evaluation import conclusion
from hylo_eval.evaluation.conclusion import Interrupted
from hylo_eval.evaluation.evaluate import make_run_id
from hylo_eval.safety.rate import RateLimit
from hylo_eval.scoring.success import Success
from tests import strategies
from tests.episodes import FunctionAgent, ScriptedEnv, benchmark, task


def factory(**options: Any) -> Any:
    """A factory of scripted envs."""
    return lambda spec: ScriptedEnv(spec, **options)


def run(root: Path, bench: Benchmark | None = None, env: Any = None, agent: Any = None, **options: Any) -> Any:
    """Evaluate with defaults."""
    return evaluate(
        bench or benchmark(),
        "heldout",
        env_factory=env or factory(success_at=(4,)),
        agent=agent or FunctionAgent(),
        run_root=root,
        **options,
    )


def test_a_run_leaves_manifest_traces_and_log(tmp_path: Path) -> None:
    """The files of the run folder, consistent with each other and with the result."""
    result = run(tmp_path, manifest={"name": "policy", "version": "7", "components": {"weights": "sha256:00"}})
    folder = result.run.path
    assert sorted(path.name for path in folder.iterdir()) == ["episodes", "evallog.json", "manifest.json", "queue.db"]
    log = read_evallog(folder / "evallog.json")
    assert log == result.log
    assert [sample.key for sample in log.samples] == [f"unit/task#{seed}" for seed in range(4)]
    for sample in log.samples:
        trace = read_trace(folder / sample.trace)
        assert (trace.key, trace.episode_id, trace.status) == (sample.key, sample.episode_id, sample.status)
        assert trace.start.agent == AgentInfo(name="policy", version="7", components={"weights": "sha256:00"})
        assert trace.start.benchmark.digest == benchmark().digest()
    assert log.mean("success") == 1.0
    assert log.mean("steps") == 5.0
    assert (log.results.n_episodes, log.results.n_scored) == (4, 4)
    assert result.exit_code == 0
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["run_id"] == folder.name == log.run_id
    assert manifest["tasks_digest"] == plan_run(benchmark()).tasks_digest


def test_the_log_says_what_a_reader_needs_to_doubt_it(tmp_path: Path) -> None:
    """Manifest, references of scorers, digests of traces, times, latencies."""
    result = run(tmp_path)
    log = read_evallog(result.log_path)
    assert log.status == "complete"
    assert thaw(log.eval.manifest) == json.loads(result.run.manifest.read_text())
    assert log.eval.scorers["success"].ref == "hylo_eval.scoring.success:Success"
    assert set(log.eval.scored_by) == {"version", "source_digest"}
    for sample in log.samples:
        trace = read_trace(result.run.path / sample.trace)
        assert (sample.trace_sha256, sample.behaviour_sha256) == (trace.trace_sha256, trace.behaviour_sha256)
        assert sample.steps == len(trace.steps) == 5
    assert log.stats.total_steps == 20
    assert log.stats.reply_seconds is not None
    assert log.stats.reply_seconds.n == 20
    assert 0 < log.stats.reply_seconds.p50 <= log.stats.reply_seconds.p95 <= log.stats.reply_seconds.p99
    assert log.stats.started_at <= log.stats.finished_at
    assert log.stats.started_at.startswith("20")
    assert log.stats.initial_states is not None
    assert log.stats.initial_states.distinct == result.initial_states.distinct == 4


def test_the_flat_form_has_the_fields_of_v01_and_no_others(tmp_path: Path) -> None:
    """Field for field."""
    result = run(tmp_path)
    document = json.loads(v01.encode_evallog(v01.read_evallog(result.log_path)))
    assert list(document) == ["version", "run_id", "benchmark", "agent", "results", "samples"]
    assert document["version"] == "hylo.evallog/v0.1"
    assert list(document["results"])[:2] == ["success_mean", "steps_mean"]
    assert list(document["benchmark"]) == ["id", "version", "digest", "split", "requires_privileged"]
    assert list(document["agent"]) == ["name", "version", "components"]
    assert list(document["samples"][0]) == ["key", "task_id", "seed", "episode_id", "status", "scores", "trace"]


def test_the_config_digest_is_a_function_of_the_configuration(tmp_path: Path) -> None:
    """Two runs of the same have one digest; another horizon, agent, selection or filter has another."""

    def config(**options: Any) -> str:
        result = run(tmp_path, **options)
        return json.loads(result.run.manifest.read_text())["config_digest"]

    base = config()
    assert config() == base
    others = {
        config(plan=plan_run(benchmark(), max_steps=7)),
        config(plan=plan_run(benchmark(), episodes=2)),
        config(agent=FunctionAgent(chunk_length=2, replan=1)),
        config(safety=()),
        config(max_attempts=1),
    }
    assert len(others | {base}) == 6


def test_no_secret_of_the_process_reaches_the_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the environment variables is written anywhere."""
    monkeypatch.setenv("SERVICE_API_KEY", "sk-do-not-write-me")
    folder = run(tmp_path).run.path
    assert not [path for path in folder.rglob("*") if path.is_file() and b"sk-do-not" in path.read_bytes()]


class Flaky:
    """An env factory that fails the first ``failures`` resets."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.made: list[ScriptedEnv] = []

    def __call__(self, spec: Any) -> ScriptedEnv:
        def on_reset() -> None:
            if self.failures:
                self.failures -= 1
                raise OSError("EGL_BAD_ALLOC")

        self.made.append(ScriptedEnv(spec, success_at=(4,), on_reset=on_reset))
        return self.made[-1]


def test_a_failing_env_is_made_anew_and_tried_again(tmp_path: Path) -> None:
    """Two infrastructure failures cost two attempts, and each env that failed is closed."""
    env = Flaky(2)
    result = run(tmp_path, env=env)
    assert result.exit_code == 0
    assert result.log.mean("success") == 1.0
    assert [sample.episode_id[-2:] for sample in result.log.samples] == [".2", ".2", ".1", ".1"]
    assert len(env.made) == 3
    assert [made.closed for made in env.made] == [1, 1, 1]
    assert len(list(result.run.episodes.iterdir())) == 6


def test_infrastructure_that_keeps_failing_abstains_and_the_run_is_incomplete(tmp_path: Path) -> None:
    """Nothing scored is no success, and no zero."""
    result = run(tmp_path, env=Flaky(1000))
    assert result.exit_code == 3
    assert result.log.mean("success") is None
    assert result.log.results.n_scored == 0
    assert {sample.status for sample in result.log.samples} == {"env_error"}
    assert dict(result.summaries["success"].abstained) == {"infra": 4}


def test_an_env_that_cannot_be_made_is_an_outcome_with_a_trace(tmp_path: Path) -> None:
    """Also when the factory itself raises, after the first env came up."""
    calls = iter(range(100))

    def make(spec: Any) -> ScriptedEnv:
        if next(calls) > 0:
            raise RuntimeError("no display")
        return ScriptedEnv(spec)

    bench = benchmark(task("a"), task("b"))
    result = run(tmp_path, bench, env=make)
    statuses = [sample.status for sample in result.log.samples]
    assert statuses == ["completed"] * 4 + ["env_error"] * 4
    trace = read_trace(result.run.path / result.log.samples[4].trace)
    assert (trace.errors[0].phase, trace.errors[0].message) == ("make", "no display")


def test_agent_errors_are_not_tried_again_and_alone_leave_the_run_complete(tmp_path: Path) -> None:
    """An agent that fails on one instance abstains there; the rest decides."""

    def act(observation: Any, replies: int) -> Any:
        if observation["position"][0] == 2.0:
            raise ValueError("unseen object")
        return [0.0, 0.0]

    result = run(tmp_path, agent=FunctionAgent(act))
    assert result.exit_code == 0
    assert dict(result.summaries["success"].abstained) == {"agent_error": 1}
    assert result.log.samples[2].value("success") is None
    assert len(list(result.run.episodes.iterdir())) == 4


def refuse(spec: Any) -> Any:
    """A factory without its simulator."""
    raise MissingSimulator("libero", "libero", "no module named libero")


def bad_options(spec: Any) -> Any:
    """A factory that refuses its options."""
    raise EnvError("an option that changes nothing")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"env": refuse}, "pip install 'hylo-eval\\[libero\\]'"),
        ({"env": bad_options}, "changes nothing"),
        ({"run_id": "../up"}, "is no run id"),
        ({"scorers": ()}, "at least one scorer"),
        ({"scorers": (Success(), Success())}, "two scorers are called 'success'"),
        ({"max_attempts": 0}, "at least 1"),
        ({"plan": plan_run(benchmark(seeds=(9,)))}, "another benchmark or split"),
    ],
)
def test_what_is_refused_is_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    """No half-written run that looks finished."""
    with pytest.raises(EvalError, match=message):
        run(tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_is_read_strictly(tmp_path: Path) -> None:
    """A key that would change nothing is refused."""
    with pytest.raises(Exception, match="manifest: nam: is not a key of AgentInfo; did you mean 'name'"):
        run(tmp_path, manifest={"nam": "x", "name": "y"})


def test_an_agent_whose_actions_differ_from_the_environments_is_refused(tmp_path: Path) -> None:
    """A control rate of 10 against 20 would run to completion with wrong numbers."""
    import attrs

    from hylo_core import EnvSpec

    class Spec(ScriptedEnv):
        env_spec = EnvSpec(control_hz=20)

    agent = FunctionAgent()
    agent.spec = attrs.evolve(agent.spec, control_hz=10)
    with pytest.raises(EvalError, match=r"control_hz: the environment has 20, the agent expects 10"):
        run(tmp_path, env=Spec, agent=agent)


class Adapts(FunctionAgent):
    """Takes its action from the env it meets."""

    def meet(self, env_spec: Any) -> None:
        import attrs

        if not env_spec.action:
            raise ValueError("no slices")
        self.spec = attrs.evolve(self.spec, control_hz=env_spec.control_hz)


def test_an_agent_that_meets_its_env_is_traced_as_it_then_is(tmp_path: Path) -> None:
    """Also under another manifest; one that cannot work with the env is refused before anything is written."""
    from hylo_core import ActionSlice, EnvSpec

    class Spec(ScriptedEnv):
        env_spec = EnvSpec(control_hz=20, action=(ActionSlice(name="a", start=0, stop=2),))

    result = run(tmp_path, env=Spec, agent=Adapts(), manifest={"name": "other"})
    trace = read_trace(result.run.path / result.log.samples[0].trace)
    assert trace.start.agent_spec.control_hz == 20
    assert trace.start.agent.name == "other"
    with pytest.raises(EvalError, match="cannot work with this env: ValueError: no slices"):
        run(tmp_path, agent=Adapts(), run_id="none")
    assert not (tmp_path / "none").exists()


def test_a_run_id_names_one_configuration(tmp_path: Path) -> None:
    """The same call again runs nothing anew and comes to the same; another one is refused with the difference."""
    first = run(tmp_path, run_id="mine")
    started: list[Any] = []
    again = run(tmp_path, run_id="mine", started=lambda instance, attempt: started.append(instance))
    assert (again.log.samples, again.log.results) == (first.log.samples, first.log.results)
    assert (started, again.exit_code) == ([], 0)
    with pytest.raises(EvalError, match=r"(?s)overrides.max_steps: stored nothing, given 7.*choose another --run-id"):
        run(tmp_path, run_id="mine", plan=plan_run(benchmark(), max_steps=7))


def test_a_folder_that_is_no_run_is_not_written_into(tmp_path: Path) -> None:
    """Not even when it is empty."""
    (tmp_path / "mine").mkdir()
    with pytest.raises(EvalError, match="choose another --run-id"):
        run(tmp_path, run_id="mine")


@pytest.mark.parametrize("left", [(), ("manifest.json",), (".manifest.json.7.tmp",)])
def test_what_a_run_leaves_that_never_began_is_taken_over(tmp_path: Path, left: tuple[str, ...]) -> None:
    """Killed, or out of disk, before its queue was there: its name is not lost."""
    (tmp_path / "mine" / "episodes").mkdir(parents=True)
    for name in left:
        (tmp_path / "mine" / name).write_text("{")
    assert run(tmp_path, run_id="mine").exit_code == 0


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    """The partial log holds the finished episodes; the stopped one is no episode; the run does not look finished."""
    resets = iter(range(100))

    def on_reset() -> None:
        if next(resets) == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        run(tmp_path, env=factory(success_at=(4,), on_reset=on_reset))
    result = caught.value.result
    assert not (result.run.path / "evallog.json").exists()
    assert len(read_evallog(result.run.path / "evallog.partial.json").samples) == 2
    assert result.exit_code == 3


class Broken:
    """A scorer that raises, and one that returns no score."""

    name = "broken"

    def score(self, trace: Any, task: Any) -> Score:
        raise ZeroDivisionError

    class Number:
        """Returns a number."""

        name = "number"

        def score(self, trace: Any, task: Any) -> Any:
            return 1.0


def test_a_broken_scorer_abstains_and_loses_nothing(tmp_path: Path) -> None:
    """The other scorers' numbers and the traces stand."""
    result = run(tmp_path, scorers=(Success(), Broken(), Broken.Number()))
    assert result.summaries["success"].mean == 1.0
    assert dict(result.summaries["broken"].abstained) == {"scorer_error": 4}
    assert dict(result.summaries["number"].abstained) == {"scorer_error": 4}


@given(strategies.benchmarks())
def test_every_prefix_of_the_declared_order_is_balanced(bench: Benchmark) -> None:
    """No task is more than one episode ahead of another, and narrowing keeps the order."""
    plan = plan_run(bench)
    counts = dict.fromkeys((spec.id for spec in bench.tasks), 0)
    for item in plan.instances:
        counts[item.spec.id] += 1
        assert max(counts.values()) - min(counts.values()) <= 1
    half = max(1, len(plan.instances) // 2)
    assert plan_run(bench, max_episodes=half).instances == plan.instances[:half]
    assert [plan.instance(item.key) for item in plan.declared] == list(plan.instances)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "heldot"}, "has no split 'heldot'; did you mean 'heldout'"),
        ({"tasks": ("tsk",)}, "has no task 'tsk'; did you mean 'task'"),
        ({"tasks": ("7",)}, "has no task 7; its tasks are 0 to 0"),
        ({"key": "unit/task#9"}, "has no instance 'unit/task#9'; did you mean"),
        ({"key": "unit/task#1", "tasks": ("0",)}, "leave --task out"),
        ({"episodes": 0}, "--episodes must be at least 1"),
    ],
)
def test_a_selection_of_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    """With the near names."""
    with pytest.raises(EvalError, match=message):
        plan_run(benchmark(), **options)


def test_tasks_are_selected_by_id_end_or_position() -> None:
    """All three name the same task; the key names one instance."""
    bench = benchmark(task("family/a"), task("family/b"))
    for name in ("family/b", "b", "1"):
        assert {item.spec.id for item in plan_run(bench, tasks=(name,)).instances} == {"family/b"}
    (only,) = plan_run(bench, key="family/b#2").instances
    assert (only.key, only.episode_index) == ("family/b#2", 2)


def test_run_ids_sort_by_time_and_are_file_names() -> None:
    """Whatever the agent is called."""
    name = make_run_id("a/b", "../evil agent")
    assert "/" not in name
    assert name[8] == "T"


def test_statuses_are_the_words_of_the_log() -> None:
    """The enum's text is what a sample holds."""
    assert str(EpisodeStatus.COMPLETED) == "completed"


def test_a_simulator_that_changes_the_directory_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative run root is where the run began."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    result = run(Path("runs"), env=factory(on_step=lambda index: os.chdir(tmp_path / "elsewhere")))
    assert result.complete
    assert result.log_path.is_relative_to(tmp_path / "runs")


def test_what_is_refused_for_the_manifest_is_refused_before_the_folder(tmp_path: Path) -> None:
    """An integer that JSON readers round leaves no half-made run."""
    with pytest.raises(ContractError, match="integer"):
        run(tmp_path, agent_ref={"ref": "x:y", "options": {"n": 2**60}})
    assert not list(tmp_path.iterdir())


def test_a_lost_or_changed_trace_is_abstained_from(tmp_path: Path) -> None:
    """The rest of the run keeps its log; exit code 3 says that it is not whole."""
    paths: list[Path] = []

    def finished(episode: Any) -> None:
        paths.append(episode.result.path)
        if len(paths) == 2:
            paths[0].unlink()
        if len(paths) == 3:
            paths[2].write_bytes(paths[1].read_bytes())

    result = run(tmp_path, finished=finished)
    summary = result.summaries["success"]
    assert (summary.n_scored, summary.abstained, result.exit_code) == (2, {"trace_unreadable": 2}, 3)


def test_a_grade_that_names_other_bytes_is_abstained_from(tmp_path: Path) -> None:
    """The episode's own digest is right; what follows its end was not appended by a grader."""
    grade = b'{"type":"grade","grader":"person","value":1.0,"prev_sha256":"sha256:0"}\n'
    paths: list[Path] = []

    def finished(episode: Any) -> None:
        paths.append(episode.result.path)
        if len(paths) == 1:
            paths[0].write_bytes(paths[0].read_bytes() + grade)

    result = run(tmp_path, finished=finished)
    assert result.summaries["success"].abstained == {"trace_unreadable": 1}


def test_a_run_that_breaks_keeps_the_log_of_what_is_finished(tmp_path: Path) -> None:
    """A folder that is gone ends the run with its error; the episodes before it are scored."""

    def finished(episode: Any) -> None:
        raise EvalError("the disk is full")

    with pytest.raises(EvalError, match="the disk is full"):
        run(tmp_path, run_id="broken", finished=finished)
    log = read_evallog(tmp_path / "broken" / "evallog.partial.json")
    assert len(log.samples) == 1


def test_a_log_that_cannot_be_written_either_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The run ends with what broke it; that what is finished has no log is no secret."""

    def finished(episode: Any) -> None:
        episode.result.path.parents[1].joinpath("evallog.partial.json").mkdir()
        raise EvalError("the disk is full")

    with pytest.raises(EvalError, match="the disk is full"):
        run(tmp_path, run_id="broken", finished=finished)
    assert "what is finished has no log: cannot write" in caplog.text


class Half:
    """Says a half and claims to be binary, or ends the process."""

    name = "half"
    binary = True

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    def score(self, trace: Any, task: Any) -> Score:
        if self.error is not None:
            raise self.error
        return Score(0.5)


@pytest.mark.parametrize("scorer", [Half(), Half(SystemExit(0))])
def test_a_faulty_scorer_loses_no_run_and_is_not_passed_over(tmp_path: Path, scorer: Half) -> None:
    """It abstains, and the run is not complete: nobody's behaviour is to blame for it."""
    result = run(tmp_path, scorers=[Success(), scorer])
    assert result.summaries["half"].abstained == {"scorer_error": 4}
    assert (result.summaries["success"].n_scored, result.exit_code) == (4, 3)


def test_an_env_without_an_action_space_is_refused(tmp_path: Path) -> None:
    """Before anything is written."""

    class Blank(ScriptedEnv):
        def __init__(self, spec: Any) -> None:
            super().__init__(spec)
            del self.action_space

    with pytest.raises(EnvError, match="without an action space"):
        run(tmp_path, env=Blank)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("versions", [5, {"a": 5}])
def test_versions_are_texts_by_name(tmp_path: Path, versions: Any) -> None:
    """What the trace could not be read back with is refused at once."""

    class Odd(ScriptedEnv):
        pass

    Odd.versions = versions
    with pytest.raises(EnvError, match="versions must be package versions by name"):
        run(tmp_path, env=Odd)


def test_a_second_signal_does_not_cost_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was meant for a step that does not come back, and may arrive while the log is being written."""
    write, calls = conclusion.write_evallog, list[Path]()

    def interrupted_once(log: Any, path: Path) -> None:
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        write(log, path)

    monkeypatch.setattr(conclusion, "write_evallog", interrupted_once)
    with pytest.raises(Interrupted):
        run(tmp_path, run_id="stopped", stop=lambda: True)
    assert (tmp_path / "stopped" / "evallog.partial.json").exists()


def test_a_child_that_an_agent_forks_does_not_run_on(tmp_path: Path) -> None:
    """It comes back into the loop with the parent's open trace; the parent's run is as if it had not been."""

    def act(observation: Any, replies: int) -> Any:
        child = os.fork()
        if child == 0:
            sys.exit(0)
        os.waitpid(child, 0)
        return [0.0, 0.0]

    result = run(tmp_path, agent=FunctionAgent(act))
    assert (result.summaries["success"].n_scored, result.exit_code) == (4, 0)


@pytest.mark.parametrize("value", [np.float64(0.5), 10**400])
def test_a_score_is_logged_as_a_float_or_not_at_all(tmp_path: Path, value: Any) -> None:
    """What JSON cannot hold is the scorer's error and loses no run."""

    class Odd:
        name = "odd"

        def score(self, trace: Any, task: Any) -> Score:
            return Score(value)

    result = run(tmp_path, scorers=[Success(), Odd()])
    assert read_evallog(result.log_path).samples[0].value("odd") == (0.5 if isinstance(value, float) else None)


@pytest.mark.parametrize("part", ["info", "spec"])
def test_what_is_no_agent_is_refused(tmp_path: Path, part: str) -> None:
    """Before anything is made."""
    agent = FunctionAgent()
    setattr(agent, part, None)
    with pytest.raises(AgentError, match=f"its {part} is None"):
        run(tmp_path, agent=agent)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [5, "a\ud800"])
def test_a_name_no_log_can_hold_is_refused(tmp_path: Path, name: Any) -> None:
    """Of a scorer and of a filter, at once and not after the run."""
    scorer, safety_filter = Half(), RateLimit(1.0)
    scorer.name = safety_filter.name = name
    with pytest.raises(EvalError, match="is no scorer"):
        run(tmp_path, scorers=[scorer])
    with pytest.raises(EvalError, match="is no safety filter"):
        run(tmp_path, safety=[safety_filter])
    assert not list(tmp_path.iterdir())


def test_a_first_env_that_fails_once_is_said_and_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A simulator may come up at the second try; nobody has to guess why the run began late."""
    failures = [OSError("EGL_BAD_ALLOC")]

    def make(spec: Any) -> Any:
        if failures:
            raise failures.pop()
        return ScriptedEnv(spec, success_at=(4,))

    assert run(tmp_path, env=make).exit_code == 0
    assert "raised OSError: EGL_BAD_ALLOC; it is tried again" in caplog.text


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(0)])
def test_whatever_is_raised_where_an_env_is_made_is_a_refusal(tmp_path: Path, error: BaseException) -> None:
    """Also what does not derive from Exception."""

    def make(spec: Any) -> Any:
        raise error

    with pytest.raises(EnvError, match=f"cannot be made: {type(error).__name__}"):
        run(tmp_path, env=make, max_attempts=1)
    assert not list(tmp_path.iterdir())
