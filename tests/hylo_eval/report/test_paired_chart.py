"""The chart of the paired differences: which tasks differ, to which side, by how many pairs."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.report.discordant import compare_episodes
from hylo_eval.report.page import render_page
from hylo_eval.report.paired_chart import MAX_ROWS, TaskPairs, count_pairs, draw_pairs
from tests.hylo_eval.report.conftest import summary_of
from tests.runs import keys, unit, write_run

outcomes = st.sampled_from(["success", "failure", "abstained"])


@given(st.lists(st.tuples(st.sampled_from("abc"), outcomes, outcomes), max_size=40))
def test_every_scored_pair_is_counted_once(pairs: list[tuple[str, str, str]]) -> None:
    """An abstention on either side makes no pair; the chart's totals are those of its tasks."""
    tasks = count_pairs(pairs)
    scored = [pair for pair in pairs if "abstained" not in pair]
    assert sum(task.n_pairs for task in tasks) == len(scored)
    assert sum(task.n_discordant for task in tasks) == sum(ours != theirs for _, ours, theirs in scored)
    chart = draw_pairs(tasks)
    assert (chart is None) == (not scored)
    if chart is not None:
        assert chart.total.n_pairs == len(scored)


def test_the_tasks_that_differ_most_come_first_and_bars_are_shares() -> None:
    """Six pairs of ten reach six tenths of the way from the middle at 50 to 90; three to the left from 50 to 38."""
    tasks = [
        TaskPairs(task="same", both_succeeded=10),
        TaskPairs(task="few", candidate_won=1, both_failed=9),
        TaskPairs(task="many", candidate_won=6, parent_won=3, both_succeeded=1),
    ]
    chart = draw_pairs(tasks)
    assert chart is not None
    assert [bar.label for bar in chart.bars] == ["many", "few"]
    assert [(bar.left, bar.right) for bar in chart.bars] == [(38.0, 74.0), (50.0, 54.0)]
    assert chart.caption.endswith("; in 1 other task no pair differs.")
    assert chart.text == (
        "many: of 10 pairs the candidate alone won 6, the parent alone 3. "
        "few: of 10 pairs the candidate alone won 1, the parent alone 0"
    )


def test_more_tasks_than_can_be_seen_are_named_as_such() -> None:
    """The picture stays within the page; the table below has them all."""
    tasks = [TaskPairs(task=f"t{number:03}", candidate_won=1, both_failed=number) for number in range(MAX_ROWS + 5)]
    chart = draw_pairs(tasks)
    assert chart is not None
    assert [bar.label for bar in chart.bars] == [f"t{number:03}" for number in range(MAX_ROWS)]
    assert f"the {MAX_ROWS} of {MAX_ROWS + 5} tasks that differ most are drawn" in chart.caption


def picture(page: str) -> ET.Element:
    """The chart as a browser would read it."""
    found = re.search(r'<svg class="pairs".*?</svg>', page, re.DOTALL)
    assert found
    return ET.fromstring(found[0])  # noqa: S314


def test_the_page_has_it_in_words_too_and_names_stay_text(tmp_path: Path) -> None:
    """One bar a side that won, the counts beside them; no element comes out of a task's name."""
    pytest.importorskip("jinja2")
    pytest.importorskip("plotly")
    hostile = '"><script>x</script>'
    bench = unit(4, hostile, "unit/push", "unit/fold")
    won = {"a": (*keys(0, 1, task_id=hostile), *keys(3, task_id="unit/push")), "b": keys(2, task_id=hostile)}
    runs = [summary_of(write_run(tmp_path, name, won[name], bench=bench).run) for name in ("a", "b")]
    page = render_page(runs, [compare_episodes(*runs, 1, sections=(), refused=())]).decode()
    chart = picture(page)
    assert {node.tag for node in chart.iter()} == {"svg", "line", "g", "title", "text", "tspan", "rect"}
    assert [node.attrib["class"] for node in chart.iter("rect")] == ["theirs", "ours", "ours"]
    assert chart.attrib["role"] == "img"
    assert f"{hostile}: of 4 pairs the candidate alone won 2, the parent alone 1" in chart.attrib["aria-label"]
    shown = ["".join(node.itertext()) for node in chart.iter("text")]
    assert shown[5:] == [f"{hostile}4 pairs", "1", "2", "unit/push4 pairs", "0", "1"]
    assert "in 1 other task no pair differs." in page


def test_where_no_pair_differs_there_is_nothing_to_draw(tmp_path: Path) -> None:
    """The counts say it."""
    pytest.importorskip("jinja2")
    pytest.importorskip("plotly")
    runs = [summary_of(write_run(tmp_path, name, keys(0), bench=unit(3)).run) for name in ("a", "b")]
    page = render_page(runs, [compare_episodes(*runs, 1, sections=(), refused=())]).decode()
    assert '<svg class="pairs"' not in page
    assert "<span>both: 1</span><span>neither: 2</span>" in page
