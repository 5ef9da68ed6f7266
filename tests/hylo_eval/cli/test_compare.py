"""``hylo-eval compare``: what it shows, what it refuses, how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hylo_core import Score
from hylo_eval import evaluate, find_benchmark, plan_run
from hylo_eval.agents.reach_scripted import ReachScripted
from hylo_eval.envs.reach import ReachEnv
from tests.runs import edit_manifest, edit_trace, keys, unfinish, unit, write_run

TASKS = ("unit/lift", "unit/push")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Ten seeds of two tasks: the candidate wins six pairs of one task and loses one of the other."""
    bench = unit(10, *TASKS)
    lift = keys(*range(8), task_id="unit/lift")
    push = keys(*range(5), task_id="unit/push")
    write_run(tmp_path, "candidate", lift | push, bench=bench, agent_errors=(9,))
    write_run(
        tmp_path,
        "parent",
        keys(0, 1, task_id="unit/lift") | push | keys(6, task_id="unit/push"),
        bench=bench,
        broken=keys(7, task_id="unit/push"),
    )
    return tmp_path


@pytest.fixture
def compare(hylo: Any, runs: Path) -> Any:
    """Call ``compare`` on the two runs."""
    return lambda *options, pair=("candidate", "parent"): hylo("compare", *pair, "--run-root", runs, *options)


def test_it_shows_all_that_the_decision_needs(compare: Any) -> None:
    """Counts, exact p, mid-p as what it is, interval, what could have been seen, abstentions by side and reason."""
    done = compare()
    assert done.code == 0, done.err
    lines = {line.strip() for line in done.out.splitlines()}
    for expected in (
        "pairs                      17: 6 wins, 1 loss, 10 ties",
        "p, candidate better        0.0625 (exact McNemar, one-sided)",  # 8 / 128
        "p, parent better           0.992",
        "mid-p                      0.0352 (shown, never deciding)",  # 8/128 - 7/256
        "smallest attainable p      0.00781",  # 1 / 128
        "abstained, candidate       2 agent_error",
        "abstained, parent          1 infra",
        "traces                     read and checked",
        "distinct initial states    20",
        "scope                      these tasks: pairs count as independent",
    ):
        assert expected.replace(" ", "") in {line.replace(" ", "") for line in lines}, expected
    assert "7 of 7 discordant pairs must be won for p <= 0.05; 6 were won" in done.out
    assert "scope new tasks" in done.out
    assert "over 2 tasks" in done.out


def test_json_has_the_documented_members(compare: Any) -> None:
    """And values that follow from the counts."""
    found = compare("--json").json
    assert set(found) == {
        "schema", "kind", "benchmark", "candidate", "parent", "traces_read", "intersected", "allowed", "notes",
        "not_pairs", "distinct_initial_states",
        "repeated_initial_states", "metric", "comparison", "id", "created_at",
    }  # fmt: skip
    assert (found["schema"], found["kind"]) == ("hylo.comparison/v0.1", "compare")
    comparison = found["comparison"]
    assert comparison["p_value"] == 8 / 128
    assert comparison["effect"]["difference"] == pytest.approx(5 / 17)
    assert comparison["candidate_abstentions"] == {"agent_error": 2}
    worst = comparison["scenarios"][2]
    # The worst case: two agent errors against failures of the parent are ties; the parent's broken one is its win.
    assert (worst["name"], worst["candidate_wins"], worst["parent_wins"], worst["n_pairs"]) == ("worst case", 6, 2, 20)
    assert [group["label"] for group in comparison["groups"]] == list(TASKS)
    # One loss on push gives 1/2, on the other task nothing speaks for the parent; Holm doubles the smallest.
    assert [group["adjusted_regression_p"] for group in comparison["groups"]] == [1.0, 1.0]


def test_every_comparison_is_on_record(compare: Any, runs: Path) -> None:
    """One file each, the printed document; a root that cannot be written is a warning, since people only look."""
    printed = compare("--json").json
    [path] = (runs / "comparisons").iterdir()
    assert printed == json.loads(path.read_text())
    compare()
    assert len(list((runs / "comparisons").iterdir())) == 2
    for path in (runs / "comparisons").iterdir():
        path.unlink()
    (runs / "comparisons").rmdir()
    (runs / "comparisons").write_text("")
    done = compare("--json")
    assert (done.code, done.json["kind"]) == (0, "compare")
    assert "warning: this look is not on record: cannot write" in done.err


def test_swapped_sides_mirror(compare: Any) -> None:
    """The reverse p-value of one is the p-value of the other."""
    one, two = compare("--json").json["comparison"], compare("--json", pair=("parent", "candidate")).json["comparison"]
    assert (one["candidate_wins"], one["parent_wins"]) == (two["parent_wins"], two["candidate_wins"])
    assert (one["p_value"], one["reverse_p_value"]) == (two["reverse_p_value"], two["p_value"])
    assert one["effect"]["interval"]["low"] == -two["effect"]["interval"]["high"]


def test_rows_by_tag(compare: Any) -> None:
    """An instance counts in the row of each of its tags."""
    groups = {
        group["label"]: group["n_pairs"] for group in compare("--by", "tag", "--json").json["comparison"]["groups"]
    }
    assert groups == {"lift": 9, "push": 8, "unit": 17}


@pytest.mark.parametrize("metric", ["steps", "safety_interventions", "latency_p95"])
def test_measured_metrics_are_compared_by_rank_and_by_mean(compare: Any, metric: str) -> None:
    """Not by McNemar; the unit is shown, and which way is better."""
    done = compare("--metric", metric)
    assert done.code == 0, done.err
    assert "lower is better" in done.out
    assert "signed ranks" in done.out
    assert "McNemar" not in done.out
    comparison = compare("--metric", metric, "--json").json["comparison"]
    assert comparison["candidate_abstentions"] == {"agent_error": 2}
    assert comparison["n_pairs"] == 17


def test_fewer_steps_are_better(compare: Any) -> None:
    """Six episodes end after 2 steps in place of 10, one the other way round: seven equal ranks, so seven fair coins."""
    comparison = compare("--metric", "steps", "--json").json["comparison"]
    assert comparison["mean_difference"] == pytest.approx((6 * -8 + 8) / 17)
    assert comparison["wilcoxon"]["p_value"] == 8 / 128


def test_markdown_is_a_page(compare: Any) -> None:
    """Tables with a rule below their heads, and names that stay text."""
    done = compare("--markdown", "-")
    assert done.out.startswith("## candidate 1 against parent 1\n")
    assert "|---|---|---|---|---|---|\n| unit/lift | 9 | 6 | 0 |" in done.out


def test_markdown_goes_to_a_file_beside_what_is_printed(compare: Any, tmp_path: Path) -> None:
    """The same page as on standard output, where nothing else stands."""
    done = compare("--markdown", tmp_path / "new" / "page.md")
    assert "pairs" in done.out
    assert not done.out.startswith("##")
    assert (tmp_path / "new" / "page.md").read_text(encoding="utf-8") == compare("--markdown", "-").out
    assert compare("--markdown", tmp_path / "both.md", "--json").json["kind"] == "compare"
    assert (tmp_path / "both.md").exists()


def test_the_figure_is_written(compare: Any, tmp_path: Path) -> None:
    """Beside what is printed."""
    done = compare("--figure", tmp_path / "new" / "pairs.svg")
    assert done.code == 0, done.err
    assert (tmp_path / "new" / "pairs.svg").read_text(encoding="utf-8").count("<rect") == 1 + 5 + 20
    done = compare("--figure", tmp_path / "pairs.png")
    assert done.code == 0, done.err
    assert (tmp_path / "pairs.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    done = compare("--figure", tmp_path / "steps.svg", "--metric", "steps")
    assert "a figure shows a metric of 0 and 1, and steps is none" in done.err
    assert not (tmp_path / "steps.svg").exists()


REFUSED = [
    (["--figure", "pairs.pdf"], "a figure is an SVG or PNG file, not 'pairs.pdf'"),
    (["--json", "--markdown", "-"], "--json and --markdown - both want standard output"),
    (["--metric", "sucess"], "not both runs have the metric 'sucess'; did you mean 'success'"),
    (["--metric", "steps", "--by", "task"], "--by changes nothing for steps"),
    (["--better", "lower"], "--better changes nothing: higher success is better"),
    (["--alpha", "0.7"], "alpha: must lie in (0, 0.5), got 0.7"),
    (["--allow", "version"], "there is no exception 'version' to allow; did you mean 'versions'"),
    (["--log-only", "--by", "tag"], "tags stand in the traces, which were not read"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_an_option_that_means_nothing_is_refused(compare: Any, options: list[str], message: str) -> None:
    """With 2 and a sentence."""
    done = compare(*options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_the_same_run_and_a_missing_one(compare: Any) -> None:
    """With 2 and a sentence."""
    assert "both sides are the same run, parent" in compare(pair=("parent", "parent")).err
    done = compare(pair=("candidate", "parrent"))
    assert done.code == 2
    assert "there is no run 'parrent'; did you mean 'parent'?" in done.err


def test_a_tampered_trace_is_refused_unless_the_log_is_believed(compare: Any, runs: Path) -> None:
    """The log alone shows nothing, and says so."""
    path = edit_trace(runs / "parent", "unit/push#6", lambda text: text.replace('"reward":0.5', '"reward":1.5', 1))
    done = compare()
    assert done.code == 2
    assert (
        f"traces: the parent's run has a trace that does not match: {path.name}: its content has behaviour digest"
        in done.err
    )
    done = compare("--log-only")
    assert done.code == 0
    assert "log only: the traces were not read" in done.out


def test_another_horizon_is_refused_with_both_horizons(hylo: Any, runs: Path) -> None:
    """The benchmark has the same digest; the tasks as run have not."""
    write_run(runs, "short", bench=unit(10, *TASKS), plan={"max_steps": 5})
    done = hylo("compare", "short", "parent", "--run-root", runs)
    assert done.code == 2
    assert "tasks: the candidate ran the tasks with max_steps=5, the parent with nothing changed" in done.err
    assert "--allow tasks" in done.err
    done = hylo("compare", "short", "parent", "--run-root", runs, "--allow", "tasks")
    assert done.code == 0, done.err
    assert "tasks: the candidate ran the tasks with max_steps=5" in done.out


def test_another_batch_size_is_refused_with_both(compare: Any, runs: Path) -> None:
    """An agent's option, or a component that a policy server reports."""
    edit_manifest(runs / "candidate", lambda manifest: manifest["agent"].update(options={"batch_size": 8}))
    done = compare()
    assert done.code == 2
    assert "batch-size: the candidate was evaluated with batch size 8, the parent with unknown" in done.err
    edit_manifest(runs / "parent", lambda manifest: manifest["agent"].update(options={"batch_size": 8}))
    assert compare().code == 0
    edit_manifest(runs / "parent", lambda manifest: manifest["agent"].update(options={"batch_size": 1}))
    assert compare("--allow", "batch-size").code == 0


def test_a_selection_needs_intersect(hylo: Any, runs: Path) -> None:
    """One task of two; what is left out is counted."""
    write_run(runs, "lift", keys(0, task_id="unit/lift"), bench=unit(10, *TASKS), plan={"tasks": ["lift"]})
    done = hylo("compare", "lift", "parent", "--run-root", runs)
    assert done.code == 2
    assert (
        "instances: the two runs are of different instances: 10 shared, 10 only the parent has (unit/push#0" in done.err
    )
    done = hylo("compare", "lift", "parent", "--run-root", runs, "--intersect")
    assert done.code == 0, done.err
    assert "10 shared instances; left out are 0 that only the candidate has and 10" in done.out


def test_an_unfinished_run_needs_intersect(compare: Any, runs: Path) -> None:
    """And the output says that it is not finished."""
    unfinish(runs / "candidate", 5)
    done = compare()
    assert done.code == 2
    assert "unfinished: the candidate's run is not finished" in done.err
    done = compare("--intersect")
    assert done.code == 0
    assert "(run candidate, not finished)" in done.out


def test_scenes_that_repeat_are_no_independent_evidence(hylo: Any, tmp_path: Path) -> None:
    """Two seeds behind which the same state stands are counted and said."""
    same = {key: {"state_digest": "sha256:same"} for key in keys(0, 1, 2)}
    for name in ("a", "b"):
        write_run(tmp_path, name, bench=unit(5), starts=same)
    found = hylo("compare", "a", "b", "--run-root", tmp_path, "--json").json
    assert (found["distinct_initial_states"], found["repeated_initial_states"]) == (3, 2)
    assert "2 pairs repeat an initial state" in hylo("compare", "a", "b", "--run-root", tmp_path).out


def test_the_level_of_the_intervals_follows_alpha(compare: Any) -> None:
    """For measured metrics too: 1 - 2 alpha."""
    comparison = compare("--metric", "steps", "--alpha", "0.1", "--json").json["comparison"]
    assert comparison["mean_interval"]["level"] == pytest.approx(0.8)
    assert compare("--metric", "steps", "--alpha", "0.7").code == 2


class Grasped:
    """A scorer of somebody's, of 0 and 1."""

    name = "grasped"
    binary = True

    def score(self, trace: Any, task: Any) -> Score:
        return Score(float(trace.instance.seed < 2))


def test_somebodys_metric_needs_to_be_told_which_way_is_better(hylo: Any, tmp_path: Path) -> None:
    """Nothing is guessed; a metric of 0 and 1 then gets McNemar's test."""
    for name in ("a", "b"):
        write_run(tmp_path, name, bench=unit(3), scorers=[Grasped()])
    arguments = ("compare", "a", "b", "--run-root", tmp_path, "--metric", "grasped")
    assert "nobody says whether a higher grasped is better" in hylo(*arguments).err
    assert "exact McNemar" in hylo(*arguments, "--better", "higher").out
    assert "signed ranks" in hylo(*arguments, "--better", "lower").out


def test_hostile_names_are_printed_harmlessly(hylo: Any, tmp_path: Path) -> None:
    """In a terminal, in Markdown and in JSON: no control codes, no second row, no markup, no HTML."""
    task_id = "evil\x1b[2J|<script>\n| x | 9"
    agent = {"name": "a\x1b]0;owned\x07 [bold]`@all`", "version": "1"}
    for name in ("a", "b"):
        write_run(tmp_path, name, bench=unit(2, task_id), manifest=agent)
    for form in ([], ["--markdown", "-"], ["--json"]):
        done = hylo("compare", "a", "b", "--run-root", tmp_path, *form)
        assert done.code == 0, done.err
        assert "\x1b" not in done.out
        assert "\x07" not in done.out
    page = hylo("compare", "a", "b", "--run-root", tmp_path, "--markdown", "-").out
    assert "<script>" not in page
    assert "@all" not in page
    [row] = [line for line in page.splitlines() if line.startswith("| evil")]
    assert row.count(" | ") == 5
    edit_manifest(tmp_path / "b", lambda manifest: manifest["env"].update(ref="\x1b[31mred"))
    done = hylo("compare", "a", "b", "--run-root", tmp_path)
    assert done.code == 2
    assert "\x1b" not in done.err


def test_a_run_from_python_is_comparable_with_one_of_the_command(tmp_path: Path, hylo: Any) -> None:
    """The same env with the same versions, whoever asked for it."""
    chosen = find_benchmark("reach_fixed")
    evaluate(
        chosen,
        "heldout",
        env_factory=ReachEnv,
        agent=ReachScripted(),
        run_root=tmp_path,
        run_id="python",
        plan=plan_run(chosen, "heldout", episodes=8),
    )
    arguments = ("reach_fixed", "--agent", "reach-scripted", "--episodes", "8", "--run-id", "command")
    assert hylo("run", *arguments, "--run-root", tmp_path).code == 0
    compared = hylo("compare", "python", "command", "--run-root", tmp_path)
    assert compared.code == 0, compared.err
