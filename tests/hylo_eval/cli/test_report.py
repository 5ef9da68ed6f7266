"""``hylo-eval report``: one run, several runs, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hylo_eval import read_evallog
from hylo_eval.evaluation.comparing.ledger_files import read_ledger
from hylo_eval.traces.reader import read_trace
from tests.runs import edit_trace, keys, unfinish, unit, write_run

pytest.importorskip("jinja2")
pytest.importorskip("plotly")


@pytest.fixture
def report(hylo: Any, tmp_path: Path) -> Any:
    """Runs ``a`` (seeds 0 and 1 succeed) and ``b`` (seed 0), and one of another benchmark."""
    write_run(tmp_path, "a", keys(0, 1), bench=unit(4))
    write_run(tmp_path, "b", keys(0), bench=unit(4))
    write_run(tmp_path, "c", bench=unit(4, "unit/other"))
    page = tmp_path / "report.html"
    return lambda *arguments: hylo("report", *arguments, "-o", page, "--run-root", tmp_path)


def test_it_writes_a_page_and_says_where(report: Any, tmp_path: Path) -> None:
    """And writes it again: it is derived."""
    for _ in range(2):
        done = report("a")
        assert done.code == 0, done.err
        assert done.out.startswith(f"report: {tmp_path / 'report.html'} (")
    assert (tmp_path / "report.html").read_text().count("<title>a on unit</title>") == 1


def test_two_runs_are_compared_and_their_discordant_pairs_listed(report: Any, tmp_path: Path) -> None:
    """Seed 1 alone was won, and the two part at step 1 by success."""
    assert report("a", "b").code == 0
    page = " ".join((tmp_path / "report.html").read_text().split())
    assert "4: 1 win, 0 losses, 3 ties" in page
    assert "Discordant pairs (1)" in page
    assert '<a href="#pair=1,1,1">unit/task#1</a></td><td>a</td><td>step 1: success</td>' in page


@pytest.mark.parametrize(
    ("wins", "losses", "words"),
    [
        (4, 0, "no difference is shown (4 wins to 0, p = 0.0625)"),
        (5, 0, "the candidate is better (5 wins to 0, p = 0.0312)"),
        (0, 5, "the candidate is worse (0 wins to 5, p = 0.0312)"),
        (0, 0, "no difference is shown (0 wins to 0, p = 1)"),
    ],
)
def test_the_headline_follows_the_exact_test(hylo: Any, tmp_path: Path, wins: int, losses: int, words: str) -> None:
    """As the gate and ``compare`` do; the interval alone calls four wins to none of twenty a difference."""
    write_run(tmp_path, "a", keys(*range(wins)), bench=unit(20))
    write_run(tmp_path, "b", keys(*range(losses)), bench=unit(20))
    done = hylo("report", "a", "b", "-o", tmp_path / "page.html", "--run-root", tmp_path)
    assert done.code == 0, done.err
    assert words in " ".join((tmp_path / "page.html").read_text().split())


def test_a_comparison_on_a_page_is_a_look(report: Any, tmp_path: Path) -> None:
    """It is on record for the next gate; a page of one run shows no test, nor one of runs that go on."""
    report("a")
    assert not (tmp_path / "comparisons").exists()
    report("a", "b")
    [look] = read_ledger(tmp_path).looks
    assert (look.kind, [run.run_id for run in look.runs]) == ("compare", ["a", "b"])
    unfinish(tmp_path / "b", 2)
    assert report("a", "b").code == 0
    assert "McNemar" not in (tmp_path / "report.html").read_text()
    assert len(read_ledger(tmp_path).looks) == 1


def test_runs_that_are_not_comparable_are_shown_without_a_test(report: Any, tmp_path: Path) -> None:
    """The reasons stand where the test would."""
    assert report("a", "c").code == 0
    page = (tmp_path / "report.html").read_text()
    assert "These runs are not comparable" in page
    assert "McNemar" not in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a", "a"), "named twice"),
        (("a", "--allow", "state"), "changes nothing for one run"),
        (("missing",), "no run 'missing'"),
        (("a", "--max-size", "1"), "more than 1"),
        (("a", "b", "c", "d", "e", "f"), "5 are the most"),
    ],
)
def test_what_is_refused(report: Any, arguments: tuple[str, ...], words: str) -> None:
    """With 2 and a sentence."""
    done = report(*arguments)
    assert done.code == 2
    assert words in done.err


def test_a_page_is_html(hylo: Any, report: Any, tmp_path: Path) -> None:
    """Another kind of file is refused."""
    done = hylo("report", "a", "-o", tmp_path / "report.pdf", "--run-root", tmp_path)
    assert done.code == 2
    assert "report.pdf" in done.err


def test_a_trace_that_was_changed_is_named_and_not_believed(report: Any, tmp_path: Path) -> None:
    """Before everything else on the page, on the terminal, with the digests; the headline is of the others alone."""
    path = edit_trace(tmp_path / "a", "unit/task#0", lambda text: text.replace('"success":true', '"success":false'))
    recorded = {sample.key: sample.trace_sha256 for sample in read_evallog(tmp_path / "a" / "evallog.json").samples}
    there = read_trace(path, digests="trace").trace_sha256
    done = report("a")
    assert done.code == 0
    page = (tmp_path / "report.html").read_text()
    digests = f"unit/task#0: {recorded['unit/task#0']} is on record as its digest, the file has {there}."
    for text in (page, done.err):
        assert "a: 1 trace is not the one that was recorded. What was changed is not believed" in text
        assert digests in text
    assert page.index(digests) < page.index('class="headlines"')
    assert "3 of 4 episodes scored" in page
    assert '<div class="rate">33.3 %' in page
