"""Options that count something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import pytest

from hylo_eval.cli.counts import Count
from hylo_eval.cli.group import COMMANDS, cli
from hylo_eval.errors import EvalError


def leaves(command: click.Command, *path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below one, with its name."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from leaves(below, *path, name)


def test_every_whole_number_of_the_command_line_is_bounded_in_one_way() -> None:
    """A port is no count, and has bounds that everybody knows."""
    others = {
        f"{name} {option.opts[0]}"
        for name, command in leaves(cli)
        for option in command.params
        if isinstance(option.type, click.types.IntParamType) and not isinstance(option.type, Count)
    }
    assert others == {"view --port"}
    assert set(COMMANDS) >= {"run", "race"}


@pytest.mark.parametrize(
    ("given", "error", "fix"),
    [
        ("9" * 20, f"must be at most 1000, not {'9' * 20}", "--count 1000, or less"),
        ("1" + "0" * 60, "must be at most 1000, not of 200 bits", "--count 1000, or less"),
        ("9" * 5000, f"must be a whole number from 2 to 1000, not '{'9' * 56}...", "--count 2, or more"),
        ("1", "must be at least 2, not 1", "--count 2, or more"),
        ("-99999999999999999999", "must be at least 2, not -99999999999999999999", "--count 2, or more"),
        ("many", "must be a whole number from 2 to 1000, not 'many'", "--count 2, or more"),
        ("2.0", "must be a whole number from 2 to 1000, not '2.0'", "--count 2, or more"),
        ("", "must be a whole number from 2 to 1000, not ''", "--count 2, or more"),
    ],
    ids=["20 digits", "61 digits", "5000 digits", "few", "negative", "text", "fraction", "empty"],
)
def test_what_is_no_such_count_is_refused_with_one_that_is(given: str, error: str, fix: str) -> None:
    """By the name of its option."""
    option = click.Option(["--count"], type=Count(2, 1000))
    with pytest.raises(EvalError) as refused:
        option.type.convert(given, option, None)
    assert (refused.value.message, refused.value.fix) == (f"--count {error}", fix)


@pytest.mark.parametrize("name", ["--episodes", "--max-episodes", "--max-steps", "--workers", "--max-attempts"])
def test_twenty_digits_are_refused_before_anything_is_run(hylo: Any, name: str) -> None:
    """With a sentence about the option and its fix."""
    done = hylo("run", "reach_fixed", "--agent", "zero", name, "9" * 20)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {name} must be at most ")
    assert f"\n  fix: {name} " in done.err
