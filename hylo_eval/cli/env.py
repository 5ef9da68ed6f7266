"""``hylo-eval env``: which interpreter the environments of a family run in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hylo_eval.cli.group import SuggestingGroup
from hylo_eval.cli.tables import print_table
from hylo_eval.cli.terminal import console, printable_line
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from hylo_eval.families import Family
    from hylo_eval.interpreters.looking import Interpreter
    from hylo_eval.interpreters.registry import Registered


@click.group(cls=SuggestingGroup)
def env() -> None:
    """Say which interpreter the environments of a family run in.

    Families whose packages do not go together live in virtual environments of their own; the commands here find them.
    """


@env.command()
@click.argument("name", metavar="NAME")
@click.option("--python", default=None, metavar="PATH", help="An interpreter that has the family and this Hylo.")
@click.option("--create", is_flag=True, help="Make a virtual environment with the family's pins and this Hylo.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FOLDER",
    help="With --create: where to.  [default: hylo/environments/NAME among the user's data]",
)
@click.option("--base", default=None, metavar="PATH", help="With --create: the Python to use.  [default: this one]")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def add(*, name: str, python: str | None, create: bool, folder: Path | None, base: str | None, as_json: bool) -> None:
    """Register the interpreter of NAME, a family or the package of somebody else's environments.

    It must be able to run them: Python 3.11 or later, the same Hylo, the family's packages. Nothing is registered where
    it is not.
    """
    from hylo_eval.interpreters.looking import look_for, resolve_python
    from hylo_eval.interpreters.registry import Registered, check_name, register, registry_to_change

    check_name(name)
    # Said before an environment is made that could not be registered.
    registry_to_change()
    if create == (python is not None):
        raise EvalError("say one of --python PATH and --create", fix=f"hylo-eval env add {name} --python PATH")
    if not create and (folder is not None or base is not None):
        raise EvalError("--folder and --base change nothing without --create", fix="leave them out")
    if python is not None:
        found = _look(name, resolve_python(python))
        entry = Registered(name=name, python=found.python)
    else:
        made = _create(name, folder, base)
        found = look_for(name, str(made / "bin" / "python"))
        entry = Registered(name=name, python=found.python, environment=str(made))
    earlier = register(entry)
    if as_json:
        click.echo(json.dumps(_as_json(entry, found, None), indent=2))
        return
    out = console()
    out.print(f"{name} runs in {printable_line(found.python)}: {printable_line(_facts(found))}")
    if earlier is not None and earlier.python != entry.python:
        out.print(f"before, it ran in {printable_line(earlier.python)}")


@env.command("list")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def list_(*, as_json: bool) -> None:
    """List the registered interpreters, each asked what it is; what is wrong with one stands below with its fix."""
    from hylo_eval.interpreters.registry import read_registry

    rows = [(entry, *ask(entry)) for entry in read_registry().values()]
    if as_json:
        click.echo(json.dumps([_as_json(*row) for row in rows], indent=2))
        return
    if not rows:
        console().print(f"no interpreter is registered; {_what_is_here()}")
        return
    cells = [
        (entry.name, "no" if found is None else "yes", "" if found is None else _facts(found), entry.python)
        for entry, found, _ in rows
    ]
    print_table(console(), ("name", "usable", "what it has", "interpreter"), cells)
    for entry, _, error in rows:
        if error is not None:
            console(stderr=True).print(f"{entry.name}: {printable_line(error.message)}\n  fix: {error.fix}")


@env.command()
@click.argument("name", metavar="NAME")
@click.option("--delete", is_flag=True, help="Delete the virtual environment too, where --create made it.")
def remove(*, name: str, delete: bool) -> None:
    """Forget the interpreter of NAME: its environments run in the interpreter of Hylo again, where they are there."""
    import shutil

    from hylo_eval.interpreters.registry import read_registry, unregister

    entry = read_registry().get(name)
    if delete and entry is not None and not entry.environment:
        raise EvalError(f"{entry.python} was not made by --create", fix="leave --delete out")
    entry = unregister(name)
    out = console()
    out.print(_after_removal(name))
    if delete:
        shutil.rmtree(entry.environment, ignore_errors=True)
        out.print(f"deleted {printable_line(entry.environment)}")
    elif entry.environment:
        out.print(f"its environment is still there: {printable_line(entry.environment)}")


def ask(entry: Registered) -> tuple[Interpreter | None, EvalError | None]:
    """What a registered interpreter is, or why it cannot be used."""
    from hylo_eval.interpreters.looking import look_for

    try:
        return look_for(entry.name, entry.python), None
    except EvalError as error:
        return None, error


def _look(name: str, python: str) -> Interpreter:
    from hylo_eval.families import FAMILIES
    from hylo_eval.interpreters.looking import look_for
    from hylo_eval.suggest import did_you_mean

    families = [family.name for family in FAMILIES]
    try:
        return look_for(name, python)
    except EvalError as error:
        if name in families:
            raise
        hint = did_you_mean(name, families) or f" (families: {', '.join(families)})"
        raise EvalError(f"{error.message}; {name!r} is no family{hint}", fix=error.fix) from error


def _create(name: str, folder: Path | None, base: str | None) -> Path:
    from hylo_eval.families import FAMILIES
    from hylo_eval.interpreters.creating import create_environment
    from hylo_eval.interpreters.looking import resolve_python
    from hylo_eval.interpreters.registry import default_folder

    family: Family | None = next((each for each in FAMILIES if each.name == name and each.requirements), None)
    if family is None:
        listed = ", ".join(each.name for each in FAMILIES if each.requirements)
        raise EvalError(f"--create knows the pins of {listed}, and not of {name!r}", fix="--python PATH")
    made = (default_folder(name) if folder is None else folder.expanduser()).absolute()
    create_environment(family, made, base=None if base is None else resolve_python(base))
    return made


def _what_is_here() -> str:
    """Which families this interpreter can run, and which it cannot."""
    from hylo_eval.families import FAMILIES, family_availability

    usable = {family.name: family_availability(family).usable for family in FAMILIES}
    has = ", ".join(name for name, here in usable.items() if here)
    lacks = ", ".join(name for name, here in usable.items() if not here)
    return f"this one has {has}" + (f", and lacks {lacks} (hylo-eval list envs says how to get them)" if lacks else "")


def _after_removal(name: str) -> str:
    """Where the environments of a name run once its interpreter is forgotten."""
    from hylo_eval.families import env_availability, find_family
    from hylo_eval.interpreters.looking import modules_of

    here = env_availability(name) if find_family(name) is not None else env_availability(f"{modules_of(name)[0]}:env")
    if here.usable:
        return f"{name} runs in this interpreter again"
    fix = f" ({here.fix})" if here.fix else ""
    return f"{name} is registered no more, and this interpreter does not have it{fix}"


def _facts(found: Interpreter) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in found.packages.items())
    return f"Python {found.version}, Hylo {found.hylo}" + (f", {packages}" if packages else "")


def _as_json(entry: Registered, found: Interpreter | None, error: EvalError | None) -> dict[str, Any]:
    described: dict[str, Any] = {"name": entry.name, "interpreter": entry.python, "usable": found is not None}
    if entry.environment:
        described["environment"] = entry.environment
    if found is not None:
        described |= {"python": found.version, "hylo": found.hylo, "packages": found.packages}
    if error is not None:
        described |= {"problem": error.message, "fix": error.fix}
    return described
