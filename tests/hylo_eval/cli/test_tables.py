"""Tables fit the terminal and cut no cell; elsewhere each row is one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.cli.tables import draw_table, print_table, shortened_widths, table_columns
from tests.hylo_eval.cli.screens import lines, screen

HEADERS = ("run", "wins", "p", "why")
ROWS = [
    ("20261130T120530Z-fetch_pick_and_place-candidate", "10", "9.54e-07", "another horizon and another simulator"),
    ("parent", "0", "1", ""),
]
NUMBERS = ("wins", "p")

words = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=30)
texts = st.lists(words, max_size=6).map(" ".join)


@given(st.lists(st.tuples(texts, texts, texts, texts), min_size=1, max_size=4), st.integers(10, 200))
def test_nothing_of_a_cell_is_ever_missing(rows: list[tuple[str, ...]], width: int) -> None:
    """At any width: what was printed holds the characters of all cells, as often as they have them."""
    out = screen(width)
    print_table(out, HEADERS, rows, numbers=NUMBERS)
    printed = "".join("".join(lines(out)).split())
    for character in set("".join(map("".join, rows))) - {" "}:
        assert printed.count(character) >= sum(cell.count(character) for row in rows for cell in row)


@pytest.mark.parametrize("width", range(20, 140, 7))
def test_a_number_stays_whole(width: int) -> None:
    """Half of 9.54e-07 would be another number."""
    out = screen(width)
    print_table(out, HEADERS, ROWS, numbers=NUMBERS)
    assert any("9.54e-07" in line for line in lines(out))
    assert any(ROWS[0][0] in line for line in lines(out))


def test_a_table_that_fits_is_side_by_side() -> None:
    """A row is a line, numbers to the right."""
    out = screen(120)
    print_table(out, HEADERS, ROWS, numbers=NUMBERS)
    assert lines(out) == [
        "run                                              wins         p  why",
        "20261130T120530Z-fetch_pick_and_place-candidate    10  9.54e-07  another horizon and another simulator",
        "parent                                              0         1",
    ]


def test_texts_wrap_between_words_first() -> None:
    """As long as words fit, rows stay side by side."""
    out = screen(90)
    print_table(out, HEADERS, ROWS, numbers=NUMBERS)
    assert lines(out) == [
        "run                                              wins         p  why",
        "20261130T120530Z-fetch_pick_and_place-candidate    10  9.54e-07  another horizon and",
        "                                                                 another simulator",
        "parent                                              0         1",
    ]


def test_then_the_name_of_a_row_has_a_line_of_its_own() -> None:
    """The other cells stand below it, in columns."""
    out = screen(48)
    print_table(out, HEADERS, ROWS, numbers=NUMBERS)
    assert lines(out) == [
        "run",
        "  wins         p  why",
        "20261130T120530Z-fetch_pick_and_place-candidate",
        "    10  9.54e-07  another horizon and another",
        "                  simulator",
        "parent",
        "     0         1",
    ]


def test_at_last_every_cell_has_a_line() -> None:
    """Those that hold nothing have none."""
    out = screen(20)
    print_table(out, HEADERS, [(*ROWS[1][:3], "x" * 30)], numbers=NUMBERS)
    assert lines(out) == ["run parent", "  wins  0", "  p     1", "  why   " + "x" * 30]


@pytest.mark.parametrize(
    ("width", "printed"),
    [
        (60, ["    task        what", " 9  reach/here  one two", "10  reach/far   three"]),
        (17, ["task", "  what", " 9  reach/here", "  one two", "10  reach/far", "  three"]),
        (6, ["task  9  reach/here", "  what  one two", "task 10  reach/far", "  what  three"]),
    ],
)
def test_a_column_without_a_header_numbers_what_the_next_one_names(width: int, printed: list[str]) -> None:
    """Alone on a line, a number would name nothing."""
    out = screen(width)
    print_table(
        out, ("", "task", "what"), [("9", "reach/here", "one two"), ("10", "reach/far", "three")], numbers=("",)
    )
    assert lines(out) == printed


def test_a_table_elsewhere_is_one_line_a_row() -> None:
    """However wide; numbers to the right; cells are made harmless."""
    out = screen(80, terminal=False)
    print_table(out, ("name", "n", "what"), [("a", "1", "x" * 300), ("bb", "100", "y\nz")], numbers=("n",))
    assert lines(out) == ["name    n  what", "a       1  " + "x" * 300, "bb    100  y\\nz"]


def test_markup_in_a_cell_is_text() -> None:
    """Cells are anybody's."""
    out = screen(80)
    print_table(out, ("name", "what"), [("[bold]a[/bold]", "[link=x]")])
    assert lines(out)[1] == "[bold]a[/bold]  [link=x]"


def test_a_table_that_is_drawn_again_and_again_shortens_its_longest_texts() -> None:
    """Numbers stay whole, so do short texts."""
    columns = table_columns(HEADERS, ROWS, NUMBERS)
    out = screen(60)
    out.print(draw_table(columns, shortened_widths(columns, 60), overflow="ellipsis"), soft_wrap=False)
    printed = lines(out)
    assert len(printed) == 3
    assert all(len(line) <= 60 for line in printed)
    assert "9.54e-07" in printed[1]
    assert printed[1].count("…") == 2
