"""``hylo-eval index``, ``ls`` and ``show``: what they print, how they end."""

import json
import os
import re

import pytest

from hylo_eval.evallog.files import read_evallog
from hylo_eval.report.page_content import make_facts
from hylo_eval.report.run_record import read_run
from hylo_eval.report.run_summary import summarise_run
from hylo_eval.scoring.counts import Steps
from hylo_eval.scoring.latency import LatencyP95
from tests.episodes import benchmark, task
from tests.runs import edit_json, keys, unit, write_run

HOSTILE = "a\x1b[31m'; drop table runs; --"


@pytest.fixture
def root(tmp_path):
    """A good run, a run of a hostile agent, and a broken one."""
    write_run(
        tmp_path, "good", keys(0, 1), agent_errors=(2,), bench=unit(3), manifest={"name": "policy", "version": "7"}
    )
    write_run(tmp_path, "hostile", bench=benchmark(task(HOSTILE), seeds=(0,)), manifest={"name": HOSTILE})
    write_run(tmp_path, "broken", bench=unit(1))
    (tmp_path / "broken" / "evallog.json").write_text('{"version": "hylo.evallog/v9"}')
    for name, day in (("good", 1), ("hostile", 2), ("broken", 3)):
        edit_json(
            tmp_path / name / "manifest.json",
            lambda manifest, day=day: manifest.update(created_at=f"2026-01-0{day}T10:00:00+00:00"),
        )
    return tmp_path


def listed(hylo, root, *options):
    """The run ids that ``ls`` lists."""
    done = hylo("ls", "--run-root", root, "--json", *options)
    assert done.code == 0, done.err
    return [row["run_id"] for row in done.json]


def test_index_says_how_many_runs_and_how_many_are_broken(hylo, root):
    """In words and as JSON."""
    done = hylo("index", "--run-root", root)
    assert done.code == 0
    assert done.out == f"{root}/index.db: 3 runs, 1 of them broken (hylo-eval ls --status broken)\n"
    again = hylo("index", "--run-root", root, "--rebuild", "--json")
    assert again.json == {
        "index": f"{root}/index.db",
        "n_runs": 3,
        "n_read": 0,
        "n_removed": 0,
        "n_broken": 1,
        "n_comparisons": 0,
    }


def test_ls_lists_runs_newest_first_with_their_scores(hylo, root):
    """A broken one with what is wrong, and nothing raw from a file."""
    done = hylo("ls", "--run-root", root)
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", "broken", "hostile", "good"]
    assert "success 100.0 %" in lines[3]
    assert "2/3" in lines[3]
    assert "is of schema 'hylo.evallog/v9', which this release cannot read" in lines[1]
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["broken", "hostile", "good"]),
        (("--status", "broken"), ["broken"]),
        (("--status", "partial"), []),
        (("--agent", "policy"), ["good"]),
        (("--agent", "pol*"), ["good"]),
        (("--agent", "pol"), []),
        (("--agent", HOSTILE), ["hostile"]),
        (("--benchmark", "unit", "--since", "2026-01-02"), ["broken", "hostile"]),
        (("--until", "2026-01-02"), ["hostile", "good"]),
        (("--since", "2026-01-02T10:00", "--until", "2026-01-02 10:00"), ["hostile"]),
        (("--benchmark", "' or 1=1 --"), []),
    ],
)
def test_ls_filters(hylo, root, options, expected):
    """By benchmark, agent, status and date."""
    assert listed(hylo, root, *options) == expected


@pytest.mark.parametrize("arguments", [("--since", "yesterday"), ("--status", "good"), ("--run-root", "none")])
def test_bad_filters_end_with_2(hylo, root, arguments):
    """One sentence each."""
    done = hylo("ls", "--run-root", root, *arguments)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err


def test_show_a_run(hylo, root):
    """By id and by folder; scores with intervals, abstentions, outcomes."""
    done = hylo("show", "good", "--run-root", root)
    assert done.code == 0
    assert done.out.startswith("run good: complete\nunit 1 (heldout), agent policy 7\n")
    assert "2/3" in done.out
    assert "1 agent_error" in done.out
    assert "outcomes: 1 agent_error, 2 completed" in done.out
    assert hylo("show", root / "good").out == done.out
    document = hylo("show", root / "good", "--json").json
    assert (document["status"], document["problem"]) == ("complete", "")
    assert document["log"]["results"]["overall"]["success"]["mean"] == 1.0


def test_show_a_broken_run_says_what_is_wrong(hylo, root):
    """And is no error: it was asked for."""
    done = hylo("show", "broken", "--run-root", root)
    assert done.code == 0
    assert done.out.startswith("run broken: broken\nproblem: evallog.json: version: is of schema")
    hostile = hylo("show", "hostile", "--run-root", root)
    assert hostile.code == 0
    assert "\x1b" not in hostile.out


def test_show_of_a_folder_without_anything_of_a_run_is_refused(hylo, tmp_path, monkeypatch):
    """2, and what is not there; a pipe of that name is no such file, and is not waited for."""
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "piped", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "empty" / "episodes").mkdir()
    for name in ("manifest.json", "queue.db", "evallog.json"):
        os.mkfifo(tmp_path / "piped" / name)
    neither = "is no run folder: it holds neither manifest.json nor queue.db"
    for name in ("plain", "empty", "piped"):
        for command in (("show", name), ("show", name, "--json"), ("status", name)):
            done = hylo(*command)
            assert (done.code, done.out) == (2, "")
            assert neither in done.err
            odd = "as files: manifest.json and queue.db there is a folder, a pipe, a socket or a device"
            assert (odd in done.err) == (name == "piped")


@pytest.mark.parametrize("left", ["episodes/a.1.jsonl", "episodes/a.1.jsonl.partial", "queue.db", "evallog.json"])
def test_what_is_left_of_a_run_is_shown(hylo, tmp_path, left):
    """Its manifest was lost: that is its problem, and the rest may be what somebody looks for."""
    (tmp_path / "run" / "episodes").mkdir(parents=True)
    (tmp_path / "run" / left).write_text("{}")
    done = hylo("show", tmp_path / "run")
    assert (done.code, "there is no manifest.json" in done.out) == (0, True)


def test_show_an_episode(hylo, root):
    """By instance key, by episode id, by trace file; an agent error with its message."""
    by_key = hylo("show", "unit/task#2", "--run-root", root)
    assert by_key.code == 0, by_key.err
    assert "status: agent_error" in by_key.out
    assert "errors: act: ValueError: no such instruction" in by_key.out
    sample = hylo("show", "unit/task#2", "--run-root", root, "--json").json["sample"]
    assert hylo("show", sample["episode_id"], "--run-root", root).out == by_key.out
    by_path = hylo("show", root / "good" / sample["trace"])
    assert by_path.out == by_key.out


def test_an_episode_of_several_runs_has_to_be_told_apart(hylo, root):
    """With the runs that have it."""
    write_run(root, "twin", bench=unit(3))
    done = hylo("show", "unit/task#1", "--run-root", root)
    assert done.code == 2
    assert "2 runs have the episode 'unit/task#1'" in done.err
    assert hylo("show", "unit/task#1", "--run", "twin", "--run-root", root).code == 0
    assert "has no episode 'x'" in hylo("show", "x", "--run", "twin", "--run-root", root).err


def test_a_trace_that_is_not_the_recorded_one_is_said(hylo, root):
    """Changed, cut off, or gone."""
    path = root / "good" / json.loads((root / "good" / "evallog.json").read_text())["samples"][0]["trace"]
    path.write_bytes(path.read_bytes().replace(b'"reward":0.5', b'"reward":0.9', 1))
    assert (
        "problem: the trace is not the one that the log records" in hylo("show", "unit/task#0", "--run-root", root).out
    )
    path.unlink()
    gone = hylo("show", "unit/task#0", "--run-root", root)
    assert gone.code == 0
    assert "problem: there is no such trace" in gone.out


def test_what_is_not_there_suggests_what_is(hylo, root):
    """With exit code 2."""
    done = hylo("show", "god", "--run-root", root)
    assert done.code == 2
    assert "there is no run, episode or comparison 'god'" in done.err
    assert "did you mean 'good'" in done.err
    assert hylo("show", "x\0y", "--run-root", root).code == 2


def test_a_mistyped_key_suggests_keys(hylo, root):
    """In the whole root, and in one run."""
    assert "did you mean 'unit/task#1'" in hylo("show", "unit/tsk#1", "--run-root", root).err
    assert "did you mean 'unit/task#1'" in hylo("show", "unit/tsk#1", "--run", "good", "--run-root", root).err


@pytest.fixture
def judged(hylo, tmp_path):
    """Two runs that a gate has let pass, one that it refused for another benchmark, and a record that is torn."""
    bench = unit(20)
    write_run(tmp_path, "new", keys(*range(20)), bench=bench)
    write_run(tmp_path, "old", keys(*range(4)), bench=bench)
    write_run(tmp_path, "other", bench=unit(3))
    assert hylo("gate", "new", "old", "--mode", "improve", "--run-root", tmp_path).code == 0
    assert hylo("gate", "new", "other", "--mode", "improve", "--run-root", tmp_path).code == 2
    (tmp_path / "comparisons" / "99999999T000000-gate-0.json").write_text("{")
    return tmp_path


def test_ls_lists_comparisons_with_their_verdicts(hylo, judged):
    """Newest first; a refusal names its runs too, and a record that cannot be read says why."""
    rows = hylo("ls", "--comparisons", "--run-root", judged, "--json").json
    assert {(row["verdict"], tuple(run["run_id"] for run in row["runs"])) for row in rows} == {
        ("pass", ("new", "old")),
        ("refused", ("new", "other")),
        ("", ()),
    }
    (passed,) = (row for row in rows if row["verdict"] == "pass")
    assert passed["mode"] == "improve"
    assert (passed["kind"], passed["n_pairs"], passed["exit_code"]) == ("gate", 20, 0)
    assert passed["p_value"] == pytest.approx(2.0**-16)
    done = hylo("ls", "--comparisons", "--run-root", judged)
    assert done.out.splitlines()[0].split() == [
        *("comparison", "made", "kind", "mode", "verdict", "runs", "benchmark", "why")
    ]
    assert "is not JSON" in done.out
    assert hylo("ls", "--comparisons", "--agent", "old", "--run-root", judged, "--json").json == [passed]
    assert hylo("ls", "--comparisons", "--benchmark", "none", "--run-root", judged).out.startswith("no such comparison")
    assert hylo("ls", "--comparisons", "--status", "complete", "--run-root", judged).code == 2
    assert hylo("index", "--run-root", judged).out.endswith("3 runs, 3 comparisons\n")


def test_show_finds_a_comparison_by_its_id_and_a_run_names_those_it_was_in(hylo, judged):
    """And a record that is gone is gone from the index."""
    rows = hylo("ls", "--comparisons", "--run-root", judged, "--json").json
    identity = next(row["id"] for row in rows if row["verdict"] == "pass")
    done = hylo("show", identity, "--run-root", judged)
    assert done.code == 0, done.err
    assert f"gate {identity}: pass\ncandidate: new, agent new 1\nparent: old, agent old 1\n" in done.out
    assert "success on unit (heldout), 20 pairs, p = 1.526e-05" in done.out
    assert hylo("show", judged / "comparisons" / f"{identity}.json").out == done.out.replace("\\", "")
    assert hylo("show", identity, "--run-root", judged, "--json").json["id"] == identity
    assert "\nrule: improve: Metric: success, where 1 is a success. " in done.out
    assert f"gate {identity} as candidate against old: pass\n" in hylo("show", "new", "--run-root", judged).out
    assert f"gate {identity} as parent of new: pass\n" in hylo("show", "old", "--run-root", judged).out
    assert hylo("show", "old", "--run-root", judged, "--json").json["comparisons"] == [identity]
    torn = hylo("show", "99999999T000000-gate-0", "--run-root", judged)
    assert (torn.code, torn.out) == (2, "")
    (judged / "comparisons" / f"{identity}.json").unlink()
    left = [row["id"] for row in hylo("ls", "--comparisons", "--run-root", judged, "--json").json]
    assert len(left) == 2
    assert identity not in left
    assert f"did you mean '{left[0]}'" in hylo("show", left[0][:-1], "--run-root", judged).err


def test_show_says_why_episodes_failed_and_how_often(hylo, tmp_path):
    """The commonest texts first, on one bounded line each; also where nothing was scored."""
    write_run(tmp_path, "gone", bench=unit(3), broken=keys(0, 1, 2))
    done = hylo("show", "gone", "--run-root", tmp_path)
    assert "error in 3 episodes: RuntimeError: no display\n" in done.out
    (error,) = hylo("show", "gone", "--run-root", tmp_path, "--json").json["errors"]
    assert error == {"text": "RuntimeError: no display", "episodes": 3}


def test_errors_of_a_hostile_log_are_bounded_and_harmless(hylo, tmp_path):
    """Many texts, long ones, of several lines, with control characters."""
    run = write_run(tmp_path, "gone", bench=unit(6), broken=keys(*range(6))).run
    texts = iter(["a\x1b[31m\nb" + "x" * 100_000, *"cdefg"])
    edit_json(
        run.evallog,
        lambda log: [sample["scores"]["success"].update(explanation=next(texts)) for sample in log["samples"]],
    )
    lines = [line for line in hylo("show", "gone", "--run-root", tmp_path).out.splitlines() if "error in 1" in line]
    assert len(lines) == 3
    assert max(map(len, lines)) < 400
    assert "\x1b" not in "".join(lines)


def test_show_of_a_partial_run_says_what_is_planned_and_what_finishes_it(hylo, tmp_path):
    """A whole one lacks nothing and says neither."""
    run = write_run(tmp_path, "half", bench=unit(3)).run
    whole = hylo("show", "half", "--run-root", tmp_path).out
    assert "planned" not in whole
    run.evallog.rename(run.partial_evallog)
    done = hylo("show", "half", "--run-root", tmp_path).out
    assert "planned: 3 episodes, 3 of them in the log\n" in done
    assert f"to finish it: hylo-eval run --resume half --run-root {tmp_path}" in done.replace("\n", " ").replace(
        "  ", ""
    )
    document = hylo("show", "half", "--run-root", tmp_path, "--json").json
    assert (document["planned"], document["to_finish"]) == (3, f"hylo-eval run --resume half --run-root {tmp_path}")


def test_repetitions_of_a_pair_are_no_single_pair(hylo, tmp_path):
    """Listed as how many they are; every run of them names the record."""
    for name, won in (("new-r1", keys(*range(6))), ("new-r2", keys(*range(6))), ("old-r1", ()), ("old-r2", ())):
        write_run(tmp_path, name, won, bench=unit(6), manifest={"name": name[:3], "version": "1"})
    done = hylo("gate", "new", "old", "--replicates", 2, "--mode", "improve", "--run-root", tmp_path)
    assert done.code in (0, 1, 3), done.err
    (row,) = hylo("ls", "--comparisons", "--run-root", tmp_path, "--json").json
    assert [run["run_id"] for run in row["runs"]] == ["new-r1", "old-r1", "new-r2", "old-r2"]
    assert "new-r1, old-r1; 2 repetitions of the pair" in " ".join(
        hylo("ls", "--comparisons", "--run-root", tmp_path).out.split()
    )
    assert hylo("show", "old-r2", "--run-root", tmp_path, "--json").json["comparisons"] == [row["id"]]


def test_show_names_the_settings_of_the_agents_of_a_gate(hylo, tmp_path):
    """Two settings of one agent are told apart by nothing else."""
    for run_id, noise in (("new", 0.1), ("old", 0.4)):
        agent = {"name": "arm", "version": "1", "components": {"noise": noise}}
        write_run(tmp_path, run_id, bench=unit(3), manifest=agent)
    hylo("gate", "new", "old", "--mode", "noninferior", "--margin", "0.2", "--run-root", tmp_path)
    (row,) = hylo("ls", "--comparisons", "--run-root", tmp_path, "--json").json
    shown = hylo("show", row["id"], "--run-root", tmp_path).out
    assert "candidate: new, agent arm 1 (noise=0.1)\nparent: old, agent arm 1 (noise=0.4)\n" in shown
    assert "rule: noninferior, margin 20 points: " in shown


def test_a_whole_run_without_a_number_says_so(hylo, tmp_path):
    """Its status stays: every episode has its outcome."""
    write_run(tmp_path, "none", bench=unit(2), agent_errors=(0, 1))
    write_run(tmp_path, "some", bench=unit(2), agent_errors=(0,))
    rows = {row["run_id"]: row for row in hylo("ls", "--run-root", tmp_path, "--json").json}
    said = "nothing was scored: 0 of 2"
    assert (rows["none"]["status"], rows["none"]["problem"]) == ("complete", said)
    assert rows["some"]["problem"] == ""
    assert hylo("show", "none", "--run-root", tmp_path).out.startswith(f"run none: complete\nproblem: {said}\n")
    assert "problem" not in hylo("show", "some", "--run-root", tmp_path).out


def test_a_mean_in_the_list_has_the_unit_of_its_scorer(hylo, tmp_path):
    """Where a duration is what a run was scored by first; counts have none."""
    run = write_run(tmp_path, "slow", bench=unit(1), scorers=[LatencyP95(), Steps()]).run
    mean = read_evallog(run.evallog).results.overall["latency_p95"].mean
    write_run(tmp_path, "long", bench=unit(1), scorers=[Steps()])
    listed = hylo("ls", "--run-root", tmp_path).out
    assert f"latency_p95 {1000 * mean:.4g} ms " in listed
    assert re.search(r"steps \d+  ", listed)
    facts = dict(make_facts([summarise_run(read_run(run))]))
    assert facts["score latency_p95"] == (f"{1000 * mean:.4g} ms (mean of 1 of 1 in the log)",)
