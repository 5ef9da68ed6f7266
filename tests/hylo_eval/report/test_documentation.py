"""The example in ``docs/report.md`` runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hylo_eval
from tests.runs import keys, unit, write_run

pytest.importorskip("jinja2")
pytest.importorskip("plotly")

DOCUMENT = Path(hylo_eval.__file__).parents[1] / "docs" / "report.md"


def test_the_example_in_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a run of that name; it prints the rate and writes the page."""
    (example,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    write_run(tmp_path / "runs", "pick", keys(0), bench=unit(2))
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(DOCUMENT), "exec"), {})  # noqa: S102 - our own document
    assert capsys.readouterr().out == "0.5 6.0\n"
    assert (tmp_path / "pick.html").read_bytes().startswith(b"<!doctype html>")
