"""The errors of running, reading and judging.

::

    HyloError
    └── EvalError                    usage, configuration or input: exit code 2
        ├── EnvError                 the environment's fault: a typed outcome, never a failed policy
        │   └── EnvUnready           it is installed and lacks what it needs: nothing can be scored, exit code 3
        ├── AgentError               the agent's fault
        ├── SafetyAbort              a safety filter stopped the episode
        ├── TraceError(path, line)   a trace that cannot be read
        ├── QueueError               the work queue refuses
        └── VerificationError(ref)   a verifier failed: its kind, its ref and the cause; never a reward of zero
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hylo_core.errors import HyloError
from hylo_eval.installing import install_apart, install_command


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


class EnvError(EvalError):
    """The environment cannot be made, or broke its contract."""


class EnvUnready(EnvError):
    """The simulator is installed, and what it needs to run is not; exit code 3, as nothing could be scored."""


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
            fix=install_apart(family) if apart else install_command(f"hylo-eval[{extra}]"),
        )


class AgentError(EvalError):
    """The agent raised, or returned what is no action."""


class SafetyAbort(EvalError):
    """A safety filter stopped the episode."""


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
