"""A person at the terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from hylo_core import EpisodeTrace, GradeEvent, Grader
from hylo_eval import EvalError
from hylo_eval.grading.operator import OperatorGrader, find_videos
from hylo_eval.grading.protocol import NoJudgement
from tests.answered import answered


def asking(*answers: str | None, **options: Any) -> tuple[OperatorGrader, list[str]]:
    """A grader that is given these lines, and what it shows."""
    given, shown = iter(answers), list[str]()
    return OperatorGrader(ask=lambda question: next(given), say=shown.append, **options), shown


def judged(*answers: str | None, trace: EpisodeTrace | None = None, **options: Any) -> GradeEvent:
    """The grade that these lines lead to."""
    grader, _ = asking(*answers, **options)
    trace = trace or answered("x")
    return grader.grade(trace, trace.instance)


@pytest.mark.parametrize(
    ("word", "value"),
    [("success", 1.0), ("s\n", 1.0), (" F ", 0.0), ("fail", 0.0), ("partial", 0.5), ("p", 0.5)],
)
def test_a_word_or_its_beginning_is_the_value(word: str, value: float) -> None:
    """The note is the explanation."""
    event = judged(word, " the cup tipped \n")
    assert (event.value, event.explanation, event.error) == (value, "the cup tipped", "")


@pytest.mark.parametrize(("word", "stop"), [("skip", False), ("sk", False), ("q", True), (None, True)])
def test_skipping_leaving_and_the_end_of_input_are_no_judgement(word: str | None, stop: bool) -> None:
    """The last two end the asking."""
    with pytest.raises(NoJudgement) as caught:
        judged(word)
    assert caught.value.stop is stop


def test_the_end_of_input_at_the_note_keeps_the_judgement() -> None:
    """It was given already."""
    assert judged("f", None).value == 0.0


def test_what_is_none_of_the_words_is_asked_again() -> None:
    """An empty line too: Enter is no judgement."""
    grader, shown = asking("", "yes", "\x1b[2J", "s", "")
    trace = answered("x")
    assert grader.grade(trace, trace.instance).value == 1.0
    assert sum("is none of them" in line for line in shown) == 3
    assert not any("\x1b" in line for line in shown)


def test_two_people_are_two_graders() -> None:
    """With names and digests of their own."""
    ann, ben = OperatorGrader("ann"), OperatorGrader("ben")
    assert (ann.name, ben.name, OperatorGrader().name) == ("operator:ann", "operator:ben", "operator")
    assert len({ann.digest, ben.digest, OperatorGrader().digest}) == 3
    assert isinstance(ann, Grader)
    assert judged("s", "", by="ann").ref == "ann"


def test_the_person_sees_task_and_video_and_not_what_the_simulator_says(tmp_path: Path) -> None:
    """Only finished videos of this very episode are named."""
    trace = answered("x")
    trace = attrs.evolve(trace, start=attrs.evolve(trace.start, volatile={"episode_id": "task-0.1"}))
    for name in ("task-0.1.front.mp4", "task-0.1.side.mp4", "task-0.1.front.mp4.partial", "task-0.10.front.mp4"):
        (tmp_path / name).touch()
    grader, shown = asking("s", "", videos=tmp_path)
    grader.grade(trace, trace.instance)
    text = "\n".join(shown)
    assert "go" in text
    assert "task-0.1.front.mp4" in text
    assert "task-0.1.side.mp4" in text
    assert "task-0.10" not in text
    assert "partial" not in text
    assert "success" not in text
    assert (
        find_videos(tmp_path / "absent", "task-0.1") == find_videos(tmp_path, "") == find_videos(tmp_path, "a/b") == []
    )


def test_a_video_that_was_not_recorded_is_neither_named_nor_played(tmp_path: Path) -> None:
    """The person is told why there is none."""
    trace = answered("x")
    (tmp_path / "task-0.1.front.mp4").write_bytes(b"another episode's")
    trace = attrs.evolve(trace, start=attrs.evolve(trace.start, volatile={"episode_id": "task-0.1"}))
    assert trace.end is not None
    film = {"sha256": f"sha256:{'0' * 64}", "size": 17}
    trace = attrs.evolve(trace, end=attrs.evolve(trace.end, volatile={"videos": {"task-0.1.front.mp4": film}}))
    grader, shown = asking("s", "", videos=tmp_path, player=str(tmp_path / "absent"))
    grader.grade(trace, trace.instance)
    assert not [line for line in shown if line.strip().startswith("video:")]
    assert [line for line in shown if "not the video that was recorded: task-0.1.front.mp4: sha256:000" in line]


def test_a_player_gets_the_paths_as_arguments(tmp_path: Path) -> None:
    """No shell reads them: a name may hold anything. One that cannot be started is an error."""
    trace = answered("x")
    episode = "a; touch planted"
    trace = attrs.evolve(trace, start=attrs.evolve(trace.start, volatile={"episode_id": episode}))
    video = tmp_path / f"{episode}.front.mp4"
    video.touch()
    program = tmp_path / "player.py"
    program.write_text("import sys, pathlib\npathlib.Path(sys.argv[1]).write_text(sys.argv[2])\n")
    player = f"{sys.executable} {program} {tmp_path / 'played'}"
    judged("s", "", trace=trace, videos=tmp_path, player=player)
    assert (tmp_path / "played").read_text() == str(video)
    with pytest.raises(EvalError, match="cannot be started"):
        judged("s", "", trace=trace, videos=tmp_path, player=str(tmp_path / "absent"))


def test_what_no_terminal_would_send_is_asked_again(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Bytes of no encoding and a line of megabytes are none of the answers, and neither fails the grader."""
    lines = b"\xff\xfe\n" + b"x" * 3_000_000 + b"\ns\n\xff note\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines), encoding="utf-8", errors="strict"))
    event = OperatorGrader().grade(answered("42"), answered("42").instance)
    assert (event.value, event.explanation) == (1.0, "\N{REPLACEMENT CHARACTER} note")
    assert len(capsys.readouterr().err) < 1000


def test_a_player_that_is_no_command_line_is_refused() -> None:
    """When the grader is made, and not at the first video."""
    with pytest.raises(EvalError, match="'player' is no command line"):
        OperatorGrader(player="mpv '")
