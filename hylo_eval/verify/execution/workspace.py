"""The candidate's folder, before anything runs in it: a mistyped path must not be scored."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hylo_eval.verify.execution.command import run_command
from hylo_eval.verify.execution.environment import CANDIDATE_USER_VARIABLE, command_user
from hylo_eval.verify.file_ops.reading import UnusableFolder
from hylo_eval.verify.verdict import GradingInfraError, Reward, zero

if TYPE_CHECKING:
    from pathlib import Path

_LOOK_SECONDS = 60.0


def require_workspace(workspace: Path, *, candidate: bool = True) -> None:
    """Refuses a workspace that is no folder, or that the user of the commands in it cannot enter.

    Args:
        workspace: The folder.
        candidate: Whether the commands are the candidate's, for whom another user may be configured.

    Raises:
        UnusableFolder: It is missing, a file, or closed to that user.
        GradingInfraError: Who runs the commands cannot be found out.
    """
    try:
        os.stat(f"{workspace}{os.sep}.")  # noqa: PTH116 - a path object drops the dot, which only a folder has
    except OSError as error:
        raise UnusableFolder(workspace, error.strerror or str(error)) from error
    if command_user(candidate=candidate).user is None:
        return
    # What a user may enter is more than the modes of folders tell: that user has a look.
    try:
        look = run_command(["test", "-x", str(workspace)], cwd=workspace, timeout_seconds=_LOOK_SECONDS)
    except OSError as error:
        raise GradingInfraError(f"no command can be run in {str(workspace)!r:.500}: {error}") from error
    if not look.succeeded:
        user = os.environ.get(CANDIDATE_USER_VARIABLE, "")
        raise UnusableFolder(
            workspace, f"{user}, who runs the candidate's commands, may not (fix: give {user} the workspace)"
        )


def start_failure(error: OSError, workspace: Path, *, what: str) -> Reward:
    """The verdict on a command that could not be started in a workspace that was there at first.

    Raises:
        GradingInfraError: The workspace is still there, and so it is the command that is missing.
    """
    if not os.path.isdir(workspace):  # noqa: PTH112 - a path of which nothing can be known is no folder
        return zero("no_workspace", error=str(error), passed=0, total=0)
    raise GradingInfraError(f"{what} cannot be started: {error}") from error
