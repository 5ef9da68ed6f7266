"""Which interpreter an environment runs in: the one its family is registered with, or the one that is running."""

from __future__ import annotations

import os
import shlex

from hylo_eval import plugins
from hylo_eval.errors import EvalError
from hylo_eval.families import env_availability, find_family
from hylo_eval.interpreters.looking import NoInterpreter, look_for, resolve_python
from hylo_eval.interpreters.own import is_own
from hylo_eval.interpreters.registry import Registered, read_registry


def names_of(env: str) -> tuple[str, ...]:
    """The names an environment's interpreter may be registered under, in the order they are looked for.

    Args:
        env: Alias or reference of the env factory.
    """
    family = find_family(env)
    if family is not None:
        return (family.name,)
    if ":" in env:
        return (env.partition(":")[0].partition(".")[0],)
    try:
        return (env, plugins.ref_of("envs", env).partition(".")[0].partition(":")[0])
    except EvalError:
        # Known in another interpreter alone, perhaps.
        return (env,)


def registered_for(env: str) -> Registered | None:
    """The interpreter that an environment's family is registered with, where it is not the one that is running.

    Args:
        env: Alias or reference of the env factory.

    Raises:
        EvalError: The registry cannot be read.
    """
    entries = read_registry()
    entry = next((entries[name] for name in names_of(env) if name in entries), None)
    return None if entry is None or is_own(entry.python) else entry


def workers_interpreter(env: str, given: str | None) -> str | None:
    """The interpreter of the workers of a run: the one given, else the registered one; None for the one that runs now.

    It is asked whether it can serve, so that a run that cannot begin says why at once.

    Args:
        env: Alias or reference of the env factory.
        given: As on the command line.

    Raises:
        EvalError: There is no such interpreter, or it cannot run this environment with this Hylo.
    """
    name = names_of(env)[0]
    if given is not None:
        python = resolve_python(given)
    else:
        entry = registered_for(env)
        if entry is None:
            return None
        name, python = entry.name, entry.python
    if is_own(python):
        return None
    try:
        found = look_for(name, python)
    except NoInterpreter as error:
        if given is None:
            raise EvalError(f"{error.message} (registered for {name})", fix=error.fix) from error
        raise EvalError(
            error.message, fix="leave --python out, or name an interpreter that hylo-eval env list has"
        ) from error
    except EvalError as error:
        if given is not None:
            raise
        raise EvalError(f"{error.message} (registered for {name})", fix=error.fix) from error
    return found.python


def refuse_forgotten(env: str, recorded: str) -> None:
    """Refuse to go on here with a run whose interpreter is registered no more, where its environment is not here.

    Args:
        env: Alias or reference of the env factory.
        recorded: The interpreter that the manifest of the run names; empty where it names none.

    Raises:
        EvalError: With the command that registers it again.
    """
    python = os.path.expanduser(recorded)  # noqa: PTH111 - pathlib's raises where there is no home
    if not recorded or is_own(python) or registered_for(env) is not None or env_availability(env).usable:
        return
    name = names_of(env)[0]
    raise EvalError(
        f"the {name} environments are not installed here, and the interpreter that this run began in, {python}, "
        f"is not registered for them",
        fix=shlex.join(["hylo-eval", "env", "add", name, "--python", python]),
    )


def refuse_elsewhere(env: str, what: str) -> None:
    """Refuse what needs the environment in this process, where its family is registered with another interpreter.

    Args:
        env: Alias or reference of the env factory.
        what: What needs it, as the beginning of a sentence.

    Raises:
        EvalError: It is; with how the same is done in that interpreter.
    """
    entry = registered_for(env)
    if entry is not None:
        raise EvalError(
            f"{what}, and the environments of {entry.name} are registered to run in {entry.python}",
            fix=f"the same command with that interpreter: {shlex.quote(entry.python)} -m hylo_eval …",
        )
