"""Files and functions stay small enough to be read at one sitting."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


def sources() -> Iterator[Path]:
    """The files of the two packages."""
    for package in ("hylo_core", "hylo_eval"):
        yield from sorted((ROOT / package).rglob("*.py"))


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_no_file_is_longer_than_400_lines() -> None:
    """A longer file holds two things."""
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources()}
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    """A longer function does two things; its docstring is not counted."""
    lengths = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": body_lines(node)
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FUNCTION_LINES} == {}
