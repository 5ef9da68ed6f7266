"""A command that lacks what it is about says which command lists it."""

from __future__ import annotations

import click
import pytest

from hylo_eval.cli.group import COMMANDS, cli
from hylo_eval.cli.required import LISTED_BY, LISTED_BY_OF_ONE_COMMAND


@pytest.mark.parametrize(
    ("arguments", "missing", "listed"),
    [
        (["run"], "argument 'BENCH'", "hylo-eval list benchmarks"),
        (["run", "reach_fixed"], "option '--agent'", "hylo-eval list agents"),
        (["run", "reach_fixed", "--replicates", "2"], "option '--agent'", "hylo-eval list agents"),
        (["status"], "argument 'RUN'", "hylo-eval ls"),
        (["compare", "one"], "argument 'PARENT'", "hylo-eval ls"),
        (["race", "zero"], "argument 'PARENT'", "hylo-eval list agents"),
        (["benchmark", "show"], "argument 'BENCH'", "hylo-eval list benchmarks"),
    ],
)
def test_a_missing_argument_is_refused_with_what_lists_it(hylo, arguments, missing, listed) -> None:
    """Usage, what is missing, the fix; exit code 2."""
    outcome = hylo(*arguments)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-2:] == [
        f"Error: Missing {missing}.",
        f"  fix: name one that {listed} shows",
    ]


def test_what_nothing_lists_is_refused_without_a_fix(hylo) -> None:
    """A specification is a file of one's own."""
    assert hylo("verify").err.splitlines()[-1] == "Error: Missing argument 'SPEC'."


@pytest.mark.parametrize("command", sorted({*LISTED_BY.values(), *LISTED_BY_OF_ONE_COMMAND.values()}))
def test_every_command_that_lists_is_one(command: str) -> None:
    """With its arguments."""
    _, name, *arguments = command.split()
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    found.make_context(name, arguments)


def test_every_parameter_that_is_listed_is_one() -> None:
    """Of some command; a renamed one would lose its fix."""
    known: set[tuple[str, str]] = set()
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        known |= {(name, parameter.name or "") for parameter in command.params}
        if isinstance(command, click.Group):
            for inner, found in command.commands.items():
                known |= {(f"{name} {inner}", parameter.name or "") for parameter in found.params}
    assert set(LISTED_BY_OF_ONE_COMMAND) <= known
    assert set(LISTED_BY) <= {parameter for _, parameter in known}
