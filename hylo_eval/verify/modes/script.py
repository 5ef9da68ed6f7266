"""Mode ``script``: the task's own grading script, run in the workspace.

A script that declares a ``verdict_file`` writes a whole verdict there. One that does not reports a bare
reward: ``reward.json``, else ``reward.txt``, both in ``VERIFYIT_LOGS_DIR``, else the last line of its
standard output. The first of them that is there decides; a malformed one does not fall through to the next.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import attrs

from hylo_eval.credentials import secrets_of
from hylo_eval.redaction import redact_text
from hylo_eval.verify.execution.command import DETAIL_CHARACTERS, Completed, run_command
from hylo_eval.verify.execution.deadline import check_timeout
from hylo_eval.verify.execution.folders import private_folder
from hylo_eval.verify.execution.suites import absolute_paths, check_arguments
from hylo_eval.verify.execution.workspace import require_workspace
from hylo_eval.verify.file_ops.reading import (
    MAX_ARTIFACT_BYTES,
    UnreadableFile,
    UnreadableReason,
    read_beneath,
    relative_components,
)
from hylo_eval.verify.file_ops.resources import resource_file
from hylo_eval.verify.modes.grader import GradingContext, WorkspaceGrader
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.verdict import (
    GradingInfraError,
    InvalidTask,
    Reward,
    Status,
    malformation,
    scored,
    zero,
)

if TYPE_CHECKING:
    from pathlib import Path

    from hylo_eval.verify.specs.execution import ScriptSpec

_DEFAULT_REWARD_KEY = "reward"
_SEARCHED_CHARACTERS = 64 * 1024
_VERDICT_MEMBERS = frozenset({"status", "reward", "detail"})


class ReportedReward(NamedTuple):
    """A bare reward and where the script reported it.

    Attributes:
        value: The reward, finite but perhaps outside [0, 1].
        channel: ``reward.json``, ``reward.txt`` or ``stdout``.
        metrics: Every number of ``reward.json``; None for the other channels.
    """

    value: float
    channel: str
    metrics: dict[str, float] | None = None


def _check(spec: ScriptSpec) -> None:
    check_timeout(spec.timeout, field="timeout")
    check_arguments(spec.args, field="args")
    if spec.verdict_file is None:
        return
    try:
        components = relative_components(spec.verdict_file)
    except UnreadableFile:
        components = ()
    if not components:
        raise InvalidTask(f"verdict_file {spec.verdict_file!r:.200} must be a relative path inside the logs folder")


def grade_script(spec: ScriptSpec, context: GradingContext) -> Reward:
    """Runs the script and reads what it reports.

    Raises:
        InvalidTask: The specification is malformed or the script is missing.
        GradingInfraError: The script cannot be started, fails, or reports nothing that is a reward.
    """
    _check(spec)
    context = absolute_paths(context)
    script = resource_file(context.tests_dir, spec.path, what="script")
    require_workspace(context.workspace, candidate=False)
    interpreter = "bash" if script.suffix == ".sh" else "python3"
    with private_folder("script") as logs:
        variables = {
            "VERIFYIT_TESTS_DIR": str(context.tests_dir),
            "VERIFYIT_WORKSPACE": str(context.workspace),
            "VERIFYIT_LOGS_DIR": str(logs),
        }
        try:
            completed = run_command(
                [interpreter, str(script), *spec.args],
                cwd=context.workspace,
                timeout_seconds=spec.timeout,
                environment=variables,
                candidate=False,
                credentials=True,
            )
        except OSError as error:
            raise GradingInfraError(f"the script cannot be started: {error}") from error
        if spec.verdict_file is not None:
            return _declared_verdict(spec.verdict_file, logs, completed)
        return _bare_reward(spec, logs, completed)


def _execution(completed: Completed) -> dict[str, Any]:
    # The script was given the credentials, and the traceback of a client may show them.
    shown = redact_text(completed.stderr_text[-_SEARCHED_CHARACTERS:], *secrets_of(os.environ))
    return {"exit_code": completed.exit_code, "stderr": shown[-DETAIL_CHARACTERS:]}


def _bare_reward(spec: ScriptSpec, logs: Path, completed: Completed) -> Reward:
    detail = _execution(completed)
    if completed.timed_out:
        return zero("timeout", timeout=spec.timeout, **detail)
    if completed.flooded:
        return zero("output_too_large", **detail)
    if not completed.succeeded:
        raise GradingInfraError("the script failed", **detail)
    reported = reported_reward(logs, completed.stdout_text, spec.reward_key)
    if reported is None:
        raise GradingInfraError("the script reported no reward", **detail)
    detail["channel"] = reported.channel
    if reported.metrics:
        detail["metrics"] = reported.metrics
    if not 0.0 <= reported.value <= 1.0:
        return zero("reward_out_of_range", reported=reported.value, **detail)
    return scored(reported.value, **detail)


def reported_reward(logs: Path, stdout: str, reward_key: str) -> ReportedReward | None:
    """The reward of a script that declares no verdict file, from the first channel it used.

    Raises:
        GradingInfraError: That channel holds no finite number, or another key than the default was named and
            there is no ``reward.json``.
    """
    content = _artifact(logs, "reward.json")
    if content is not None:
        return _json_reward(content, reward_key)
    if reward_key != _DEFAULT_REWARD_KEY:
        raise GradingInfraError(f"the reward {reward_key!r:.80} needs a reward.json, and the script wrote none")
    content = _artifact(logs, "reward.txt")
    if content is not None:
        value = _number(content.decode(errors="replace"))
        if value is None:
            raise GradingInfraError("reward.txt holds no finite number")
        return ReportedReward(value=value, channel="reward.txt")
    last_line = stdout.strip().rpartition("\n")[2].strip()
    try:
        value = float(last_line)
    except ValueError:
        return None
    if not math.isfinite(value):
        raise GradingInfraError("the last line of the script's output is no finite number")
    return ReportedReward(value=value, channel="stdout")


def _artifact(logs: Path, name: str) -> bytes | None:
    """A file that the script wrote; None when there is none."""
    try:
        return read_beneath(logs, name, limit_bytes=MAX_ARTIFACT_BYTES)
    except UnreadableFile as error:
        if error.reason is UnreadableReason.MISSING:
            return None
        raise GradingInfraError(f"{name} of the script is not a bounded regular file: {error.reason}") from error


def _number(value: object) -> float | None:
    """A finite number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _json_reward(content: bytes, reward_key: str) -> ReportedReward:
    try:
        table = decode_json(content.decode(errors="replace"))
    except ValueError as error:
        raise GradingInfraError(f"reward.json is malformed: {error}") from error
    members = cast("dict[str, object]", table) if isinstance(table, dict) else {}
    value = _number(members.get(reward_key))
    if value is None:
        raise GradingInfraError(f"reward.json has no finite number under {reward_key!r:.80}")
    metrics: dict[str, float] = {}
    for name, member in members.items():
        number = _number(member)
        if number is not None:
            metrics[name] = number
        elif isinstance(member, float | int) and not isinstance(member, bool):
            raise GradingInfraError(f"reward.json has a number that is not finite under {name!r:.80}")
    return ReportedReward(value=value, channel="reward.json", metrics=metrics)


def _declared_verdict(name: str, logs: Path, completed: Completed) -> Reward:
    """The verdict that the script wrote, with how the script itself ran under ``script``."""
    execution = _execution(completed)
    if not completed.succeeded:
        raise GradingInfraError("the script did not end successfully with its verdict", script=execution)
    try:
        content = decode_json(read_beneath(logs, name, limit_bytes=MAX_ARTIFACT_BYTES).decode())
        reward = _verdict(content)
    except UnreadableFile as error:
        problem = f"the script's verdict was not read: {error.reason}"
        raise GradingInfraError(problem, script=execution) from error
    except ValueError as error:
        raise GradingInfraError(f"the script's verdict is malformed: {error}", script=execution) from error
    return attrs.evolve(reward, detail={**reward.detail, "script": execution})


def _verdict(content: object) -> Reward:
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - malformed content, no wrong argument
    members = cast("dict[str, Any]", content)
    if missing := sorted(_VERDICT_MEMBERS - members.keys()):
        raise ValueError(f"it lacks {', '.join(missing)}")
    status = members["status"]
    if not isinstance(status, str) or status not in set(Status):
        raise ValueError(f"its status must be one of {', '.join(Status)}")
    verdict = Reward(members["reward"], Status(status), members["detail"])
    if (problem := malformation(verdict)) is not None:
        raise ValueError(problem)
    return attrs.evolve(verdict, reward=float(verdict.reward))


GRADER: Final = WorkspaceGrader(grade=grade_script)
