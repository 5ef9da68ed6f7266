"""A vision-language model judges by a rubric from pictures of the recorded video."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import attrs

from hylo_core.canonical import digest, digest_bytes
from hylo_core.trace import EpisodeTrace, GradeEvent
from hylo_eval.errors import EvalError
from hylo_eval.grading.frames import Frame, read_frames
from hylo_eval.grading.operator import find_videos
from hylo_eval.verify.judging.exchange import ChatRequest, Completion, complete
from hylo_eval.verify.verdict import GradingInfraError
from hylo_eval.verify.verifiers.contract import check_option_seconds
from hylo_eval.video.films import sort_out

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance
    from hylo_eval.verify.judging.connection import JudgeConnection
    from hylo_eval.verify.verifiers.rubrics import Rubric

_PROMPT: Final = """\
You watch a robot through {count} pictures of one camera, in the order in which they were taken, and judge by a rubric.
The rubric alone decides. Judge what the pictures show, and nothing that you only expect.

Rubric:
{rubric}

The robot was told:
{instruction}

The pictures are numbers {numbers} of {total}, counted from 1.

Give your reason in at most 60 words. The last line of your reply must be exactly one of
SCORE: <a number from {minimum:g} to {maximum:g}>
SCORE: unclear
where unclear means that the pictures do not show enough to judge.
"""

_SCORE: Final = re.compile(r"SCORE:\s*(unclear|[0-9]{1,9}(?:\.[0-9]{1,9})?)", re.IGNORECASE)
_RAW_CHARACTERS: Final = 4000
_PER_MILLION: Final = 1e6


@attrs.frozen(kw_only=True)
class VlmOptions:
    """How the model is asked.

    Attributes:
        frames: Pictures of the video: first, last and evenly between.
        longest_side: Pixels of a picture's longer side.
        camera: Whose video; empty for the only one.
        votes: How often it is asked; the grade is the median.
        temperature: Of the sampling. Unless given 0 for one vote, and 1 for several, which would otherwise be one vote
            counted several times.
        timeout_seconds: For a whole exchange.
        max_completion_tokens: Budget of a reply.
        prompt_price: Per million tokens of what is sent, in any currency; 0 where cost does not matter.
        completion_price: The same of what comes back.
    """

    frames: int = 8
    longest_side: int = 512
    camera: str = ""
    votes: int = 1
    temperature: float | None = None
    timeout_seconds: float = 120.0
    max_completion_tokens: int = 2048
    prompt_price: float = 0.0
    completion_price: float = 0.0

    def __attrs_post_init__(self) -> None:
        for name, low, high in (("frames", 1, 64), ("longest_side", 16, 2048), ("votes", 1, 15)):
            if not low <= getattr(self, name) <= high:
                raise EvalError(
                    f"option {name!r} must be from {low} to {high}, not {getattr(self, name)}",
                    fix=f"{name}={low}, or more",
                )
        check_option_seconds(self.timeout_seconds)
        if self.max_completion_tokens < 1:
            raise EvalError("option 'max_completion_tokens' must be above 0", fix="max_completion_tokens=1024, say")
        if not all(0 <= price < math.inf for price in (self.prompt_price, self.completion_price)):
            raise EvalError(
                "options 'prompt_price' and 'completion_price' must be finite and at least 0",
                fix="leave them out where prices are not known",
            )
        if self.temperature is not None and not 0 <= self.temperature < math.inf:
            raise EvalError(
                f"option 'temperature' must be finite and at least 0, not {self.temperature:g}", fix="temperature=0"
            )

    @property
    def sampling_temperature(self) -> float:
        """The temperature that is sent."""
        if self.temperature is not None:
            return self.temperature
        return 0.0 if self.votes == 1 else 1.0


class VlmJudge:
    """Shows pictures of an episode's video to a model and takes the median of its votes.

    An event holds the raw replies, the tokens and their price, and with several votes the share of them that equal the
    most frequent one. A vote that fails, or ends in no score, fails the grade: fewer votes are another judgement. When
    more than half of the votes say "unclear" there is no value and no error.

    Args:
        rubric: What decides.
        connection: Where the model is.
        model: In place of the connection's.
        videos: The folder of the run's videos.
        options: How it is asked.
        now: The time of grading.

    Raises:
        GradingInfraError: No address or no model is configured.
    """

    name = "vlm_judge"
    parallel = True

    def __init__(
        self,
        rubric: Rubric,
        connection: JudgeConnection,
        videos: Path,
        *,
        model: str = "",
        options: VlmOptions | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        connection.endpoint()
        self._rubric = rubric
        self._connection = connection
        self._model = connection.chosen_model(model)
        self._videos = videos
        self._options = options or VlmOptions()
        self._now = now
        asked = attrs.asdict(self._options)
        for beside in ("timeout_seconds", "prompt_price", "completion_price"):
            del asked[beside]
        self.digest = digest(
            {
                "grader": self.name,
                "rubric": rubric.record(),
                "model": self._model,
                "prompt": digest_bytes(_PROMPT.encode()),
                "options": asked,
            }
        )

    def grade(self, trace: EpisodeTrace, task: TaskInstance) -> GradeEvent:
        """Ask for every vote."""
        completions: list[Completion] = []
        scores: list[float | None] = []
        failed, camera = "", ""
        try:
            video = self._video(trace)
            camera = video.name.removeprefix(f"{trace.episode_id}.").removesuffix(".mp4")
            request = self._request(trace, read_frames(video, self._options.frames, self._options.longest_side))
            while len(scores) < self._options.votes:
                completions.append(complete(self._connection, request))
                scores.append(self._score(completions[-1]))
        except (EvalError, GradingInfraError) as error:
            failed = str(error)
        clear = [score for score in scores if score is not None]
        judged = not failed and bool(clear) and 2 * len(clear) >= len(scores)
        return GradeEvent(
            grader=self.name,
            value=float(median(clear)) if judged else None,
            ref=self._model,
            digest=self.digest,
            explanation="" if failed else _reason(completions[0]),
            error=failed,
            metadata=self._metadata(completions, scores, camera),
            volatile={"graded_at": self._now().isoformat(timespec="milliseconds")},
        )

    def _video(self, trace: EpisodeTrace) -> Path:
        videos = find_videos(self._videos, trace.episode_id)
        if self._options.camera:
            videos = [video for video in videos if video.name == f"{trace.episode_id}.{self._options.camera}.mp4"]
        if len(videos) == 1:
            _, doubts = sort_out(videos, trace)
            if doubts:
                raise EvalError(
                    f"the video is not the one that was recorded: {doubts[0]}",
                    fix="restore the videos of the run as they were written",
                )
            return videos[0]
        if not videos:
            of = f" of camera {self._options.camera!r}" if self._options.camera else ""
            raise EvalError(f"there is no video{of} of the episode", fix="run with --video all")
        cameras = ", ".join(video.name.split(".")[-2] for video in videos)
        raise EvalError(f"the episode has videos of several cameras ({cameras})", fix="vlm_judge:camera=<name>")

    def _request(self, trace: EpisodeTrace, frames: Sequence[Frame]) -> ChatRequest:
        instruction = trace.instance.spec.instruction if trace.reset is None else trace.reset.instruction
        prompt = _PROMPT.format(
            count=len(frames),
            rubric=self._rubric.text.strip(),
            instruction=instruction.strip(),
            numbers=", ".join(str(frame.index + 1) for frame in frames),
            total=frames[0].of,
            minimum=self._rubric.minimum,
            maximum=self._rubric.maximum,
        )
        return ChatRequest(
            model=self._model,
            prompt=prompt,
            pictures=tuple(frame.png for frame in frames),
            max_completion_tokens=self._options.max_completion_tokens,
            reasoning_effort="",
            temperature=self._options.sampling_temperature,
            timeout_seconds=self._options.timeout_seconds,
        )

    def _score(self, completion: Completion) -> float | None:
        """The score in the last line of a reply; None for "unclear"."""
        if completion.finish_reason != "stop":
            raise GradingInfraError("the judge's reply is incomplete")
        match = _SCORE.fullmatch(completion.text.strip().rpartition("\n")[2].strip())
        if match is None:
            raise GradingInfraError("the last line of the judge's reply is no SCORE")
        if match.group(1).lower() == "unclear":
            return None
        score = float(match.group(1))
        if not self._rubric.minimum <= score <= self._rubric.maximum:
            raise GradingInfraError(f"the judge's score {score:g} is out of the rubric's range")
        return score

    def _metadata(
        self, completions: Sequence[Completion], scores: Sequence[float | None], camera: str
    ) -> dict[str, Any]:
        options, low, high = self._options, self._rubric.minimum, self._rubric.maximum
        sent = _total([one.prompt_tokens for one in completions])
        received = _total([one.completion_tokens for one in completions])
        metadata: dict[str, Any] = {
            "rubric": self._rubric.record(),
            "camera": camera,
            "frames": options.frames,
            "replies": [_bounded(one.text) for one in completions],
            "prompt_tokens": sent,
            "completion_tokens": received,
        }
        if options.prompt_price or options.completion_price:
            metadata["cost"] = None
            if sent is not None and received is not None:
                metadata["cost"] = (sent * options.prompt_price + received * options.completion_price) / _PER_MILLION
        if options.votes > 1:
            metadata["votes"] = list(scores)
            metadata["agreement"] = agreement_of(scores)
        if (low, high) != (0.0, 1.0):
            metadata["range"] = [low, high]
        return metadata


def agreement_of(scores: Sequence[float | None]) -> float | None:
    """The share of the most frequent vote, "unclear" being one; None without votes."""
    return max(Counter(scores).values()) / len(scores) if scores else None


def _total(tokens: Sequence[int | None]) -> int | None:
    """The sum; None where one is not known: a part is no total."""
    known = [count for count in tokens if count is not None]
    return sum(known) if len(known) == len(tokens) else None


def _reason(completion: Completion) -> str:
    first = completion.text.strip().rpartition("\n")[0]
    return " ".join(first.split())[:500].encode("utf-8", "replace").decode()


def _bounded(text: str) -> str:
    return text[:_RAW_CHARACTERS].encode("utf-8", "replace").decode()
