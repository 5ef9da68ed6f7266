"""Options that many commands have, each said once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import click

Command: TypeAlias = Callable[..., int]


def run_root_option_that_says(text: str) -> Callable[[Command], Command]:
    """``--run-root FOLDER``; ``text`` is its help, where a command uses it for more than finding runs."""
    return click.option(
        "--run-root", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help=text
    )


run_root_option = run_root_option_that_says("Where runs are looked for by id.")
"""``--run-root FOLDER`` of a command that finds its runs there."""
