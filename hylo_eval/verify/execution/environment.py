"""The environment and the user of commands that run for a verdict."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from hylo_eval.credentials import CREDENTIAL_PREFIXES
from hylo_eval.verify.execution.hiding import runs_alone
from hylo_eval.verify.verdict import GradingInfraError

CANDIDATE_USER_VARIABLE = "HYLO_VERIFY_USER"
"""Names the user that runs the candidate's commands; needs root. Files of the grader that this user cannot
read, the hidden cases among them, are then out of the candidate's reach."""

MARKER_VARIABLE = "HYLO_VERIFY_RUN"
"""The environment variable that marks the processes of one command."""

_CREDENTIALS = tuple(prefix.encode() for prefix in CREDENTIAL_PREFIXES)


class CommandEnvironment(NamedTuple):
    """The variables of one command, or of several that run one after the other.

    Attributes:
        variables: Names and values as the kernel takes them; None for this process's own, as they are.
        marker: The value of :data:`MARKER_VARIABLE` among them; nobody else's processes carry it. None where no
            mark is needed.
    """

    variables: Mapping[bytes, bytes] | None
    marker: str | None

    def __repr__(self) -> str:
        """Without the variables, which may be secret."""
        return f"CommandEnvironment(marker={self.marker!r})"


def command_environment(extra: Mapping[str, str] | None = None, *, credentials: bool = False) -> CommandEnvironment:
    """The environment of a command, with a new marker where one is needed.

    Args:
        extra: Variables set on top of this process's own.
        credentials: Whether the command may see the product's own credentials.
    """
    variables = _own_variables()
    withheld = () if credentials else [name for name in variables if name.startswith(_CREDENTIALS)]
    # A mark tells a command's processes from those that other threads start; while the only thread waits for the
    # command, no other can begin. Variables that nobody changes are inherited: handed over, they are converted one
    # by one at every start, a twentieth of a short command.
    if not extra and not withheld and runs_alone():
        return CommandEnvironment(None, None)
    for name in withheld:
        del variables[name]
    for name, value in (extra or {}).items():
        variables[os.fsencode(name)] = os.fsencode(value)
    marker = os.urandom(16).hex()
    variables[MARKER_VARIABLE.encode()] = marker.encode()
    return CommandEnvironment(variables, marker)


def _own_variables() -> dict[bytes, bytes]:
    """A copy of this process's variables as they are now."""
    # Copying ``os.environb`` itself runs Python code for every variable, a tenth of a short command. Behind it
    # CPython keeps a plain table of the same bytes; an interpreter that names it otherwise takes the long way.
    table: Mapping[bytes, bytes] = getattr(os.environb, "_data", os.environb)
    return dict(table)


class CommandUser(NamedTuple):
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
