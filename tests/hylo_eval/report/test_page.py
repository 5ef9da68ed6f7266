"""The page as bytes: what it says, what it escapes, how large it gets."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
import pytest

from hylo_eval import EvalError
from hylo_eval.report.page import PageOptions, choose_episodes, render_page
from hylo_eval.traces.layout import RunFolder
from tests.hylo_eval.report.conftest import CLOSING, HANDLER, SCRIPT, summary_of, write_hostile_run
from tests.pictures import swap_films, write_picture_run
from tests.runs import edit_trace, keys, unfinish, unit, write_run

pytest.importorskip("jinja2")
pytest.importorskip("plotly")


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its texts."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def data_of(page: bytes) -> Any:
    """The data that the page's script reads."""
    match = re.search(rb'<script type="text/plain" id="data">([^<]*)</script>', page)
    assert match
    return json.loads(gzip.decompress(base64.b64decode(match[1])))


def test_a_page_asks_nobody_for_anything(hostile: RunFolder) -> None:
    """No element loads from elsewhere, and the policy forbids what a script would."""
    elements = Elements(render_page([summary_of(hostile)])).found
    for _, attributes in elements:
        for name in ("src", "href", "srcset", "data", "action"):
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,"
    policy = next(attributes["content"] for tag, attributes in elements if tag == "meta" and "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy.partition("script-src")[2].partition(";")[0]
    assert "connect-src 'none'" in policy


def test_text_from_outside_is_never_markup(hostile: RunFolder) -> None:
    """Task, instruction, tags, agent, components and errors stay text; no element and no handler comes of them."""
    page = render_page([summary_of(hostile)])
    elements = Elements(page)
    tags = {tag for tag, _ in elements.found}
    assert "img" not in tags
    assert "b" not in {tag for tag, attributes in elements.found if not attributes}
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    assert [attributes.get("id") for attributes in scripts] == ["data", "plotly", None]
    assert any(SCRIPT in text for text in elements.texts)
    assert any(HANDLER in text for text in elements.texts)
    assert any(CLOSING in text for text in elements.texts)
    # Escaping markup leaves control characters and changes of direction as they are.
    assert not {"\x1b", "\u202e"} & set("".join(elements.texts))
    assert any("\\x1b[31mred\\x202e around" in text for text in elements.texts)
    # In the charts' texts, which Plotly reads as a subset of HTML, it is escaped too.
    chart = data_of(page)["charts"]["tasks"]
    assert chart["data"][0]["customdata"][0][0] == (
        "unit/&lt;/title&gt;&lt;/style&gt;&lt;/script&gt;&lt;b&gt;bold&lt;/b&gt;{{ 7*7 }}"
    )
    assert "<b>" not in str(chart)
    assert "<script" not in str(chart)


def test_the_page_is_a_function_of_the_runs(hostile: RunFolder) -> None:
    """The same bytes each time: no clock and no order of a set."""
    assert render_page([summary_of(hostile)]) == render_page([summary_of(hostile)])


def test_the_headline_says_rate_interval_and_coverage(hostile: RunFolder) -> None:
    """One success in two scored episodes, one lost to the environment."""
    text = " ".join(" ".join(Elements(render_page([summary_of(hostile)])).texts).split())
    assert "50.0 % success" in text
    assert "50.0 % success, 95 % interval [9.5 %, 90.5 %]" in text
    assert "2 of 3 episodes scored (coverage 66.7 %); 1 abstained: 1 infra; 33.3 % had they all failed, 66.7 %" in text


def test_every_episode_is_a_cell_that_leads_to_it(tmp_path: Path) -> None:
    """In the order of the seeds, with its outcome in class and name."""
    run = write_run(tmp_path, "run", keys(1), bench=unit(3), agent_errors=(2,)).run
    cells = [
        attributes
        for tag, attributes in Elements(render_page([summary_of(run)])).found
        if tag == "a" and "cell" in (attributes.get("class") or "")
    ]
    assert [(cell["class"], cell["href"]) for cell in cells] == [
        ("cell f plotted", "#e=0,0"),
        ("cell s plotted", "#e=0,1"),
        ("cell a plotted", "#e=0,2"),
    ]
    assert cells[2]["title"] == "unit/task#2: abstained (agent_error), 0 steps"


def test_failures_are_plotted_first_and_the_rest_is_named(tmp_path: Path) -> None:
    """Two of five episodes: the failure and the error, not the successes; the page says so."""
    run = write_run(tmp_path, "run", keys(0, 1, 2), bench=unit(5), agent_errors=(4,)).run
    summary = summary_of(run)
    assert choose_episodes([summary], (), 3) == ((0, 3), (0, 4), (0, 0))
    page = render_page([summary], options=PageOptions(max_episodes=2))
    assert set(data_of(page)["details"]) == {"0,3", "0,4"}
    assert b"The plots of 2 of 5 episodes are in this page" in page


def test_videos_are_in_the_page_while_there_is_room(tmp_path: Path) -> None:
    """With little room they are links beside it, and the page keeps within its size."""
    pytest.importorskip("av")
    run = write_picture_run(tmp_path / "runs", "run", won=(1,)).run
    path = tmp_path / "pages" / "report.html"
    page = render_page([summary_of(run)], options=PageOptions(path=path))
    films = data_of(page)["films"]
    assert {name: [bool(film["block"]) for film in found] for name, found in films.items()} == {
        "0,0": [True], "0,1": [True], "0,2": [True],
    }  # fmt: skip
    video = next(run.videos.glob("*task-0-*.mp4"))
    block = films["0,0"][0]["block"]
    match = re.search(rf'id="{block}">([^<]*)<'.encode(), page)
    assert match
    assert base64.b64decode(match[1]) == video.read_bytes()
    assert films["0,0"][0]["link"] == f"../runs/run/videos/{video.name}"
    bare = render_page([summary_of(run)], options=PageOptions(path=path, max_bytes=len(page) - 1))
    assert len(bare) < len(page)
    assert [found[0]["block"] for found in data_of(bare)["films"].values()].count("") == 1
    assert b"1 beside it is found" in bare


def test_videos_beside_a_trace_that_was_changed_are_no_evidence(tmp_path: Path) -> None:
    """Neither in the page nor linked from it; the others are."""
    pytest.importorskip("av")
    run = write_picture_run(tmp_path / "runs", "run", won=(1,)).run
    edit_trace(run.path, "unit/task#1", lambda text: text.replace('"reward":', '"reward":1', 1))
    path = tmp_path / "pages" / "report.html"
    for options in (PageOptions(path=path), PageOptions(live="version")):
        page = render_page([summary_of(run)], options=options)
        assert set(data_of(page)["films"]) == {"0,0", "0,2"}
        (changed,) = run.videos.glob("*task-1-*.mp4")
        assert changed.name.encode() not in page
        assert b"neither its steps nor its videos are shown" in page


def test_another_episodes_video_is_not_shown_as_this_ones(tmp_path: Path) -> None:
    """Its trace holds the digest of the one that was recorded; the page says which it leaves out, and why."""
    pytest.importorskip("av")
    run = write_picture_run(tmp_path / "runs", "run", won=(1,)).run
    changed = swap_films(run, shown=1, under=2)
    for options in (PageOptions(path=tmp_path / "pages" / "report.html"), PageOptions(live="version")):
        page = render_page([summary_of(run)], options=options)
        assert set(data_of(page)["films"]) == {"0,0", "0,1"}
        assert b"1 video is not the one that was recorded. What was changed is not shown." in page
        assert f"unit/task#2: {changed.name}: ".encode() in page


def test_a_page_that_cannot_be_small_enough_is_refused(hostile: RunFolder) -> None:
    """The chart library alone takes more than a megabyte."""
    with pytest.raises(EvalError, match="more than 1"):
        render_page([summary_of(hostile)], options=PageOptions(max_bytes=1_000_000))


def test_a_report_is_about_something() -> None:
    """No run, no page."""
    with pytest.raises(EvalError, match="at least one"):
        render_page([])


def test_several_runs_have_a_colour_and_a_column_each(tmp_path: Path) -> None:
    """And the page warns where they are not of the same tasks."""
    runs = [summary_of(write_hostile_run(tmp_path, name)) for name in ("one", "two")]
    runs.append(summary_of(write_run(tmp_path, "three", bench=unit(2)).run))
    page = render_page(runs)
    assert [trace["marker"]["color"] for trace in data_of(page)["charts"]["tasks"]["data"]] == [
        "run-0",
        "run-1",
        "run-2",
    ]
    assert b"did not run the same tasks" in page


def test_an_unfinished_run_does_not_say_that_every_episode_was_scored(tmp_path: Path) -> None:
    """What there is of it is of the episodes that ended; a whole run needs no such words."""
    run = write_run(tmp_path, "run", keys(0), bench=unit(3)).run
    said = "every episode that ended was scored"
    whole = render_page([summary_of(run)]).decode()
    assert said not in whole
    assert "3 of 3 episodes scored (coverage 100.0 %)" in whole
    unfinish(run.path, 2)
    run.queue.unlink()
    page = render_page([summary_of(run)]).decode()
    assert "2 of 2 episodes that ended scored (coverage 100.0 % of those that ended)" in page
    assert "1 of 3 planned episodes have no outcome" in page
    assert f"None: {said}." in page
    # One ended at its success; of episodes of one length nobody could say so.
    assert "of all planned, between 33.3 % and 66.7 % succeed; successes tend to end first, so the rate" in page
    summary = summary_of(run)
    fixed = attrs.evolve(summary, episodes=tuple(attrs.evolve(episode, steps=9) for episode in summary.episodes))
    assert "of all planned, between 33.3 % and 66.7 % succeed.</p>" in render_page([fixed]).decode()
