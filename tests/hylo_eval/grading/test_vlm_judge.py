"""A model that looks at the recorded video, against a local server and real videos."""

from __future__ import annotations

import base64
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from hylo_core import EpisodeTrace, GradeEvent, Grader
from hylo_eval import EvalError
from hylo_eval.grading.frames import evenly, read_frames
from hylo_eval.grading.vlm_judge import VlmJudge, VlmOptions, agreement_of
from hylo_eval.verify.judging.connection import JudgeConnection
from hylo_eval.verify.verdict import GradingInfraError
from hylo_eval.verify.verifiers.rubrics import Rubric
from tests.answered import answered
from tests.hylo_eval.verify.modes.test_judge import API_KEY, Server, completion, serving

av: Any = pytest.importorskip("av")

EPISODE = "unit-task-3.1"
RUBRIC = Rubric(owner="lab", name="pick", version="2", text="1 if the cup is lifted.", digest="sha256:r")


def write_video(path: Path, count: int = 20, *, size: tuple[int, int] = (64, 48)) -> Path:
    """A video whose picture number k has the grey value 10 * k."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for index in range(count):
            picture = np.full((size[1], size[0], 3), 10 * index, dtype=np.uint8)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path


def grey(png: bytes) -> int:
    """The grey value of a picture, as the number that :func:`write_video` gave it."""
    pillow = pytest.importorskip("PIL.Image")
    return round(float(np.asarray(pillow.open(BytesIO(png)).convert("L")).mean()) / 10)


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the video of one episode."""
    folder = tmp_path_factory.mktemp("videos")
    write_video(folder / f"{EPISODE}.front.mp4")
    return folder


def recorded() -> EpisodeTrace:
    """An episode with the id of the video."""
    trace = answered("x")
    return attrs.evolve(trace, start=attrs.evolve(trace.start, volatile={"episode_id": EPISODE}))


def judged(server: Server, videos: Path, rubric: Rubric = RUBRIC, **options: Any) -> GradeEvent:
    """The grade a server's replies lead to."""
    judge = VlmJudge(rubric, server.connection, videos, options=VlmOptions(**options))
    return judge.grade(recorded(), recorded().instance)


def counted(text: str, sent: int = 1000, received: int = 50) -> str:
    """A completion that says how many tokens it took."""
    reply = json.loads(completion(text))
    return json.dumps({**reply, "usage": {"prompt_tokens": sent, "completion_tokens": received}})


@pytest.mark.parametrize(
    ("total", "count", "chosen"),
    [
        (20, 3, {0, 10, 19}),
        (20, 2, {0, 19}),
        (20, 1, {19}),
        (3, 8, {0, 1, 2}),
        (0, 4, set()),
        (101, 5, {0, 25, 50, 75, 100}),
    ],
)
def test_pictures_are_the_first_the_last_and_evenly_between(total: int, count: int, chosen: set[int]) -> None:
    """All of a short video."""
    assert evenly(total, count) == chosen


def test_the_pictures_are_those_of_the_video(videos: Path) -> None:
    """In order, smaller where they are too large, with their proportions."""
    video = videos / f"{EPISODE}.front.mp4"
    frames = read_frames(video, 3)
    assert [(frame.index, frame.of) for frame in frames] == [(0, 20), (10, 20), (19, 20)]
    assert [grey(frame.png) for frame in frames] == [0, 10, 19]
    assert read_frames(video, 1, 32)[0].png[16:24] == (32).to_bytes(4) + (24).to_bytes(4)


def test_what_is_no_video_is_an_error(tmp_path: Path) -> None:
    """Another file, and none."""
    (tmp_path / "x.mp4").write_bytes(b"no video")
    for name in ("x.mp4", "absent.mp4"):
        with pytest.raises(EvalError, match="cannot be read"):
            read_frames(tmp_path / name, 3)


def test_the_model_sees_rubric_instruction_and_pictures(videos: Path) -> None:
    """The event holds the score, the raw reply, the tokens and what they cost; no key."""
    with serving(counted("The cup rises.\nSCORE: 1")) as server:
        event = judged(server, videos, frames=4, prompt_price=2.0, completion_price=8.0)
        (request,) = server.requests
    assert (event.value, event.error, event.ref, event.explanation) == (1.0, "", "fake", "The cup rises.")
    assert event.metadata["replies"] == ("The cup rises.\nSCORE: 1",)
    assert (event.metadata["prompt_tokens"], event.metadata["completion_tokens"]) == (1000, 50)
    assert event.metadata["cost"] == pytest.approx(0.0024)
    assert dict(event.metadata["rubric"]) == {"name": "lab/pick", "version": "2", "digest": "sha256:r"}
    assert event.metadata["camera"] == "front"
    assert API_KEY not in event.to_json().decode()
    text, *pictures = request["body"]["messages"][0]["content"]
    for words in ("1 if the cup is lifted.", "The robot was told:\ngo", "numbers 1, 7, 14, 20 of 20"):
        assert words in text["text"]
    prefix = "data:image/png;base64,"
    urls = [picture["image_url"]["url"] for picture in pictures]
    assert all(url.startswith(prefix) for url in urls)
    assert [grey(base64.b64decode(url.removeprefix(prefix))) for url in urls] == [0, 6, 13, 19]
    assert request["body"]["temperature"] == 0.0


@pytest.mark.parametrize(
    ("votes", "value", "agreement"),
    [
        (("1", "1", "0"), 1.0, 2 / 3),
        (("1", "0.4", "0"), 0.4, 1 / 3),
        (("1", "unclear", "1"), 1.0, 2 / 3),
        (("1", "unclear", "unclear"), None, 2 / 3),
        (("unclear", "UNCLEAR", "unclear"), None, 1.0),
    ],
)
def test_the_grade_is_the_median_of_the_votes(
    videos: Path, votes: tuple[str, ...], value: float | None, agreement: float
) -> None:
    """How far they agree is on record; a model that cannot tell gives no value and no error."""
    with serving(*(completion(f"Hm.\nSCORE: {vote}") for vote in votes)) as server:
        event = judged(server, videos, votes=3, frames=2)
        assert {request["body"]["temperature"] for request in server.requests} == {1.0}
    assert (event.value, event.error) == (value, "")
    assert event.metadata["agreement"] == pytest.approx(agreement)
    assert len(event.metadata["votes"]) == len(event.metadata["replies"]) == 3
    assert event.metadata["prompt_tokens"] is None
    assert agreement_of([]) is None


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (completion("good"), "is no SCORE"),
        (completion("SCORE: 1.5"), "out of the rubric's range"),
        (completion("SCORE: -1"), "is no SCORE"),
        (completion("SCORE: 1\nI think"), "is no SCORE"),
        (completion("SCORE: 1", finish_reason="length"), "is incomplete"),
        (lambda handler: handler.answer(503, b""), "HTTP status 503"),
    ],
)
def test_a_vote_that_fails_fails_the_grade(videos: Path, reply: Any, reason: str) -> None:
    """Fewer votes would be another judgement; what was said is on record all the same."""
    with serving(completion("SCORE: 1"), reply) as server:
        event = judged(server, videos, votes=3, frames=2)
        assert len(server.requests) == 2
    assert event.value is None
    assert reason in event.error
    assert event.metadata["replies"][0] == "SCORE: 1"


def test_without_the_one_video_there_is_no_grade(videos: Path, tmp_path: Path) -> None:
    """None, or several and no camera named; nobody is asked."""
    for name in ("front", "side"):
        (tmp_path / f"{EPISODE}.{name}.mp4").write_bytes((videos / f"{EPISODE}.front.mp4").read_bytes())
    with serving(completion("SCORE: 1")) as server:
        assert "no video" in judged(server, tmp_path / "absent").error
        assert "of camera 'wrist'" in judged(server, tmp_path, camera="wrist").error
        assert "several cameras (front, side)" in judged(server, tmp_path).error
        assert server.requests == []
        assert judged(server, tmp_path, camera="side").metadata["camera"] == "side"


def test_a_rubric_of_another_range_is_on_record(videos: Path) -> None:
    """So that a score of 7 of 10 is read as one."""
    rubric = attrs.evolve(RUBRIC, maximum=10.0)
    with serving(completion("SCORE: 7")) as server:
        event = judged(server, videos, rubric)
    assert (event.value, event.metadata["range"]) == (7.0, (0.0, 10.0))


def test_the_digest_is_of_what_decides(videos: Path) -> None:
    """Rubric, model, pictures and votes; not prices and deadlines."""
    connection = JudgeConnection(base_url="http://localhost", model="a")

    def digest(rubric: Rubric = RUBRIC, model: str = "", **options: Any) -> str:
        return VlmJudge(rubric, connection, videos, model=model, options=VlmOptions(**options)).digest

    others = [
        digest(attrs.evolve(RUBRIC, version="3")),
        digest(model="b"),
        digest(frames=4),
        digest(votes=3),
        digest(camera="x"),
    ]
    assert len({digest(), *others}) == 6
    assert digest(timeout_seconds=1.0, prompt_price=5.0) == digest()
    assert isinstance(VlmJudge(RUBRIC, connection, videos), Grader)


@pytest.mark.parametrize(
    "options",
    [{"frames": 0}, {"frames": 65}, {"votes": 0}, {"longest_side": 8}, {"timeout_seconds": 0}, {"prompt_price": -1}],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    """Before anybody is asked."""
    with pytest.raises(EvalError, match="option"):
        VlmOptions(**options)


def test_a_judge_that_is_nowhere_is_refused(videos: Path) -> None:
    """There is no default one."""
    with pytest.raises(GradingInfraError, match="no judge is configured"):
        VlmJudge(RUBRIC, JudgeConnection(base_url=""), videos)
