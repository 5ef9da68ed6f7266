"""What the page says of a question: reply, truth and pictures; and what it does not draw of a single step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from hylo_core.trace import EpisodeStatus, EpisodeTrace, ResetEvent
from hylo_eval.report.charts import time_chart
from hylo_eval.report.episode_detail import describe_episode
from hylo_eval.report.page_content import make_charts
from hylo_eval.report.question import MAX_CHARACTERS, MAX_PICTURES, Question, read_question
from hylo_eval.traces.reader import read_trace
from tests.episodes import benchmark, task
from tests.hylo_eval.report.conftest import summary_of, write_answered_run
from tests.responses import recorded, response_instance, truth
from tests.runs import keys, write_run


def asked(trace: EpisodeTrace) -> Question:
    """The question of an episode that is one."""
    question = read_question(trace)
    assert question is not None
    return question


def test_reply_and_truth_are_those_of_the_trace() -> None:
    """The text as it was recorded, and the param as JSON on one line."""
    question = asked(recorded("three\nof them", response_instance(truth=truth())))
    assert question.reply == "three\nof them"
    assert json.loads(question.truth) == truth()
    assert "\n" not in question.truth
    assert question.pictures == ()


def test_a_long_reply_is_cut_and_says_so() -> None:
    """By how much; so is a truth."""
    question = asked(recorded("x" * (MAX_CHARACTERS + 7), response_instance(truth="y" * MAX_CHARACTERS)))
    assert question.reply == "x" * MAX_CHARACTERS + "... (7 more characters)"
    # Its two quotation marks count.
    assert question.truth == '"' + "y" * (MAX_CHARACTERS - 1) + "... (2 more characters)"


def test_an_episode_without_a_reply_still_has_its_truth() -> None:
    """The agent failed: what it should have said is known."""
    question = asked(recorded(None, response_instance(truth=truth()), EpisodeStatus.AGENT_ERROR))
    assert question.reply is None
    assert json.loads(question.truth) == truth()


def test_pictures_are_named_by_digest_and_files_by_path() -> None:
    """A bounded number of them; a param that is no list of files names none."""
    files = [{"path": f"{number}.png", "sha256": "0" * 64} for number in range(MAX_PICTURES + 2)]
    trace = recorded("3", response_instance(images=files))
    shown = attrs.evolve(trace, reset=ResetEvent(instruction="how many?", images={"image": "sha256:12"}))
    pictures = asked(shown).pictures
    assert pictures[:2] == ("image: sha256:12", f"file 0.png: sha256:{'0' * 64}")
    assert (len(pictures), pictures[-1]) == (MAX_PICTURES + 1, "and 3 more")
    assert asked(recorded("3", response_instance(images="a.png"))).pictures == ()


def test_an_episode_of_numbers_is_no_question(tmp_path: Path) -> None:
    """Its actions are plotted."""
    (path,) = write_run(tmp_path, "run", bench=benchmark(seeds=(0,))).run.episodes.iterdir()
    assert read_question(read_trace(path)) is None
    assert describe_episode(read_trace(path))["question"] is None


def test_the_page_shows_no_control_characters_of_a_reply(tmp_path: Path) -> None:
    """Line breaks stay, as they are part of an answer; what turns text around is spelt out."""
    (path,) = write_answered_run(tmp_path, "run", "one\ntwo \u202e\x1b[31m").episodes.iterdir()
    found: dict[str, Any] = describe_episode(read_trace(path))["question"]
    assert found["reply"] == "one\ntwo \\x202e\\x1b[31m"
    spec = read_trace(path).instance.spec
    assert found["pictures"] == [f"image: {spec.params['picture_digest']}"]


@pytest.mark.parametrize("steps", [1, 3])
def test_time_to_success_is_drawn_where_there_is_a_second_step(tmp_path: Path, steps: int) -> None:
    """Of single steps there is no chart, nor its heading; of few, each has its tick and the last lies off the edge."""
    bench = benchmark(task(max_steps=steps, stop_on_success=False), seeds=(0, 1))
    summary = summary_of(write_run(tmp_path, "run", keys(0), bench=bench).run)
    assert {episode.steps for episode in summary.episodes} == {steps}
    names = [chart.name for chart in make_charts([summary])]
    assert names == ["tasks", *(["times"] if steps > 1 else []), "latency", "safety"]
    figure = time_chart([summary])
    assert figure is not None
    axis = figure["layout"]["xaxis"]
    assert axis["dtick"] == 1
    assert axis["range"] == [0, pytest.approx(1.03 * steps)]
