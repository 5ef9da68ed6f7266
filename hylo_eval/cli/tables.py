"""Tables that fit the terminal: no cell is ever cut, since half a number is another number.

Where a table is too wide, texts wrap between words; then the first column, which names the row, stands on a line of its
own; and where that does not do either, every cell has its line.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, Final

import attrs

from hylo_eval.report.text import printable_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_ENDLESS: Final = 100_000
"""Columns of what is not a terminal: a pipe or a file has lines of any length."""

_GAP: Final = 2
"""Blanks between two columns."""

_INDENT: Final = 2

_FOLDED: Final = 24
"""Width from which on the last column breaks words, paths say."""


def print_table(
    out: Console, headers: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[str] = ()
) -> None:
    """Print rows in columns; cells are made harmless here.

    A terminal that is too narrow gets the rows in another layout; elsewhere every row is one line, whatever its length.

    Args:
        out: Where to.
        headers: One for each column.
        rows: Cells as text, as many as there are headers.
        numbers: Headers of the columns that are aligned to the right.
    """
    columns = table_columns(headers, rows, numbers)
    if not out.is_terminal:
        _print_endless(out, columns)
    elif (widths := fitted_widths(columns, out.width)) is not None:
        out.print(draw_table(columns, widths), soft_wrap=False)
    elif not _print_under_names(out, named := _with_numbers_in_names(columns)):
        _print_cell_by_cell(out, named)


@attrs.frozen
class Column:
    """One column of a table.

    Attributes:
        header: What stands above.
        cells: Printable texts.
        is_number: Whether they are aligned to the right, and stay whole.
        folds: Whether its words may be broken, where they are long.
    """

    header: str
    cells: Sequence[str]
    is_number: bool = False
    folds: bool = False

    def widest(self) -> int:
        """The width at which nothing wraps."""
        return max(map(_width, (self.header, *self.cells)))

    def least(self) -> int:
        """The width below which something would be broken or cut."""
        if self.is_number:
            return self.widest()
        words = max(_width(word) for text in (self.header, *self.cells) for word in text.split(" "))
        return min(words, _FOLDED) if self.folds else words


def fitted_widths(columns: Sequence[Column], width: int) -> list[int] | None:
    """The widths of columns side by side on so many characters; None where something would be cut."""
    room = width - _GAP * (len(columns) - 1)
    found = [column.least() for column in columns]
    missing = [column.widest() - least for column, least in zip(columns, found, strict=True)]
    if sum(found) > room:
        return None
    for _ in range(min(room - sum(found), sum(missing))):
        neediest = missing.index(max(missing))
        missing[neediest] -= 1
        found[neediest] += 1
    return found


def shortened_widths(columns: Sequence[Column], width: int) -> list[int]:
    """The widths of columns side by side in which the longest texts, and no numbers, give way to the others."""
    found = [column.widest() for column in columns]
    texts = [index for index, column in enumerate(columns) if not column.is_number]
    while texts and sum(found) + _GAP * (len(columns) - 1) > width:
        longest = max(texts, key=found.__getitem__)
        if found[longest] <= 1:
            break
        found[longest] -= 1
    return found


def draw_table(columns: Sequence[Column], widths: Sequence[int], *, overflow: str = "fold") -> Table:
    """The columns side by side, for rich to print.

    Args:
        columns: What to draw.
        widths: As wide as each is.
        overflow: What becomes of a word that is wider than its column: ``fold``, or ``ellipsis`` on one line.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column, width in zip(columns, widths, strict=True):
        justify = "right" if column.is_number else "left"
        if overflow == "fold":
            table.add_column(column.header, justify=justify, width=width, overflow="fold")
        else:
            table.add_column(column.header, justify=justify, width=width, no_wrap=True, overflow="ellipsis")
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table


def table_columns(headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> list[Column]:
    """The columns of rows whose cells are any text; they are made harmless here."""
    cells = [[printable_line(row[index]) for row in rows] for index in range(len(headers))]
    return [
        Column(header, cells[index], is_number=header in numbers, folds=index == len(headers) - 1)
        for index, header in enumerate(headers)
    ]


def _with_numbers_in_names(columns: Sequence[Column]) -> Sequence[Column]:
    """A first column without a header numbers the rows: on a line of its own, a number names nothing."""
    if columns[0].header or len(columns) == 1:
        return columns
    numbers, names, *others = columns
    wide = numbers.widest()
    cells = [f"{number:>{wide}}  {name}" for number, name in zip(numbers.cells, names.cells, strict=True)]
    return [attrs.evolve(names, cells=cells), *others]


def _print_under_names(out: Console, columns: Sequence[Column]) -> bool:
    """Each row as its first cell and, below it, the others; False where they do not fit either."""
    names, *others = columns
    # Columns that hold nothing have no room to waste here.
    others = [column for column in others if any(column.cells)]
    widths = fitted_widths(others, out.width - _INDENT) if others else None
    if widths is None:
        return False
    from rich.padding import Padding
    from rich.text import Text

    def print_row(row: Sequence[Column], *, is_head: bool = False) -> None:
        table = draw_table(row, widths)
        table.show_header = is_head
        out.print(Padding(table, (0, 0, 0, _INDENT)), soft_wrap=False)

    out.print(Text(names.header, style="bold"))
    print_row([attrs.evolve(column, cells=()) for column in others], is_head=True)
    for index, name in enumerate(names.cells):
        out.print(Text(name))
        print_row([attrs.evolve(column, cells=[column.cells[index]]) for column in others])
    return True


def _print_cell_by_cell(out: Console, columns: Sequence[Column]) -> None:
    from rich.text import Text

    from hylo_eval.cli.wrapping import print_line

    names, *others = columns
    wide = max((_width(column.header) for column in others), default=0)
    for index, name in enumerate(names.cells):
        out.print(Text.assemble((f"{names.header} ", "bold"), name))
        for column in others:
            if column.cells[index]:
                line = Text.assemble(" " * _INDENT, (f"{column.header:<{wide}}  ", "bold"), column.cells[index])
                print_line(out, line, _INDENT + wide + 2)


def _print_endless(out: Console, columns: Sequence[Column]) -> None:
    from rich.console import Console

    drawn = StringIO()
    endless = Console(file=drawn, width=_ENDLESS, highlight=False, markup=False, emoji=False)
    endless.print(draw_table(columns, [column.widest() for column in columns]))
    for line in drawn.getvalue().splitlines():
        out.print(line.rstrip())


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(text)
