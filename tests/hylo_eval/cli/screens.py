"""Terminals of a given width, and what was printed on them."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from hylo_eval.cli.wrapping import WordWrappingConsole

if TYPE_CHECKING:
    from rich.console import Console


def screen(width: int, *, terminal: bool = True) -> Console:
    """A console that keeps what is printed."""
    return WordWrappingConsole(
        file=StringIO(),
        width=width,
        force_terminal=terminal,
        no_color=True,
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def lines(out: Console) -> list[str]:
    """What was printed, without the escape codes of bold headers."""
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in out.file.getvalue().splitlines()]
