"""``hylo-eval list``."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

import attrs
import click

from hylo_core.errors import HyloError
from hylo_eval import plugins
from hylo_eval.cli.tables import print_table
from hylo_eval.cli.terminal import console, printable
from hylo_eval.errors import EvalError
from hylo_eval.families import FAMILIES, Availability, env_availability, plugin_availability

if TYPE_CHECKING:
    from pathlib import Path

Listing: TypeAlias = Literal["benchmarks", "agents", "envs", "scorers", "safety", "graders", "providers"]
LISTINGS: Final[tuple[Listing, ...]] = get_args(Listing)

_USUAL_SPLITS: Final = ("train", "validation", "heldout")


@attrs.frozen(kw_only=True)
class Listed:
    """One line of a listing.

    Attributes:
        name: The name to type.
        availability: Whether it can be used, in this Python or where its family runs.
        facts: What else there is to say, for JSON.
        elsewhere: The interpreter that its family is registered with; empty for this one.
    """

    name: str
    availability: Availability
    facts: dict[str, Any]
    elsewhere: str = ""


@click.command("list")
@click.argument("what", required=False, type=click.Choice(LISTINGS), metavar="[WHAT]")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def list_(*, what: Listing | None, as_json: bool) -> None:
    """List what there is, and whether it can be used here.

    WHAT is benchmarks, agents, envs, scorers, safety, graders or providers; all of them unless given. Nothing is
    imported to find out: "no" means that a package is not installed, "elsewhere" that the family has an interpreter of
    its own (`hylo-eval env`), which is asked whether it can serve.
    """
    _there.cache_clear()
    chosen: tuple[Listing, ...] = (what,) if what else LISTINGS
    listings: dict[Listing, list[Listed]] = {name: listing(name) for name in chosen}
    if as_json:
        shown = {name: [_as_json(item) for item in items] for name, items in listings.items()}
        click.echo(json.dumps(shown, indent=2))
        return
    for position, (name, items) in enumerate(listings.items()):
        if position:
            click.echo()
        _print(name, items)
    _print_fixes([item for items in listings.values() for item in items])


def listing(what: Listing) -> list[Listed]:
    """The lines of one listing."""
    if what == "benchmarks":
        return _benchmarks()
    return [
        _placed(
            Listed(
                name=plugin.name,
                availability=plugin_availability(what, plugin),
                facts={"ref": plugin.ref, "summary": plugin.summary},
            ),
            _env_of(what, plugin),
        )
        for plugin in plugins.plugins(what)
    ]


def _env_of(what: Listing, plugin: plugins.Plugin) -> str | None:
    """The env whose interpreter a plug-in needs; None where any will do."""
    if what == "envs":
        return plugin.name if plugin.ref.startswith("hylo_eval.") else plugin.ref
    if what == "agents" and plugin.ref.startswith("hylo_eval."):
        return next((family.name for family in FAMILIES if plugin.name in family.agents), None)
    return None


def _placed(item: Listed, env: str | None) -> Listed:
    """An item whose family is registered with another interpreter is usable where that one can run it."""
    from hylo_eval.interpreters.choosing import registered_for

    entry = None if env is None else registered_for(env)
    if entry is None:
        return item
    return attrs.evolve(item, elsewhere=entry.python, availability=_there(entry.name, entry.python))


@cache
def _there(name: str, python: str) -> Availability:
    """Whether an interpreter can run a family; it is asked once."""
    from hylo_eval.interpreters.looking import look_for

    try:
        look_for(name, python)
    except EvalError as error:
        return Availability(problem=error.message, fix=error.fix)
    return Availability()


def _benchmarks() -> list[Listed]:
    from importlib.metadata import entry_points

    from hylo_eval.benchmarks import ENTRY_POINTS, benchmark_files

    listed = [_shipped(name, path) for name, path in benchmark_files().items()]
    named = {item.name for item in listed}
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name not in named:
            # Reading it would import somebody's package; `benchmark show` does.
            facts = {"ref": entry.value, "summary": f"from {entry.dist.name}" if entry.dist else ""}
            listed.append(Listed(name=entry.name, availability=Availability(), facts=facts))
    return listed


def _shipped(name: str, path: Path) -> Listed:
    from hylo_eval.benchmarks import env_of, load_benchmark

    try:
        benchmark = load_benchmark(path)
        env, _ = env_of(benchmark)
    except HyloError as error:
        return Listed(name=name, availability=Availability(), facts={"path": str(path), "error": str(error)})
    listed = Listed(
        name=name,
        availability=env_availability(env),
        facts={
            "path": str(path),
            "version": benchmark.version,
            "env": env,
            "tasks": len(benchmark.tasks),
            "splits": {split: len(seeds) for split, seeds in benchmark.splits.items()},
        },
    )
    return _placed(listed, env)


def _as_json(item: Listed) -> dict[str, Any]:
    availability = item.availability
    here: dict[str, Any] = {"name": item.name, "usable": availability.usable and "error" not in item.facts}
    if item.elsewhere:
        here["interpreter"] = item.elsewhere
    if availability.problem:
        here |= {"problem": availability.problem, "fix": availability.fix}
    elif not availability.usable:
        here |= {"missing": list(availability.missing), "fix": availability.fix}
    return {**here, **item.facts}


def _print(what: Listing, items: list[Listed]) -> None:
    out = console()
    if not items:
        out.print(f"no {what} are installed")
        return
    if what == "benchmarks":
        _print_benchmarks(items)
        return
    singular = what.removesuffix("s") if what != "safety" else "safety filter"
    rows = [(item.name, _here(item), str(item.facts["summary"])) for item in items]
    print_table(out, (singular, "here", "what it is"), rows)


def _print_benchmarks(items: list[Listed]) -> None:
    sizes = [cast("dict[str, int]", item.facts.get("splits", {})) for item in items]
    found = {split for splits in sizes for split in splits}
    splits = [split for split in _USUAL_SPLITS if split in found]
    splits += sorted(found - set(splits))
    rows = [
        (
            item.name,
            _here(item),
            str(item.facts.get("env", item.facts.get("summary", ""))),
            str(item.facts.get("tasks", "?")),
            *(str(size.get(split, "-")) for split in splits),
        )
        for item, size in zip(items, sizes, strict=True)
    ]
    numbers = ("tasks", *splits)
    print_table(console(), ("benchmark", "here", "env", *numbers), rows, numbers=numbers)
    if found and console().is_terminal:
        console().print(f"{', '.join(map(printable, splits))}: seeds in the split, an episode for each task and seed")


def _here(item: Listed) -> str:
    if "error" in item.facts:
        return "bad"
    if not item.availability.usable:
        return "no"
    return "elsewhere" if item.elsewhere else "yes"


def _print_fixes(items: list[Listed]) -> None:
    """Say on standard error how to get what is not here: the listing itself stays a listing."""
    err = console(stderr=True)
    for item in items:
        if "error" in item.facts:
            err.print(f"bad: {printable(str(item.facts['error']))}")
    usable = [item for item in items if item.availability.usable]
    for python in dict.fromkeys(item.elsewhere for item in usable if item.elsewhere):
        err.print(f"elsewhere: {printable(python)}")
    for availability in dict.fromkeys(item.availability for item in items if not item.availability.usable):
        fix = availability.fix
        missing = f"{', '.join(map(printable, availability.missing))} not installed"
        lacking = f"no: {printable(availability.problem) or missing}"
        err.print(f"{lacking}\n  fix: {fix}" if fix else lacking)
