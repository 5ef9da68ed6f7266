"""``hylo-eval rescore``: what it prints, how it ends."""

import contextlib
import json
from pathlib import Path

import pytest

from hylo_eval import evaluate
from hylo_eval.evaluation.conclusion import Interrupted
from tests.episodes import FunctionAgent, ScriptedEnv, benchmark, task


def make_run(root: Path, name: str, *, interrupt: bool = False) -> Path:
    """A run of four successes, or of two and an interrupt."""
    resets = iter(range(100))

    def on_reset():
        if interrupt and next(resets) == 2:
            raise KeyboardInterrupt

    bench = benchmark(task("a\x1b[31m"))
    env = lambda spec: ScriptedEnv(spec, success_at=(4,), on_reset=on_reset)  # noqa: E731
    with contextlib.suppress(Interrupted):
        evaluate(bench, "heldout", env_factory=env, agent=FunctionAgent(), run_root=root, run_id=name)
    return root / name


@pytest.fixture
def folder(tmp_path):
    """A whole run."""
    return make_run(tmp_path, "one")


def spoil(folder):
    """Change a number of the first trace."""
    path = min((folder / "episodes").iterdir())
    path.write_bytes(path.read_bytes().replace(b'"reward":0.5', b'"reward":0.75', 1))


def test_it_prints_the_scores_and_where_the_log_is(hylo, folder):
    """As a run does."""
    done = hylo("rescore", folder, "--scorer", "time_to_success", "--scorer", "reward_sum", "--name", "mine")
    assert done.code == 0, done.err
    assert "time_to_success  5 steps" in done.out
    assert f"log: {folder}/scores/mine.json" in done.out
    taken = hylo("rescore", folder, "--name", "mine")
    assert taken.code == 2
    assert "fix: --name mine-2" in taken.err


def test_json_is_all_there_is_on_standard_output(hylo, folder):
    """Every run with its own exit code."""
    done = hylo("rescore", folder, "--json", "--workers", "1")
    assert (done.code, done.json["exit_code"], done.json["name"]) == (0, 0, "rescore-1")
    (only,) = done.json["runs"]
    assert only["scores"]["success"]["mean"] == 1.0
    assert only["log"] == str(folder / "scores" / "rescore-1.json")
    assert (only["complete"], only["source"], only["modified"]) == (True, "evallog.json", {})


def test_a_modified_trace_ends_with_2_or_is_said(hylo, folder):
    """And what a trace holds reaches no terminal raw."""
    spoil(folder)
    refused = hylo("rescore", folder)
    assert refused.code == 2
    assert "1 trace is not the one that was recorded" in refused.err
    assert "--accept-modified" in refused.err
    accepted = hylo("rescore", folder, "--accept-modified")
    assert accepted.code == 0
    assert "warning: of 4 traces, 1 trace is not the one that was recorded" in accepted.out
    assert "\x1b" not in refused.err + accepted.out
    assert json.loads((folder / "scores" / "rescore-1.json").read_text())["results"]["n_modified"] == 1


def test_the_worst_of_several_runs_decides_and_the_good_ones_are_written(hylo, tmp_path):
    """A refused one 2, an interrupted one 3."""
    make_run(tmp_path, "one")
    make_run(tmp_path, "stopped", interrupt=True)
    done = hylo("rescore", tmp_path)
    assert done.code == 3
    assert "the run was stopped before its end: these are the episodes of evallog.partial.json" in done.out
    spoil(tmp_path / "one")
    done = hylo("rescore", tmp_path, "--json")
    assert done.code == 2
    assert [run["exit_code"] for run in done.json["runs"]] == [2, 3]
    assert (tmp_path / "stopped" / "scores" / "rescore-2.json").exists()


@pytest.mark.parametrize("arguments", [[], ["none"], [".", "--workers", "0"]])
def test_bad_input_ends_with_2(hylo, arguments):
    """No traceback."""
    done = hylo("rescore", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err
