"""The pages under docs say what is so: their commands are understood, and their links lead somewhere."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hylo_eval.cli.group import cli

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]


def prose(page: Path) -> str:
    """A page without its blocks of code, in which a bracket is no link and a hash no heading."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def commands() -> Iterator[tuple[str, str]]:
    """Each command of Hylo in a block of shell lines, with the page that has it."""
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.splitlines():
                for part in re.split(r"&&|(?:^| )#", line.partition(" #")[0]):
                    if found := re.search(r"(?:^|\s)hylo-eval (.+)", part):
                        yield str(page.relative_to(ROOT)), found[1].strip()


def anchors(page: Path) -> set[str]:
    """The names that headings of a page get where it is shown."""
    titles = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(("page", "command"), [*commands()])
def test_each_command_is_understood(page: str, command: str) -> None:
    """Command, options and arguments are those of the command line; nothing is run."""
    found: click.Command = cli
    name, arguments = "", shlex.split(command)
    while isinstance(found, click.Group):
        name = arguments.pop(0)
        inner = found.get_command(click.Context(found), name)
        assert inner is not None, page
        found = inner
    found.make_context(name, arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    """To a file of the repository, and to a heading of it where one is named."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.is_relative_to(ROOT), target
        assert there.exists(), target
        assert not heading or heading in anchors(there), target


def test_each_extra_that_is_named_exists() -> None:
    """And is spelled as pip takes it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = {name for found in re.findall(r"(?:hylo-eval|'\.)\[([^\]]+)\]", text) for name in found.split(",")}
    assert named
    assert named <= {*project["optional-dependencies"]}


def test_every_page_is_reached_from_the_readme() -> None:
    """By links from page to page."""
    reached, left = set[Path](), [ROOT / "README.md"]
    while left:
        page = left.pop()
        reached.add(page)
        links = re.findall(r"\]\(([^)\s#]+\.md)(?:#[^)]*)?\)", prose(page))
        left += [there for link in links if (there := (page.parent / link).resolve()) not in reached]
    assert {*PAGES} <= reached
