"""What a command cannot do without, and the command that lists what could be named there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

_RUNS: Final = "hylo-eval ls"

LISTED_BY: Final[Mapping[str, str]] = {
    "agent": "hylo-eval list agents",
    "benchmark": "hylo-eval list benchmarks",
    "candidate": _RUNS,
    "episode": "hylo-eval show RUN",
    "family": _RUNS,
    "graders": "hylo-eval list graders",
    "parent": _RUNS,
    "run": _RUNS,
    "run_a": _RUNS,
    "run_b": _RUNS,
    "runs": _RUNS,
    "shards": _RUNS,
}
"""Name of a parameter, the same in every command that has it, to the command that lists what it may be."""

LISTED_BY_OF_ONE_COMMAND: Final[Mapping[tuple[str, str], str]] = {
    ("benchmark freeze", "name"): "hylo-eval list benchmarks",
    ("benchmark sample", "name"): "hylo-eval list providers",
    ("benchmark show", "name"): "hylo-eval list benchmarks",
    ("check-env", "name"): "hylo-eval list benchmarks",
    ("env add", "name"): "hylo-eval list envs",
    ("env remove", "name"): "hylo-eval env list",
    ("race", "candidate"): "hylo-eval list agents",
    ("race", "parent"): "hylo-eval list agents",
    ("show", "name"): _RUNS,
    ("status", "name"): _RUNS,
}
"""Command and parameter to the same, where the name alone does not tell."""


def require(context: click.Context, options: Mapping[str, Any], *names: str) -> None:
    """Refuse that options are missing which a command needs in most of its uses only.

    Raises:
        MissingParameter: One of them is None.
    """
    for parameter in context.command.params:
        if parameter.name in names and options[parameter.name] is None:
            raise click.MissingParameter(ctx=context, param=parameter)


def listing_of(error: click.ClickException) -> str:
    """The command that lists what a missing argument may be; empty where none does, or nothing is missing."""
    if not isinstance(error, click.MissingParameter) or error.param is None or error.ctx is None:
        return ""
    name = error.param.name or ""
    # The path begins with the program.
    command = error.ctx.command_path.partition(" ")[2]
    return LISTED_BY_OF_ONE_COMMAND.get((command, name)) or LISTED_BY.get(name, "")
