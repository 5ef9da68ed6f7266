"""The environment and the user of commands that run for a verdict."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from hylo_eval.verify.verdict import GradingInfraError

if TYPE_CHECKING:
    from collections.abc import Mapping

CANDIDATE_USER_VARIABLE = "HYLO_VERIFY_USER"
"""Names the user that runs the candidate's commands; needs root. Files of the grader that this user cannot
read, the hidden cases among them, are then out of the candidate's reach."""

_CREDENTIAL_PREFIX = "VERIFYIT_JUDGE_"


def command_environment(extra: Mapping[str, str], *, credentials: bool) -> dict[str, str]:
    """The environment of a command.

    Args:
        extra: Variables set on top of this process's own.
        credentials: Whether the command may see the judge's credentials.
    """
    inherited = {
        name: value for name, value in os.environ.items() if credentials or not name.startswith(_CREDENTIAL_PREFIX)
    }
    return {**inherited, **extra}


@attrs.frozen(kw_only=True)
class CommandUser:
    """The user that a command runs as; None for this process's own."""

    user: int | None = None
    group: int | None = None
    extra_groups: tuple[int, ...] | None = None


def command_user(*, candidate: bool) -> CommandUser:
    """The user of a command: the configured one for the candidate's, this process's own for the task's.

    Raises:
        GradingInfraError: A user is configured, but does not exist, or this process may not change users.
    """
    name = os.environ.get(CANDIDATE_USER_VARIABLE, "")
    if not candidate or not name:
        return CommandUser()
    import pwd

    try:
        entry = pwd.getpwnam(name)
    except KeyError as error:
        raise GradingInfraError(f"{CANDIDATE_USER_VARIABLE} names {name!r}, a user that does not exist") from error
    if os.geteuid() != 0:
        raise GradingInfraError(f"{CANDIDATE_USER_VARIABLE} needs a verifier that runs as root")
    return CommandUser(user=entry.pw_uid, group=entry.pw_gid, extra_groups=())
