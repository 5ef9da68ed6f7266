"""The picture of a comparison."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from hylo_eval import EvalError
from hylo_eval.compare.comparability import pair_evidence
from hylo_eval.compare.summary import KNOWN_METRICS, summarise_binary
from hylo_eval.evaluation.comparing.evidence import read_evidence
from hylo_eval.report import figure
from hylo_eval.report.drawing import render_svg
from hylo_eval.report.figure import OUTCOMES, draw_comparison
from hylo_eval.traces.finding import find_run
from tests.runs import keys, unit, write_run

SVG = "{http://www.w3.org/2000/svg}"


def drawn(root: Path, by: Any = "task") -> ET.Element:
    """The figure of the runs ``a`` and ``b``."""
    evidence = pair_evidence(*(read_evidence(find_run(name, root)) for name in ("a", "b")))
    figure = draw_comparison(evidence, summarise_binary(evidence, KNOWN_METRICS["success"], by=by))
    return ET.fromstring(render_svg(figure))  # noqa: S314


def cells(picture: ET.Element) -> list[str]:
    """The outcomes of the cells in order, without the legend."""
    names = {fill: outcome for outcome, (fill, _) in OUTCOMES.items()}
    found = [names[node.attrib["fill"]] for node in picture.iter(f"{SVG}rect") if node.attrib["width"] == "9"]
    assert found[: len(OUTCOMES)] == list(OUTCOMES)
    return found[len(OUTCOMES) :]


def test_every_pair_is_a_cell_in_the_order_of_the_seeds(tmp_path: Path) -> None:
    """Each outcome in its colour, and the counts in the legend."""
    write_run(tmp_path, "a", keys(0, 1, 10), bench=unit(12), broken=keys(4))
    write_run(tmp_path, "b", keys(1, 2), bench=unit(12))
    picture = drawn(tmp_path)
    assert cells(picture) == [
        "candidate won", "both succeeded", "parent won", "both failed", "not a scored pair", *["both failed"] * 5,
        "candidate won", "both failed",
    ]  # fmt: skip
    texts = [node.text for node in picture.iter(f"{SVG}text")]
    assert "candidate won: 2" in texts
    assert "success: +9.1 points, 2 wins to 1 in 11 pairs, exact one-sided p = 0.5" in texts


def test_rows_are_tasks_or_tags(tmp_path: Path) -> None:
    """A row has its difference; an instance with two tags stands in two rows."""
    bench = unit(3, "unit/lift", "unit/push")
    for name in ("a", "b"):
        write_run(tmp_path, name, keys(0, task_id="unit/lift"), bench=bench)
    picture = drawn(tmp_path)
    assert len(list(picture.iter(f"{SVG}circle"))) == 2
    by_tag = drawn(tmp_path, "tag")
    assert len(list(by_tag.iter(f"{SVG}circle"))) == 3
    assert Counter(cells(by_tag)) == {"both succeeded": 2, "both failed": 10}


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    """No element and no control code comes out of a name."""
    for name in ("a", "b"):
        write_run(
            tmp_path, name, bench=unit(1, "<script>x</script>\x1b\x00"), manifest={"name": "]]><a>", "version": "1"}
        )
    picture = drawn(tmp_path)
    assert {node.tag.removeprefix(SVG) for node in picture.iter()} == {"svg", "rect", "text", "title", "line", "circle"}
    assert any("<script>" in (node.text or "") for node in picture.iter(f"{SVG}text"))


def test_what_nobody_can_read_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence in place of a huge file."""
    for name in ("a", "b"):
        write_run(tmp_path, name, bench=unit(3))
    monkeypatch.setattr(figure, "MAX_CELLS", 2)
    with pytest.raises(EvalError, match="a figure of 3 pairs cannot be read"):
        drawn(tmp_path)
