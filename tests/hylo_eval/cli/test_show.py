"""``hylo-eval show`` of a question: what was answered, and what is true."""

import json

import pytest

from hylo_eval.benchmarks import find_benchmark
from hylo_eval.evallog.files import read_evallog
from tests.episodes import benchmark, task
from tests.hylo_eval.report.conftest import write_answered_run
from tests.runs import unit, write_run

TASK = find_benchmark("response_tabletop").tasks[0]


def test_a_question_is_shown_with_reply_truth_and_picture(hylo, tmp_path):
    """On one line each, without what moves a cursor; why it was scored so stands below."""
    write_answered_run(tmp_path, "run", "seven\n\x1b[31m")
    done = hylo("show", f"{TASK.id}#0", "--run", "run", "--run-root", tmp_path)
    assert done.code == 0
    lines = done.out.splitlines()
    assert "reply: seven\\n\\x1b[31m" in lines
    (truth,) = (line for line in lines if line.startswith("truth: "))
    assert json.loads(truth.removeprefix("truth: "))["answer"] == TASK.params["truth"]["answer"]
    assert f"pictures: image: {TASK.params['picture_digest']}" in lines
    assert lines.index(truth) < next(place for place, line in enumerate(lines) if line.startswith("score "))


def test_a_question_as_json(hylo, tmp_path):
    """The reply as it was given."""
    write_answered_run(tmp_path, "run", "seven\n\x1b[31m")
    question = hylo("show", f"{TASK.id}#0", "--run", "run", "--run-root", tmp_path, "--json").json["question"]
    assert question["reply"] == "seven\n\x1b[31m"
    assert json.loads(question["truth"])["answer"] == TASK.params["truth"]["answer"]
    assert question["pictures"] == [f"image: {TASK.params['picture_digest']}"]


@pytest.mark.parametrize(("reply", "said"), [("", "reply: empty"), (3, "reply: none")])
def test_no_text_is_told_from_no_reply(hylo, tmp_path, reply, said):
    """An empty text is an answer, if a poor one; what is no text never reached the environment."""
    write_answered_run(tmp_path, "run", reply)
    assert said in hylo("show", f"{TASK.id}#0", "--run", "run", "--run-root", tmp_path).out.splitlines()


def test_an_episode_of_numbers_says_nothing_of_replies_in_text(hylo, tmp_path):
    """Nothing was asked."""
    write_run(tmp_path, "run", bench=unit(1))
    assert hylo("show", "unit/task#0", "--run", "run", "--run-root", tmp_path, "--json").json["question"] is None
    assert "reply:" not in hylo("show", "unit/task#0", "--run", "run", "--run-root", tmp_path).out


def test_tasks_of_one_episode_are_shown_by_tag_and_failures_named(hylo, tmp_path):
    """An interval of one episode says nothing; which failed does. With more episodes, tasks have their rows."""
    names = [f"unit/{kind}_{number}" for kind in ("pick", "push") for number in (1, 2, 3)]
    specs = [task(name, tags=(name[5:9],)) for name in names]
    won = {f"{name}#0" for name in names[:4]}
    write_run(tmp_path, "few", won, bench=benchmark(*specs, seeds=(0,)))
    write_run(tmp_path, "many", won, bench=benchmark(*specs, seeds=(0, 1, 2)))
    few = hylo("show", "few", "--run-root", tmp_path).out.splitlines()
    assert any(line.startswith("tag ") for line in few)
    assert [line.split()[:3] for line in few if line.startswith(("pick", "push"))] == [
        ["pick", "success", "100.0"],
        ["push", "success", "33.3"],
    ]
    assert "2 failed: push_2, push_3" in few
    many = hylo("show", "many", "--run-root", tmp_path).out
    assert "failed:" not in many
    assert all(name in many for name in names)


def test_a_score_of_an_episode_has_the_unit_of_its_scorer(hylo, tmp_path):
    """A latency of 0.01 is no hundredth of a second where it is one of a millisecond."""
    run = write_run(tmp_path, "run", bench=unit(1)).run
    (sample,) = read_evallog(run.evallog).samples
    seconds = sample.scores["latency_p95"].value
    lines = hylo("show", "unit/task#0", "--run-root", tmp_path).out.splitlines()
    (latency,) = (line for line in lines if line.startswith("latency_p95"))
    assert latency.split()[1:3] == [f"{1000 * seconds:.4g}", "ms"]
    (steps,) = (line for line in lines if line.startswith("steps "))
    assert steps.split()[1:] == [f"{sample.scores['steps'].value:g}"]
