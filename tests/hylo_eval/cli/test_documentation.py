"""``docs/cli.md`` names every command and every option."""

import re
from pathlib import Path

import click
import pytest

import hylo_eval
from hylo_eval.cli.group import COMMANDS, cli

DOCUMENT = Path(hylo_eval.__file__).parents[1] / "docs" / "cli.md"


def sections() -> dict[str, str]:
    """The text below each heading of the second level."""
    parts = re.split(r"^## (.+)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands() -> dict[str, click.Command]:
    """Every command that does something, by its full name."""
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}": each for inner, each in command.commands.items()}
        else:
            found[name] = command
    return found


def test_each_command_has_its_section():
    """In the order of the help, and no section is about something else."""
    assert list(sections()) == list(commands())


@pytest.mark.parametrize("name", commands())
def test_each_option_is_named_in_the_section_of_its_command(name):
    """And each option a section names exists."""
    text = sections()[name]
    options = {spelling for option in commands()[name].params for spelling in option.opts if spelling.startswith("-")}
    named = set(re.findall(r"`(--?[a-z][a-z-]*)", text))
    assert named <= options
    assert options <= named


def test_the_exit_codes_are_those_of_the_group():
    """One table, in the document and in the help."""
    from hylo_eval.cli import group

    text = DOCUMENT.read_text(encoding="utf-8")
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", text, flags=re.MULTILINE)}
    assert codes == {0, 1, group.EXIT_USAGE, group.EXIT_INCOMPLETE, group.EXIT_INTERRUPTED}
