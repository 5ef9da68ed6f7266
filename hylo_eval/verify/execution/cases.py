"""The hidden cases of ``stdio``: pairs of ``input_N.txt`` and ``output_N.txt`` below one folder.

Whatever looks like part of a case and cannot be used as one is refused: a case that was left out would make the task
easier than its author meant it. So is a link that leads out of the folder, which alone is hidden from the program.
"""

# ruff: noqa: PTH112, PTH113, PTH123, PTH206
# Cases may be many: they are found and read by paths that are texts, which costs half of what path objects do.

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from hylo_eval.verify.file_ops.resources import lies_in, resource_path
from hylo_eval.verify.machine_faults import is_machine_fault
from hylo_eval.verify.verdict import InvalidTask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CASE_FILE = re.compile(r"(input|output)_(.+)\.txt", re.DOTALL)


class Case(NamedTuple):
    """One hidden case.

    Attributes:
        number: What stands between ``input_`` and ``.txt`` in the file's name.
        stdin: The bytes the program is given, its lines ending in a line feed.
        expected: The expected output.
    """

    number: str
    stdin: bytes
    expected: str


class _CaseFile(NamedTuple):
    """A file that is part of a case."""

    folder: str
    kind: str
    number: str

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.kind}_{self.number}.txt"


def load_cases(tests_dir: Path, folder: str) -> tuple[Case, ...]:
    """The cases of a folder in numeric order, read whole before any program of the candidate runs.

    The output of ``input_N.txt`` stands beside it, in ``outputs/`` of the cases folder, or in that folder.

    Raises:
        InvalidTask: The folder is missing or leaves the tests directory, a case lacks its input or its output, one
            of them is no regular file, or a link leads to nothing or out of the folder.
        OSError: The machine cannot list or read them.
    """
    named = resource_path(tests_dir, folder, what="cases")
    if not os.path.isdir(named):
        raise InvalidTask(f"cases {folder!r} is no folder of the tests directory")
    root = os.path.realpath(named)
    found = list(_case_files(root))
    outputs = {file.path for file in found if file.kind == "output"}
    pairs = [(file, _output_of(file, root, outputs)) for file in found if file.kind == "input"]
    _refuse_lone_outputs(found, root, used={output for _, output in pairs})
    pairs.sort(key=lambda pair: (_order(pair[0].number), pair[0].path.split(os.sep)))
    return tuple(
        Case(number=file.number, stdin=_content(file.path), expected=_content(output).decode(errors="replace"))
        for file, output in pairs
    )


def _case_files(root: str) -> Iterator[_CaseFile]:
    """The files of cases below a folder, which is no link."""
    pending = [root]
    while pending:
        folder = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                match = _CASE_FILE.fullmatch(entry.name)
                if entry.is_symlink():
                    is_file = _is_linked_file(entry.path, root, is_named=match is not None)
                elif entry.is_dir():
                    pending.append(entry.path)
                    is_file = False
                else:
                    is_file = entry.is_file()
                if match is None:
                    continue
                if not is_file:
                    raise InvalidTask(f"stdio case {entry.path!r:.300} is no regular file")
                yield _CaseFile(folder, *match.groups())


def _is_linked_file(link: str, root: str, *, is_named: bool) -> bool:
    """Whether a link leads to a regular file; a folder that it leads to is found where it stands.

    Args:
        link: The link.
        root: The folder of the cases.
        is_named: Whether it has the name of a case's file.

    Raises:
        InvalidTask: It leads to nothing, or what it leads to is part of the cases and not in their folder.
    """
    try:
        target = os.path.realpath(link, strict=True)
    except OSError as error:
        if is_machine_fault(error):
            raise
        raise InvalidTask(f"stdio case {link!r:.300} is a link that leads to nothing") from error
    if (is_named or os.path.isdir(target)) and not lies_in(target, root):
        raise InvalidTask(
            f"stdio case {link!r:.300} is a link out of the folder of the cases, where the program could read what it "
            "leads to (fix: copy that into the folder)"
        )
    return os.path.isfile(target)


def _output_of(case: _CaseFile, root: str, outputs: set[str]) -> str:
    """The file of the expected output; it stands beside the input, in ``outputs/`` of the root, or in the root."""
    name = f"output_{case.number}.txt"
    paths = [f"{folder}/{name}" for folder in (case.folder, f"{root}/outputs", root)]
    for path in paths:
        if path in outputs:
            return path
    for path in paths:
        if os.path.isfile(path):  # through a link to another folder of the cases
            return os.path.realpath(path)
    raise InvalidTask(f"stdio case {case.number} has no {name}")


def _refuse_lone_outputs(found: list[_CaseFile], root: str, *, used: set[str]) -> None:
    """Raises InvalidTask for an output that no input could have used: an input is missing."""
    inputs = [file for file in found if file.kind == "input"]
    placed = {(file.folder, file.number) for file in inputs}
    numbers = {file.number for file in inputs}
    shared = (root, f"{root}/outputs")
    for file in found:
        if file.kind == "input" or file.path in used or (file.folder, file.number) in placed:
            continue
        if file.folder not in shared or file.number not in numbers:
            raise InvalidTask(f"stdio case {file.path!r:.300} has no input_{file.number}.txt")


def _order(number: str) -> tuple[int, int, str]:
    """Numbers first, by value; then other names. Only the value's digits are compared: they may be many."""
    if number.isascii() and number.isdecimal():
        digits = number.lstrip("0")
        return (0, len(digits), digits)
    return (1, 0, number)


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
