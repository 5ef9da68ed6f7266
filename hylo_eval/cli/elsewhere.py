"""The same command in the interpreter that a family is registered with: a simulator that cannot be imported here.

As a module, the beginning of that command over there. Its result goes to a descriptor of its own, which becomes
standard output only once Python has started: packages print before that.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NoReturn, cast

import click

if TYPE_CHECKING:
    from hylo_eval.interpreters.registry import Registered

RESULT_VARIABLE: Final = "HYLO_RESULT"
"""The number of the descriptor that the result is written to."""

_SECONDS_TO_END: Final = 10.0
_PR_SET_PDEATHSIG: Final = 1


def entry_for(env: str | None) -> Registered | None:
    """The other interpreter that an environment runs in; None where it runs here.

    Args:
        env: Alias or reference of the env factory; None where nobody knows it yet.
    """
    from hylo_eval.interpreters.choosing import registered_for

    return None if env is None else registered_for(env)


def run_elsewhere(entry: Registered) -> int:
    """Run the command that was typed in another interpreter, with the same streams, and give back its exit code.

    Raises:
        EvalError: That interpreter cannot serve.
    """
    from hylo_eval.interpreters.looking import look_for
    from hylo_eval.interpreters.own import safe_path
    from hylo_eval.interpreters.registry import VARIABLE

    look_for(entry.name, entry.python)
    sys.stdout.flush()
    result = os.dup(1)
    try:
        process = subprocess.Popen(  # noqa: S603 - a list of arguments, no shell
            [entry.python, *(["-P"] if safe_path() else []), "-m", __name__, *_typed()],
            stdout=2,
            # There, this family runs in the interpreter that is running.
            env={**os.environ, RESULT_VARIABLE: str(result), VARIABLE: ""},
            pass_fds=(result,),
        )
    finally:
        os.close(result)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
        raise
    if code >= 0:
        return code
    from hylo_eval.errors import EvalError
    from hylo_eval.evaluation.workers.supervisor import describe_exit

    raise EvalError(f"{entry.python} died: {describe_exit(code)}")


def _typed() -> list[str]:
    """The arguments of this command, as the group keeps them."""
    typed = cast("tuple[str, ...] | None", click.get_current_context().find_object(tuple))
    return [*(typed or ())]


def main() -> NoReturn:
    """Run a command with the result on its own descriptor."""
    _end_with_parent()
    result = int(os.environ.pop(RESULT_VARIABLE))
    os.dup2(result, 1)
    os.close(result)
    from hylo_eval.cli import main as run

    run()
    raise AssertionError("the command line exits")


def _end_with_parent() -> None:
    """Have the kernel interrupt this process when the command that was typed is killed: nobody waits for it then."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


if __name__ == "__main__":
    main()
