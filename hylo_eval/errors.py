"""The errors of running, reading and judging.

::

    HyloError
    └── EvalError                    usage, configuration or input: exit code 2
        ├── EnvError                 the environment's fault: a typed outcome, never a failed policy
        │   ├── EnvUnready           it is installed and lacks what it needs: nothing can be scored, exit code 3
        │   └── MissingSimulator     its packages are not installed
        ├── AgentError               the agent's fault
        ├── SafetyAbort              a safety filter stopped the episode
        ├── TraceError(path, line)   a trace that cannot be read
        ├── DisturbedTrace           a trace that somebody else wrote into while it was written: its worker is lost
        ├── QueueError               the work queue refuses
        └── VerificationError(ref)   a verifier failed: its kind, its ref and the cause; never a reward of zero
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from hylo_core.errors import HyloError
from hylo_eval.installing import install_apart_here, install_command


class EvalError(HyloError):
    """Base of the errors of hylo_eval.

    Attributes:
        message: What is wrong, then where.
        fix: The command or edit that mends it.
        again: Arguments with which the same command would be accepted, where somebody means it.
    """

    def __init__(self, message: str, *, fix: str = "", again: Sequence[str] = ()) -> None:
        self.message = message
        self.fix = fix
        self.again = tuple(again)
        super().__init__(f"{message}\n  fix: {fix}" if fix else message)


def cannot_read(what: str, error: OSError) -> EvalError:
    """The error of a file that the system does not let us read; ``what``: which, such as ``the log PATH``."""
    return EvalError(f"cannot read {what}: {_reason(error)}", fix=_file_fix(error))


def cannot_write(what: str, error: OSError) -> EvalError:
    """The same for a file or folder that cannot be written."""
    return EvalError(f"cannot write {what}: {_reason(error)}", fix=_file_fix(error))


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _file_fix(error: OSError) -> str:
    return _FILE_FIXES.get(error.errno or 0, "look at the file and at the disk it lies on")


_FILE_FIXES: Final[Mapping[int, str]] = {
    errno.ENOENT: "correct the path: ls shows what is there",
    errno.ENOTDIR: "correct the path: a part of it is a file",
    errno.EISDIR: "name a file: this is a folder",
    errno.EACCES: "get the permission, which ls -ld shows, or name another place",
    errno.EPERM: "get the permission, which ls -ld shows, or name another place",
    errno.EROFS: "name a place that can be written",
    errno.ENOSPC: "free some space, which df -h shows, or name a place on another disk",
    errno.EDQUOT: "free some space, or name a place on another disk",
    errno.ENAMETOOLONG: "choose a shorter name",
}


class EnvError(EvalError):
    """The environment cannot be made, or broke its contract.

    Attributes:
        lasting: Whether it is about what is installed or lies on the disk: an episode is not tried again for it.
    """

    def __init__(self, message: str, *, fix: str = "", again: Sequence[str] = (), lasting: bool = False) -> None:
        self.lasting = lasting
        super().__init__(message, fix=fix, again=again)


class EnvUnready(EnvError):
    """The simulator is installed, and what it needs to run is not; exit code 3, as nothing could be scored."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message, fix=fix, lasting=True)


ABSENT: Final = (FileNotFoundError, NotADirectoryError, PermissionError)
"""What another try to read a file will meet too; a disk or a network may recover."""


class MissingSimulator(EnvError):
    """The packages of a family are not installed.

    Attributes:
        family: The family, ``libero``.
        extra: The extra that installs it.
        apart: Whether it lives in an environment of its own.
    """

    def __init__(self, family: str, extra: str, reason: str, *, apart: bool = False) -> None:
        self.family = family
        self.extra = extra
        self.apart = apart
        super().__init__(
            f"the {family} environments are not installed here ({reason})",
            fix=install_apart_here(family) if apart else install_command(f"hylo-eval[{extra}]"),
            lasting=True,
        )


class AgentError(EvalError):
    """The agent raised, or returned what is no action."""


class SafetyAbort(EvalError):
    """A safety filter stopped the episode."""


class Disturbance(StrEnum):
    """How somebody else in a process kept a trace from being written, as what was found there."""

    SIZE = "its trace longer or shorter than what it had written"
    CLOSED = "its trace closed"
    REMOVED = "its trace removed"
    DESCRIPTORS = "no descriptor left to write its trace to"
    FILE_SIZE = "a limit on the size of files that it was not started with"


class DisturbedTrace(EvalError):
    """Somebody else in the process wrote into a trace, closed or removed it, or took all descriptors: no record.

    Attributes:
        path: The trace, which has not got its name.
        how: What was found.
    """

    def __init__(self, path: Path | str, how: Disturbance) -> None:
        self.path = Path(path)
        self.how = how
        super().__init__(
            f"the process that writes the trace {path} found {how}: something else in it interferes",
            fix="have the agent and the environment leave files, descriptors and limits alone that are not theirs; "
            "with --workers 1 only the worker is lost, and the run goes on",
        )


class TraceError(EvalError):
    """A trace cannot be read.

    Attributes:
        path: The file.
        line: The line, from 1; 0 when it is the whole file.
    """

    def __init__(self, path: Path | str, line: int, reason: str) -> None:
        self.path = Path(path)
        self.line = line
        self.reason = reason
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {reason}")


class QueueError(EvalError):
    """The work queue refuses an operation."""


class VerificationError(EvalError):
    """A verifier failed. Never turned into a reward; ``__cause__`` is what happened underneath.

    Attributes:
        ref: Which verifier.
        reason: What went wrong, in one line.
        kind: ``rubric``, ``plugin`` or ``endpoint``; empty where that is not known.
    """

    def __init__(self, ref: str, reason: str, *, kind: str = "") -> None:
        self.ref = ref
        self.reason = " ".join(reason.split())
        self.kind = kind
        super().__init__(f"{kind} verifier {ref!r}: {self.reason}".lstrip())
