"""Short names for references. A table of literals: nothing is imported until it is asked for.

Every plug-in is a reference ``package.module:Attr``; the built-in short names stand here, third parties add theirs by
entry points (``hylo.envs``, ``hylo.agents``, ``hylo.scorers``, ``hylo.safety``, ``hylo.graders``,
``hylo.providers``).
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import attrs

from hylo_core.errors import MissingModule, RefError
from hylo_core.refs import load_ref, parse_ref
from hylo_eval.errors import EvalError
from hylo_eval.suggest import did_you_mean, quoted

Kind: TypeAlias = Literal["envs", "agents", "scorers", "safety", "graders", "providers"]


@attrs.frozen
class Plugin:
    """A short name, what it stands for, and one line about it."""

    name: str
    ref: str
    summary: str = ""


BUILT_IN: Final[dict[Kind, tuple[Plugin, ...]]] = {
    "envs": (
        Plugin("reach", "hylo_eval.envs.reach:ReachEnv", "a point robot in numpy, for tests and teaching"),
        Plugin(
            "fetch",
            "hylo_eval.envs.fetch:FetchEnv",
            "Gymnasium-Robotics FetchReach, FetchPush, FetchPickAndPlace",
        ),
        Plugin("metaworld", "hylo_eval.envs.metaworld:MetaworldEnv", "the 50 Meta-World tasks"),
        Plugin("libero", "hylo_eval.envs.libero:LiberoFactory", "the 130 LIBERO tasks"),
        Plugin("robocasa", "hylo_eval.envs.robocasa:RobocasaFactory", "the 317 RoboCasa tasks, in its own environment"),
        Plugin("gymnasium", "hylo_eval.envs.gymnasium:GymnasiumEnv", "any registered Gymnasium id"),
        Plugin("response", "hylo_eval.envs.response:ResponseEnv", "a question about pictures, answered in text"),
    ),
    "agents": (
        Plugin("zero", "hylo_eval.agents.baselines:ZeroAgent", "the zero action at every step"),
        Plugin("random", "hylo_eval.agents.baselines:RandomAgent", "uniform actions, seeded by the instance"),
        Plugin("replay", "hylo_eval.agents.baselines:ReplayAgent", "the actions of recorded traces"),
        Plugin("reach-scripted", "hylo_eval.agents.reach_scripted:ReachScripted", "solves reach"),
        Plugin(
            "fetch-scripted",
            "hylo_eval.agents.fetch_scripted:FetchScripted",
            "solves the Fetch tasks, with seeded noise",
        ),
        Plugin(
            "metaworld-expert",
            "hylo_eval.agents.metaworld_expert:MetaworldExpert",
            "the experts Meta-World ships",
        ),
        Plugin(
            "libero-scripted",
            "hylo_eval.agents.libero_scripted:LiberoScripted",
            "solves libero_object from privileged state",
        ),
        Plugin(
            "robocasa-scripted",
            "hylo_eval.agents.robocasa_scripted:RobocasaScripted",
            "solves NavigateKitchen and CloseDrawer from privileged state",
        ),
        Plugin(
            "response-scripted",
            "hylo_eval.agents.response_scripted:ResponseScripted",
            "answers from the truth, sometimes wrongly",
        ),
        Plugin("chat", "hylo_eval.agents.chat:ChatAgent", "a model behind an OpenAI-compatible chat endpoint"),
    ),
    "scorers": (
        Plugin("success", "hylo_eval.scoring.success:Success", "success as the task defines it (success_at)"),
        Plugin("success_once", "hylo_eval.scoring.success:SuccessOnce", "success after any step"),
        Plugin("success_at_end", "hylo_eval.scoring.success:SuccessAtEnd", "success after the last step"),
        Plugin(
            "success_per_chunk",
            "hylo_eval.scoring.success:SuccessPerChunk",
            "success latched over each chunk of actions, decided at its end",
        ),
        Plugin("steps", "hylo_eval.scoring.counts:Steps", "actions that reached the environment"),
        Plugin(
            "safety_interventions",
            "hylo_eval.scoring.counts:SafetyInterventions",
            "actions a safety filter changed or stopped",
        ),
        Plugin("response", "hylo_eval.scoring.response:TraceResponseScorer", "a text response by the Trace contract"),
        Plugin(
            "response_success",
            "hylo_eval.scoring.response:ResponseSuccess",
            "answer right, annotation at least tau",
        ),
        Plugin("points_in_region", "hylo_eval.scoring.response:PointsInRegion", "share of points in the task's region"),
        Plugin("exact_count", "hylo_eval.scoring.response:ExactCount", "exactly as many points as asked for"),
        Plugin("trajectory_rmse", "hylo_eval.scoring.response:TrajectoryRmse", "distance from the true visual trace"),
        Plugin(
            "trajectory_similarity",
            "hylo_eval.scoring.response:TrajectorySimilarity",
            "that distance on a scale of 0 to 1; no trace is 0",
        ),
        Plugin("latency_p95", "hylo_eval.scoring.latency:LatencyP95", "95th percentile of seconds per reply"),
        Plugin("reward_sum", "hylo_eval.scoring.reward:RewardSum", "sum of the environment's rewards"),
        Plugin(
            "action_smoothness",
            "hylo_eval.scoring.smoothness:ActionSmoothness",
            "RMS second difference of the applied actions; lower is smoother",
        ),
        Plugin("progress_best", "hylo_eval.scoring.progress:ProgressBest", "largest share of the goal that held"),
        Plugin("progress_at_end", "hylo_eval.scoring.progress:ProgressAtEnd", "share of the goal at the last step"),
        Plugin(
            "time_to_success",
            "hylo_eval.scoring.time_to_success:TimeToSuccess",
            "steps to the first success, restricted to the horizon",
        ),
        Plugin(
            "verdict",
            "hylo_eval.scoring.verdict:VerdictScorer",
            "the answer under the task's params.verifier, in process",
        ),
        Plugin("grade", "hylo_eval.scoring.grade:GradeScorer", "the latest grade that a verdict grader recorded"),
        Plugin("verifier_reward", "hylo_eval.scoring.graded:VerifierReward", "the reward that a verifier gave"),
        Plugin(
            "graded_success",
            "hylo_eval.scoring.graded:GradedSuccess",
            "success as graders judged it; abstains where they disagree",
        ),
    ),
    "safety": (
        Plugin("finite", "hylo_eval.safety.finite:NonFiniteGuard", "refuses actions that are not finite"),
        Plugin("bounds", "hylo_eval.safety.bounds:ActionBounds", "clips to the action space"),
        Plugin("rate", "hylo_eval.safety.rate:RateLimit", "bounds the change from one action to the next"),
        Plugin("box", "hylo_eval.safety.workspace:WorkspaceBox", "keeps the end effector in a box"),
    ),
    "graders": (
        Plugin(
            "verdict",
            "hylo_eval.evaluation.graders:make_verdict",
            "a verifier.toml of any mode, on a workspace or an answer",
        ),
        Plugin("verifier", "hylo_eval.evaluation.graders:make_verifier", "a rubric, a plugin or an endpoint"),
        Plugin("vlm_judge", "hylo_eval.evaluation.graders:make_vlm_judge", "a model that looks at the recorded video"),
        Plugin("operator", "hylo_eval.evaluation.graders:make_operator", "a person at the terminal"),
        Plugin(
            "predicate",
            "hylo_eval.evaluation.graders:make_predicate",
            "replays the actions in the simulator and asks for success again",
        ),
    ),
    "providers": (
        Plugin(
            "robocasa",
            "hylo_eval.envs.robocasa.provider:RoboCasaProvider",
            "kitchens, styles and objects for the tasks of RoboCasa",
        ),
    ),
}


def plugins(kind: Kind) -> tuple[Plugin, ...]:
    """The built-in and third-party plug-ins of a kind; reads entry points, imports nothing."""
    from importlib.metadata import entry_points

    named = {plugin.name for plugin in BUILT_IN[kind]}
    found = [
        Plugin(entry.name, entry.value, f"from {entry.dist.name}" if entry.dist else "")
        for entry in entry_points(group=f"hylo.{kind}")
        if entry.name not in named
    ]
    return (*BUILT_IN[kind], *found)


def ref_of(kind: Kind, name: str) -> str:
    """The reference a short name stands for; a reference stands for itself.

    Raises:
        EvalError: Neither; the text suggests near names.
    """
    # Entry points are read last: looking through what is installed takes milliseconds.
    built_in = {plugin.name: plugin.ref for plugin in BUILT_IN[kind]}
    if name in built_in:
        return built_in[name]
    table = built_in if ":" in name else {plugin.name: plugin.ref for plugin in plugins(kind)}
    if name in table:
        return table[name]
    if ":" in name:
        try:
            parse_ref(name)
        except RefError as error:
            raise EvalError(
                str(error),
                fix="mend the reference, package.module:Attr, or the code that it names; --debug shows where it failed",
            ) from error
        return name
    singular = kind.removesuffix("s") if kind != "safety" else "safety filter"
    hint = did_you_mean(name, table)
    raise EvalError(f"there is no {singular} {quoted(name)}{hint}", fix=f"hylo-eval list {kind}")


def load(kind: Kind, name: str) -> Any:
    """Import what a short name or reference stands for.

    Raises:
        EvalError: No such name, or the import fails (the cause is chained).
    """
    ref = ref_of(kind, name)
    try:
        return load_ref(ref)
    except MissingModule as error:
        fix = "put the folder of the module on the path (PYTHONPATH=. hylo-eval …), or install its package"
        raise EvalError(str(error), fix=fix) from error
    except RefError as error:
        raise EvalError(
            str(error),
            fix="mend the reference, package.module:Attr, or the code that it names; --debug shows where it failed",
        ) from error
