"""Grading a finished run: resumable, bounded, and never a number where there is none."""

from __future__ import annotations

import errno
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hylo_core import GradeEvent
from hylo_eval import EvalError, read_trace
from hylo_eval.evaluation.grade_run import GradeState, Grading, GradingInterrupted, count_episodes, grade_run
from hylo_eval.evaluation.rescore import rescore
from hylo_eval.evaluation.rescore_plan import plan_rescoring
from hylo_eval.grading.protocol import NoJudgement
from hylo_eval.traces.grades import append_grade, check_grades
from hylo_eval.traces.layout import RunFolder
from tests.graded import SayingGrader
from tests.runs import edit_trace, keys, unfinish, unit, write_run


def run_of(root: Path, count: int = 6, **options: Any) -> RunFolder:
    """A run of so many episodes."""
    return write_run(root, "run", bench=unit(count), **options).run


def bytes_of(run: RunFolder) -> dict[str, bytes]:
    """Every trace, whole."""
    return {path.name: path.read_bytes() for path in sorted(run.episodes.glob("*.jsonl"))}


def grades_of(run: RunFolder) -> dict[int, list[GradeEvent]]:
    """The grades of each seed; their chains hold."""
    traces = sorted(run.episodes.glob("*.jsonl"))
    return {read_trace(path).instance.seed: list(check_grades(path)) for path in traces}


def test_each_episode_gets_one_grade_and_stays_what_it_was(tmp_path: Path) -> None:
    """The grade follows the end event; the rollout's digests do not change."""
    run = run_of(tmp_path)
    before = bytes_of(run)
    grading = grade_run(run, SayingGrader(lambda seed: seed / 10))
    assert grading.counts == {GradeState.GRADED: 6}
    assert (grading.summary.mean, grading.summary.n_scored) == (0.25, 6)
    assert (grading.complete, grading.exit_code) == (True, 0)
    assert {seed: [event.value for event in events] for seed, events in grades_of(run).items()} == {
        seed: [seed / 10] for seed in range(6)
    }
    for name, data in bytes_of(run).items():
        assert data.startswith(before[name])
        assert data.count(b"\n") == before[name].count(b"\n") + 1


@pytest.mark.parametrize("workers", [1, 4])
def test_grading_twice_changes_nothing(tmp_path: Path, workers: int) -> None:
    """Nobody is asked again, no byte changes, and the result is the same."""
    run = run_of(tmp_path)
    first = grade_run(run, SayingGrader(parallel=True), workers=workers)
    before = bytes_of(run)
    again = SayingGrader(parallel=True)
    second = grade_run(run, again, workers=workers)
    assert (again.asked, bytes_of(run)) == ([], before)
    assert second.counts == {GradeState.ALREADY: 6}
    assert (second.summary, second.exit_code) == (first.summary, 0)


def test_another_digest_or_again_grades_anew(tmp_path: Path) -> None:
    """The later grade counts; the earlier stays in the trace."""
    run = run_of(tmp_path, 2)
    grade_run(run, SayingGrader(lambda seed: 0.0))
    assert grade_run(run, SayingGrader(lambda seed: 0.5, digest="sha256:2")).summary.mean == 0.5
    assert grade_run(run, SayingGrader(lambda seed: 0.75), again=True).summary.mean == 0.75
    assert [event.value for event in grades_of(run)[1]] == [0.0, 0.5, 0.75]
    assert grade_run(run, SayingGrader(name="other")).summary.mean == 1.0


@pytest.mark.parametrize("workers", [1, 4])
def test_a_judge_that_dies_in_the_middle_leaves_what_it_gave(tmp_path: Path, workers: int) -> None:
    """At episode 40 of 100: 39 grades, 61 abstentions with reasons, and a mean over 39 that says so."""
    run = run_of(tmp_path, 100)
    lock, asked = threading.Lock(), iter(range(1, 101))

    def dying(_: int) -> float:
        with lock:
            if next(asked) >= 40:
                raise ConnectionError("the judge is gone")
        return 0.5

    grading = grade_run(run, SayingGrader(dying, parallel=True), workers=workers)
    assert grading.counts == {GradeState.GRADED: 39, GradeState.FAILED: 61}
    summary = grading.summary
    assert (summary.mean, summary.n_scored, summary.n_attempted) == (0.5, 39, 100)
    assert summary.abstained == {"infra": 61}
    assert {episode.reason for episode in grading.episodes if episode.state is GradeState.FAILED} == {
        "the grader raised ConnectionError: the judge is gone"
    }
    assert (grading.complete, grading.exit_code) == (False, 3)
    grades = list(grades_of(run).values())
    assert Counter(len(events) for events in grades) == {1: 100}
    assert Counter(bool(events[0].error) for events in grades) == {False: 39, True: 61}
    assert all(events[0].value is None for events in grades if events[0].error)


def test_what_failed_is_tried_again_and_the_same_failure_is_written_once(tmp_path: Path) -> None:
    """A judge that is still gone changes no byte; one that is back grades the rest."""
    run = run_of(tmp_path, 4)

    def gone(seed: int) -> float:
        if seed < 2:
            raise ConnectionError("gone")
        return 1.0

    grade_run(run, SayingGrader(gone))
    before = bytes_of(run)
    still = SayingGrader(gone)
    assert grade_run(run, still).counts == {GradeState.FAILED: 2, GradeState.ALREADY: 2}
    assert (sorted(still.asked), bytes_of(run)) == ([0, 1], before)
    grading = grade_run(run, SayingGrader(lambda seed: 0.0))
    assert grading.counts == {GradeState.GRADED: 2, GradeState.ALREADY: 2}
    assert (grading.summary.mean, grading.exit_code) == (0.5, 0)


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (lambda seed: 1 / 0, "raised ZeroDivisionError"),
        (lambda seed: float("nan"), "must be finite"),
        (lambda seed: "good", "must be a number"),
        (lambda seed: exec("raise SystemExit(0)"), "raised SystemExit"),  # noqa: S102
        (lambda seed: GradeEvent(grader="somebody", value=1.0), "names another grader"),
        (lambda seed: GradeEvent(grader="saying", digest="sha256:9", value=1.0), "names another grader or digest"),
        (lambda seed: GradeEvent(grader="saying", digest="sha256:1", prev_sha256="x", value=1.0), "prev_sha256"),
    ],
)
def test_what_a_grader_does_wrong_is_its_failure_and_no_number(tmp_path: Path, say: Any, reason: str) -> None:
    """Of each episode alone: the others go on."""
    grading = grade_run(run_of(tmp_path, 2), SayingGrader(say))
    assert grading.counts == {GradeState.FAILED: 2}
    assert all(reason in episode.reason for episode in grading.episodes)
    assert (grading.summary.mean, grading.summary.n_abstained) == (None, 2)


def test_a_grader_that_cannot_tell_has_judged(tmp_path: Path) -> None:
    """An event without value and error stands; it is not asked again."""
    run = run_of(tmp_path, 2)
    grading = grade_run(run, SayingGrader(lambda seed: None))
    assert (grading.exit_code, grading.summary.abstained) == (0, {"no_judgement": 2})
    assert grade_run(run, SayingGrader()).counts == {GradeState.ALREADY: 2}


def test_what_nobody_behaved_in_is_not_judged(tmp_path: Path) -> None:
    """An agent's error and an environment that does not come up have no behaviour; nothing is written for them."""
    run = run_of(tmp_path, 4, agent_errors=[1], broken=keys(2))
    grader = SayingGrader()
    grading = grade_run(run, grader)
    assert sorted(grader.asked) == [0, 3]
    assert grading.counts == {GradeState.GRADED: 2, GradeState.NOT_JUDGED: 2}
    assert grading.summary.abstained == {"agent_error": 1, "infra": 1}
    assert grading.exit_code == 0
    assert {seed: len(events) for seed, events in grades_of(run).items()} == {0: 1, 1: 0, 2: 0, 3: 1}


def test_a_trace_that_is_not_the_recorded_one_is_refused(tmp_path: Path) -> None:
    """A changed, a torn and a missing one; none gets a grade."""
    run = run_of(tmp_path, 4)
    changed = edit_trace(run.path, "unit/task#0", lambda text: text.replace('"reward":0.5', '"reward":9.5', 1))
    torn = edit_trace(run.path, "unit/task#1", lambda text: text[: len(text) // 2])
    next(path for path in run.episodes.glob("*.jsonl") if read_trace(path).instance.seed == 2).unlink()
    before = changed.read_bytes(), torn.read_bytes()
    grading = grade_run(run, SayingGrader())
    assert grading.counts == {GradeState.REFUSED: 3, GradeState.GRADED: 1}
    assert grading.exit_code == 3
    assert (changed.read_bytes(), torn.read_bytes()) == before


def test_a_log_from_which_episodes_are_gone_is_refused(tmp_path: Path) -> None:
    """Grading would end as if everything were judged."""
    run = run_of(tmp_path)
    lines = run.evallog.read_text().splitlines(keepends=True)
    run.evallog.write_text("".join([lines[0], *lines[2:]]))
    with pytest.raises(EvalError, match="holds 5 episodes, and its header says 6"):
        count_episodes(run)


def test_two_that_grade_at_once_write_one_grade(tmp_path: Path) -> None:
    """Who comes second finds that a grade stands, and leaves it."""
    run = run_of(tmp_path, 1)
    (path,) = run.episodes.glob("*.jsonl")

    def meanwhile(_: int) -> float:
        append_grade(path, GradeEvent(grader="saying", digest="sha256:1", value=0.25))
        return 1.0

    grading = grade_run(run, SayingGrader(meanwhile))
    assert grading.counts == {GradeState.ALREADY: 1}
    assert grading.summary.mean == 0.25
    assert [event.value for event in grades_of(run)[0]] == [0.25]


def test_nobody_is_asked_for_a_grade_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run folder that is read-only costs no judgement; the failure says why."""
    run = run_of(tmp_path, 2)
    opened = os.open

    def read_only(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if str(path).endswith(".jsonl") and flags & os.O_RDWR:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return opened(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", read_only)
    grader = SayingGrader()
    grading = grade_run(run, grader)
    assert grader.asked == []
    assert (grading.counts, grading.exit_code) == ({GradeState.FAILED: 2}, 3)
    assert "Read-only file system" in grading.episodes[0].reason


def test_no_judgement_is_nothing_and_may_end_the_asking(tmp_path: Path) -> None:
    """Skipped episodes stay ungraded; after the one that stops, nobody is asked."""
    run = run_of(tmp_path, 5)
    answers = iter([1.0, NoJudgement("skipped"), NoJudgement("left", stop=True)])

    def person(_: int) -> float:
        answer = next(answers)
        if isinstance(answer, NoJudgement):
            raise answer
        return answer

    grading = grade_run(run, SayingGrader(person))
    assert grading.counts == {GradeState.GRADED: 1, GradeState.UNGRADED: 2}
    assert (len(grading.episodes), grading.n_episodes, grading.exit_code) == (3, 5, 3)
    assert sum(map(len, grades_of(run).values())) == 1


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stop_leaves_every_finished_grade(tmp_path: Path, workers: int) -> None:
    """Those under way are finished, no other is begun; grading goes on from there."""
    run = run_of(tmp_path, 12)
    asked = SayingGrader(parallel=True)
    with pytest.raises(GradingInterrupted) as caught:
        grade_run(run, asked, workers=workers, stop=lambda: len(asked.asked) >= 3)
    grading = caught.value.grading
    assert isinstance(grading, Grading)
    done = grading.counts[GradeState.GRADED]
    assert 3 <= done < 12
    assert sum(map(len, grades_of(run).values())) == done
    rest = SayingGrader(parallel=True)
    assert grade_run(run, rest, workers=workers).summary.n_scored == 12
    assert len(rest.asked) == 12 - done


def test_an_interrupt_in_a_grader_stops_and_keeps(tmp_path: Path) -> None:
    """As of a person who presses Ctrl-C at the question."""
    run = run_of(tmp_path, 5)
    answers = iter([1.0, 1.0])

    def person(_: int) -> float:
        for answer in answers:
            return answer
        raise KeyboardInterrupt

    with pytest.raises(GradingInterrupted, match="stopped after 2 of 5 episodes"):
        grade_run(run, SayingGrader(person))
    assert sum(map(len, grades_of(run).values())) == 2


def test_no_more_threads_grade_than_were_asked_for(tmp_path: Path) -> None:
    """And one alone for a grader that does not say it can more."""
    run = run_of(tmp_path, 12)
    lock, present, seen = threading.Lock(), [0], [0]
    together = threading.Barrier(3, timeout=10)

    def counting(_: int) -> float:
        with lock:
            present[0] += 1
            seen[0] = max(seen[0], present[0])
        together.wait()
        with lock:
            present[0] -= 1
        return 1.0

    grade_run(run, SayingGrader(counting, parallel=True), workers=3)
    assert seen[0] == 3
    alone = SayingGrader(lambda seed: float(threading.current_thread() is threading.main_thread()), digest="sha256:2")
    assert grade_run(run, alone, workers=3).summary.mean == 1.0


def test_two_graders_agree_as_far_as_they_do(tmp_path: Path) -> None:
    """On the episodes both judged; the log of a re-scoring says so too."""
    run = run_of(tmp_path, 4)
    grade_run(run, SayingGrader(lambda seed: float(seed < 2), name="person"))
    grading = grade_run(run, SayingGrader(lambda seed: float(seed < 3) if seed else None, name="model"))
    (agreement,) = grading.agreement
    assert (agreement.graders, agreement.n) == (("model", "person"), 3)
    assert (agreement.both_success, agreement.only_first, agreement.both_failure) == (1, 1, 1)
    (outcome,) = rescore(plan_rescoring([run.path], scorers=["graded_success"]), workers=1)
    logged = outcome.log.results.grader_agreement  # type: ignore[union-attr]
    assert logged[0]["graders"] == ("model", "person")
    assert logged[0]["kappa"] == agreement.kappa
    assert dict(outcome.summaries["graded_success"].abstained) == {"graders_disagree": 1}  # type: ignore[union-attr]


def test_a_run_that_was_stopped_is_graded_as_far_as_it_got(tmp_path: Path) -> None:
    """What its partial log counts; a folder without a log is refused."""
    run = run_of(tmp_path, 4)
    unfinish(run.path, 2)
    assert grade_run(run, SayingGrader()).n_episodes == 2
    run.partial_evallog.unlink()
    with pytest.raises(EvalError, match="has no log"):
        grade_run(run, SayingGrader())
