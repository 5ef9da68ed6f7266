"""By what episodes are shown: a rate of one or two says next to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import Benchmark
from hylo_eval.report.charts import group_chart
from hylo_eval.report.discordant import compare_episodes
from hylo_eval.report.grouping import FEW_EPISODES, choose_grouping, listed, short_names
from hylo_eval.report.page import render_page
from hylo_eval.report.page_content import grouping_of, make_charts, make_failures, make_grids
from tests.episodes import benchmark, task
from tests.hylo_eval.report.conftest import HANDLER, SCRIPT, summary_of
from tests.runs import keys, write_run

ALL = ("all",)
NAMES = tuple(f"unit/{kind}_{number}" for kind in ("pick", "push") for number in (1, 2, 3))


def questions(seeds: int = 1) -> Benchmark:
    """Six tasks of two kinds, which their second tag names; all have the first, and the third says the same again."""
    specs = [task(name, tags=("all", name[5:9], f"{name[5:9]}ing")) for name in NAMES]
    return benchmark(*specs, seeds=tuple(range(seeds)))


tags = st.lists(st.sampled_from("xyz"), max_size=3, unique=True)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5), tags), max_size=30))
def test_no_group_is_too_small_or_the_whole(episodes: list[tuple[str, int, list[str]]]) -> None:
    """By tag, every group has more than a few episodes and fewer than all, and no two hold the same ones."""
    unique = {f"{task}#{seed}": (f"{task}#{seed}", task, tuple(named)) for task, seed, named in episodes}.values()
    found = choose_grouping(unique)
    sizes = {name: sum(other == name for _, other, _ in unique) for _, name, _ in unique}
    if len(sizes) <= 1 or max(sizes.values()) > FEW_EPISODES:
        assert (found.by, set(found.names), found.words) == ("task", set(sizes), "")
        return
    assert found.by in ("tag", "nothing")
    assert found.words
    groups = [frozenset(key for key, _, named in unique if name in named) for name in found.names]
    assert len(set(groups)) == len(groups)
    assert all(FEW_EPISODES < len(group) < len(unique) for group in groups)
    assert [len(group) for group in groups] == sorted(map(len, groups), reverse=True)


def test_an_instance_of_two_runs_counts_once() -> None:
    """Two runs of one episode a task make no task of two."""
    episodes = [(f"{name}#0", name, ALL) for name in NAMES] * 3
    assert choose_grouping(episodes).by == "nothing"


def test_names_are_as_short_as_they_can_be() -> None:
    """Without the folder that all share and, where a task stands there once, its seed."""
    assert short_names(["u/pick#0", "u/pick#1", "u/push#0"]) == {
        "u/pick#0": "pick#0",
        "u/pick#1": "pick#1",
        "u/push#0": "push",
    }
    assert short_names(["u/pick#0", "v/pick#0"]) == {"u/pick#0": "u/pick", "v/pick#0": "v/pick"}
    assert short_names([]) == {}
    assert listed([str(number) for number in range(70)]) == ([str(number) for number in range(60)], 10)


def test_names_of_many_questions_cost_no_comparison_of_each_with_each() -> None:
    """A benchmark of questions has tens of thousands of tasks of one episode; compared in pairs they took a minute."""
    names = short_names([f"u/{number}#0" for number in range(50_000)])
    assert (len(names), names["u/49999#0"]) == (50_000, "49999")


def test_tasks_of_one_episode_are_drawn_by_tag_and_failures_named(tmp_path: Path) -> None:
    """Two bars in place of six, a row of cells, and the names of those that failed; of more episodes all is by task."""
    won = {f"{name}#0" for name in NAMES[:4]}
    run = summary_of(write_run(tmp_path, "few", won, bench=questions()).run)
    assert grouping_of([run]).names == ("pick", "push")
    figure = group_chart([run], grouping_of([run]))
    assert figure is not None
    assert figure["data"][0]["x"] == [pytest.approx(100.0), pytest.approx(100.0 / 3)]
    chart = make_charts([run])[0]
    assert (chart.title, chart.drawn) == ("Success by tag", True)
    (failed,) = make_failures([run])
    assert (failed.n_failed, failed.episodes, failed.more) == (2, ((4, "push_2"), (5, "push_3")), 0)
    ((row,),) = (grid.tasks for grid in make_grids([run], ()))
    assert (row.name, [cell.place for cell in row.cells]) == ("6 tasks", [0, 1, 2, 3, 4, 5])
    many = summary_of(write_run(tmp_path, "many", won, bench=questions(3)).run)
    assert (make_charts([many])[0].title, make_failures([many])) == ("Success by task", ())
    assert [row.name for row in make_grids([many], ())[0].tasks] == list(NAMES)


def test_without_tags_that_group_only_the_failures_are_named(tmp_path: Path) -> None:
    """A bar of everything would say what the headline says."""
    bench = benchmark(*(task(name, tags=ALL) for name in NAMES[:3]), seeds=(0, 1))
    run = summary_of(write_run(tmp_path, "run", keys(1, task_id=NAMES[0]), bench=bench).run)
    chart = make_charts([run])[0]
    assert (chart.drawn, chart.text) == (False, "No task has more than 2 episodes, too few for a rate of its own.")
    names = [name for _, name in make_failures([run])[0].episodes]
    assert names == ["pick_1#0", "pick_2#0", "pick_2#1", "pick_3#0", "pick_3#1"]


def test_paired_differences_are_by_tag_and_count_each_pair_once(tmp_path: Path) -> None:
    """A pair stands under each of its tags; the legend's totals are those of the pairs."""
    won = {"a": {f"{name}#0" for name in NAMES[:2]}, "b": {f"{NAMES[0]}#0", f"{NAMES[5]}#0"}}
    runs = [summary_of(write_run(tmp_path, name, won[name], bench=questions()).run) for name in ("a", "b")]
    chart = compare_episodes(*runs, 1, sections=(), refused=()).chart
    assert chart is not None
    assert (chart.total.candidate_won, chart.total.parent_won, chart.total.n_pairs) == (1, 1, 6)
    drawn = {bar.pairs.task: (bar.pairs.candidate_won, bar.pairs.parent_won, bar.pairs.n_pairs) for bar in chart.bars}
    assert drawn == {"pick": (1, 0, 3), "push": (0, 1, 3)}
    assert "a pair counts under each tag of its task" in chart.caption


def test_tags_and_names_stay_text_on_the_page(tmp_path: Path) -> None:
    """No element comes out of a tag or of the name of an episode that failed."""
    pytest.importorskip("jinja2")
    pytest.importorskip("plotly")
    specs = [task(f"{name}{HANDLER}", tags=(SCRIPT,) if "pick" in name else ("push",)) for name in NAMES]
    runs = [
        summary_of(write_run(tmp_path, name, won, bench=benchmark(*specs, seeds=(0,))).run)
        for name, won in (("a", ()), ("b", {f"{specs[0].id}#0"}))
    ]
    page = render_page(runs, [compare_episodes(*runs, 1, sections=(), refused=())]).decode()
    assert SCRIPT not in page
    assert "<img" not in page
    assert "a: 6 failed" in page
    assert 'href="#e=1,1"' in page
    assert "by tag. " in page
