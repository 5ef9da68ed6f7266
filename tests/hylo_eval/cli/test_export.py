"""``hylo-eval export`` and ``import``, and the chain from a run to a comparison."""

import json

import pytest

from hylo_eval import read_evallog
from hylo_eval.evallog import v01
from tests.runs import keys, write_run

FORMS = ("evallog-v0.1", "inspect-robots", "csv", "parquet", "junit", "lerobot")


@pytest.fixture
def root(tmp_path):
    """Two agents on the same ten instances; one abstention."""
    write_run(tmp_path, "new", keys(0, 1, 2, 3, 4, 5), agent_errors=(9,))
    write_run(tmp_path, "old", keys(0, 1, 7))
    return tmp_path


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_written_once(hylo, root, tmp_path, form):
    """A second time it is refused, and what is there stays."""
    if form in ("parquet", "lerobot"):
        pytest.importorskip("pyarrow")
    rate = ("--fps", "20") if form == "lerobot" else ()
    done = hylo("export", "new", "--to", form, "-o", tmp_path / "out", "--run-root", root, *rate)
    assert done.code == 0, done.err
    assert "9 episodes" in done.out if form == "lerobot" else "10 episodes" in done.out
    again = hylo("export", root / "new", "--to", form, "-o", tmp_path / "out", *rate)
    assert again.code == 2
    assert "exists already; nothing is written over" in again.err


def test_a_lerobot_export_without_pictures_says_so(hylo, root, tmp_path):
    """And what it left out."""
    pytest.importorskip("pyarrow")
    done = hylo("export", root / "new", "--to", "lerobot", "-o", tmp_path / "out", "--fps", "20")
    assert "numbers only, no pictures: no video was recorded of every episode" in done.out
    assert "left out: 1 episode: it ended as agent_error" in done.out


def test_the_flat_form_is_v01(hylo, root, tmp_path):
    """For tools that know it; a run that holds it reads as before."""
    assert hylo("export", root / "new", "--to", "evallog-v0.1", "-o", tmp_path / "flat.json").code == 0
    assert json.loads((tmp_path / "flat.json").read_text())["version"] == "hylo.evallog/v0.1"
    assert v01.read_evallog(tmp_path / "flat.json") == v01.read_evallog(root / "new" / "evallog.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none", "--to", "csv"), "there is no run 'none'"),
        (("new", "--to", "csv", "--scoring", "none"), "has no scoring 'none'"),
        (("new", "--to", "csv", "--scoring", "../evallog"), "is no name of a scoring"),
        (("new", "--to", "csv", "--fps", "20"), "--fps is the positive rate of a lerobot dataset"),
        (("new", "--to", "lerobot", "--fps", "0"), "--fps is the positive rate of a lerobot dataset"),
        (("new", "--to", "lerobot"), "does not declare its control rate"),
        (("new", "--to", "pickle"), "pickle"),
    ],
)
def test_bad_requests_end_with_2(hylo, root, tmp_path, arguments, message):
    """And write nothing."""
    done = hylo("export", *arguments, "-o", tmp_path / "out", "--run-root", root)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "out").exists()


def comparison(hylo, root, *options):
    """The numbers of a comparison, without what names the runs."""
    done = hylo("compare", *options, "--run-root", root, "--json")
    assert done.code == 0, done.err
    return {
        name: value
        for name, value in done.json.items()
        if name not in ("id", "created_at", "candidate", "parent", "evidence", "notes")
    }


def test_run_rescore_export_import_compare_say_the_same_numbers(hylo, root, tmp_path):
    """At each end: the log of the run, of its re-scoring, of what came back, and the comparison of each."""
    before = comparison(hylo, root, "new", "old", "--log-only")
    for name in ("new", "old"):
        assert hylo("rescore", root / name, "--name", "again", "--workers", "1").code == 0
        out = tmp_path / f"{name}.json"
        assert hylo("export", root / name, "--scoring", "again", "--to", "inspect-robots", "-o", out).code == 0
        done = hylo("import", out, "--from", "inspect-robots", "--run-root", root)
        assert done.code == 0, done.err
        assert f"run: {root}/{name}-imported" in done.out
        original = read_evallog(root / name / "evallog.json")
        assert read_evallog(root / name / "scores" / "again.json") == original
        assert read_evallog(root / f"{name}-imported" / "evallog.json") == original
    after = comparison(hylo, root, "new-imported", "old-imported")
    assert after == before
    assert comparison(hylo, root, "new-imported", "old") == before
    text = hylo("compare", "new-imported", "old-imported", "--run-root", root).out
    assert "not read (log only)" in text
    listed = {row["run_id"]: row["mean"] for row in hylo("ls", "--run-root", root, "--json").json}
    assert listed == {"new": 6 / 9, "old": 0.3, "new-imported": 6 / 9, "old-imported": 0.3}


def test_a_gate_believes_an_imported_log_only_when_it_is_asked_to(hylo, root, tmp_path):
    """A log without traces proves nothing by itself."""
    assert hylo("export", root / "new", "--to", "inspect-robots", "-o", tmp_path / "x.json").code == 0
    assert (
        hylo("import", tmp_path / "x.json", "--from", "inspect-robots", "--run-root", root, "--run-id", "i").code == 0
    )
    refused = hylo("gate", "i", "old", "--mode", "improve", "--run-root", root)
    assert refused.code == 2
    assert "was imported: there are no traces to check its log by" in refused.err
    assert refused.err.rstrip().endswith("--log-only")
    assert hylo("gate", "i", "old", "--mode", "improve", "--run-root", root, "--log-only").code in (0, 1, 3)


def test_logs_of_others_can_be_listed_shown_and_compared(hylo, tmp_path):
    """Two policies on the same scenes."""
    from tests.hylo_eval.exchange.test_inspect_robots import FOREIGN

    for name in ("one", "two"):
        document = json.loads(json.dumps(FOREIGN))
        document["eval"]["policy"] = name
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        done = hylo("import", tmp_path / f"{name}.json", "--from", "inspect-robots", "--run-root", tmp_path / "runs")
        assert done.code == 0, done.err
        assert "3 episodes; it has no traces, so comparisons believe its log" in done.out
    done = hylo(
        "compare", "one-imported", "two-imported", "--run-root", tmp_path / "runs", "--metric", "success_at_end"
    )
    assert done.code == 0, done.err
    assert "not read (log only)" in done.out
    assert hylo("show", "one-imported", "--run-root", tmp_path / "runs").code == 0
    again = hylo("import", tmp_path / "one.json", "--from", "inspect-robots", "--run-root", tmp_path / "runs")
    assert again.code == 2
    assert "there is a run 'one-imported'" in again.err
