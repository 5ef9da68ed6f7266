"""A person judges: one question an episode in the terminal.

The person is not told what the simulator thought of the episode, so that agreement with it means something.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hylo_core.canonical import digest
from hylo_core.trace import EpisodeTrace, GradeEvent
from hylo_eval.errors import EvalError
from hylo_eval.grading.protocol import NoJudgement
from hylo_eval.numerals import counted
from hylo_eval.video.films import sort_out

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance

VALUES: Final = {"success": 1.0, "failure": 0.0, "partial": 0.5}
"""What the person may say, and what it is worth."""

_WORDS: Final = (*VALUES, "skip", "quit")
_QUESTION: Final = "success, failure, partial, skip or quit? "
_NOTE: Final = "note (Enter for none): "
_NOTE_CHARACTERS: Final = 2000
_SHOWN_CHARACTERS: Final = 40


class OperatorGrader:
    """Asks a person about each episode and names, or plays, its video.

    The answers are ``success`` (1), ``failure`` (0), ``partial`` (0.5), ``skip`` and ``quit``, or the beginning of one.
    What is skipped stays ungraded and is asked again the next time; so does everything after ``quit`` and the end of
    input, which are never a failure.

    Args:
        by: Who judges; two people are two graders, whose agreement can be measured.
        videos: The folder of the run's videos.
        player: A command that is called with the paths of an episode's videos; without one they are named.
        ask: Puts a question and gives back the line; None is the end of input.
        say: Shows a line.
        now: The time of grading.

    Raises:
        EvalError: ``player`` is no command line.
    """

    interactive = True

    def __init__(
        self,
        by: str = "",
        *,
        videos: Path | None = None,
        player: str = "",
        ask: Callable[[str], str | None] | None = None,
        say: Callable[[str], None] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = f"operator:{by}" if by else "operator"
        self.digest = digest({"grader": "operator", "by": by, "values": VALUES})
        self._by = by
        self._videos = videos
        self._player = _command(player)
        self._ask = ask or _ask_terminal
        self._say = say or _say_terminal

        self._now = now

    def grade(self, trace: EpisodeTrace, task: TaskInstance) -> GradeEvent:
        """Ask.

        Raises:
            NoJudgement: The person skipped the episode, quit, or the input has ended.
        """
        self._show(trace)
        word = self._answer()
        note = (self._ask(_NOTE) or "").strip()[:_NOTE_CHARACTERS]
        return GradeEvent(
            grader=self.name,
            value=VALUES[word],
            ref=self._by,
            digest=self.digest,
            explanation=note.encode("utf-8", "replace").decode(),
            metadata={"answer": word},
            volatile={"graded_at": self._now().isoformat(timespec="milliseconds")},
        )

    def _show(self, trace: EpisodeTrace) -> None:
        instruction = trace.instance.spec.instruction if trace.reset is None else trace.reset.instruction
        self._say(f"\n{harmless(trace.key)}: {harmless(instruction)}")
        self._say(f"  {trace.status}, {counted(len(trace.steps), 'step')}")
        videos, doubts = sort_out(find_videos(self._videos, trace.episode_id), trace)
        for video in videos:
            self._say(f"  video: {harmless(str(video))}")
        for doubt in doubts:
            self._say(f"  not the video that was recorded: {harmless(doubt)}")
        if not videos:
            self._say("  no video is recorded")
        elif self._player:
            self._play(videos)

    def _play(self, videos: list[Path]) -> None:
        try:
            # The paths are arguments of their own: no shell reads them.
            subprocess.run([*self._player, *map(str, videos)], check=False, stdin=subprocess.DEVNULL)  # noqa: S603
        except OSError as error:
            raise EvalError(
                f"the player {self._player[0]!r} cannot be started: {error.strerror}",
                fix="install it, or name another one with player=",
            ) from error

    def _answer(self) -> str:
        while True:
            given = self._ask(_QUESTION)
            if given is None:
                raise NoJudgement("the input has ended", stop=True)
            word = given.strip().lower()
            chosen = [known for known in _WORDS if word and known.startswith(word)]
            # One letter is enough: "s" is success, and skip is "sk".
            if not chosen:
                self._say(f"  '{harmless(word[:_SHOWN_CHARACTERS])}' is none of them")
            elif chosen[0] == "skip":
                raise NoJudgement("skipped by the operator")
            elif chosen[0] == "quit":
                raise NoJudgement("the operator has quit", stop=True)
            else:
                return chosen[0]


def find_videos(folder: Path | None, episode_id: str) -> list[Path]:
    """The finished videos of an episode, ``<episode_id>.<camera>.mp4``, by camera."""
    if folder is None or not episode_id or "/" in episode_id:
        return []
    prefix = f"{episode_id}."
    try:
        return sorted(path for path in folder.iterdir() if path.name.startswith(prefix) and path.suffix == ".mp4")
    except OSError:
        return []


def harmless(text: str) -> str:
    """A text on one line and without control characters: what an agent wrote must not move the cursor."""
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)


def _command(player: str) -> list[str]:
    try:
        return shlex.split(player)
    except ValueError as error:
        raise EvalError(f"option 'player' is no command line: {error}", fix="player=ffplay, say") from error


def _ask_terminal(question: str) -> str | None:
    # Not input(): standard output may be the command's result, and its prompt would go there.
    sys.stderr.write(question)
    sys.stderr.flush()
    # As bytes: one that is not of the terminal's encoding is a slip of the finger, and no failure of the grader.
    line = sys.stdin.buffer.readline()
    return line.decode("utf-8", "replace") if line else None


def _say_terminal(line: str) -> None:
    sys.stderr.write(f"{line}\n")
