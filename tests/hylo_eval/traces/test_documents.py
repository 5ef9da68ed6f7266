"""JSON files of one schema."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hylo_eval import EvalError
from hylo_eval.traces.documents import read_document


def read(path: Path, max_bytes: int = 40) -> dict[str, object]:
    """A document of the schema ``unit/v1``."""
    return read_document(path, what="the note", schema="unit/v1", max_bytes=max_bytes, restore="write it again")


def test_a_document_of_the_schema_is_read(tmp_path: Path) -> None:
    """All its members."""
    path = tmp_path / "note.json"
    path.write_text('{"schema": "unit/v1", "n": 1}')
    assert read(path) == {"schema": "unit/v1", "n": 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON: "),
        ("[]", "is not a JSON object"),
        ("{}", "schema: must be 'unit/v1', not None"),
        ('{"schema": "unit/v2\\u001b"}', r"schema: must be 'unit/v1', not 'unit/v2\x1b'"),
        (f'{{"schema": "unit/v1"{" " * 40}}}', "is larger than 40 bytes"),
    ],
)
def test_what_is_none_is_refused_with_the_file_and_what_mends_it(tmp_path: Path, content: str, said: str) -> None:
    """Untrusted like any other file."""
    path = tmp_path / "note.json"
    path.write_text(content)
    with pytest.raises(EvalError) as caught:
        read(path)
    assert said in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.fix == "write it again"


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    """Nor taken for one that holds nothing."""
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("none", "No such file"), ("pipe", "it is a pipe"), (".", "Is a directory")):
        with pytest.raises(EvalError, match=f"cannot read the note .*{said}"):
            read(tmp_path / name, max_bytes=1 << 20)
