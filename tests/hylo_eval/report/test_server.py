"""The server of a run: what it serves, and to whom it does not."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import EvalError, read_evallog
from hylo_eval.evaluation import executor
from hylo_eval.report.server import RunView, make_server
from hylo_eval.traces.layout import RunFolder
from hylo_eval.video.films import as_recorded, digest_of_film
from hylo_eval.video.recorder import VideoTally
from tests.runs import edit_trace, keys, unit, write_run

pytest.importorskip("jinja2")
pytest.importorskip("plotly")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """Three episodes, of which the first succeeds; a file that is no video, and one that nobody recorded."""
    folder = write_run(tmp_path, "run", keys(0), bench=unit(3)).run
    folder.videos.mkdir()
    (folder.videos / "episode.front.mp4").write_bytes(bytes(range(100)))
    (folder.videos / "episode.rear.mp4.partial").write_bytes(b"half")
    return folder


@pytest.fixture
def said() -> list[str]:
    """What the server says where it was started."""
    return []


@pytest.fixture
def port(run_served: RunFolder, said: list[str]) -> Iterator[int]:
    """A server that runs."""
    server = make_server(run_served, say=said.append)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def get(port: int) -> Any:
    """Ask for a path; gives status, headers and body."""

    def ask(path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, dict(answer.headers), answer.read()
        finally:
            connection.close()

    return ask


def test_it_serves_the_page_its_version_and_its_episodes(get: Any, run: RunFolder) -> None:
    """An episode has its steps, whichever it is."""
    status, headers, page = get("/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"<title>run on unit</title>" in page
    version = json.loads(get("/version")[2])["version"]
    assert version == RunView(run).version()
    identity = sorted(path.name.removesuffix(".jsonl") for path in run.episodes.iterdir())[1]
    status, headers, body = get(f"/episode/{identity}.json")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(body)["steps"] == 10


def test_it_listens_on_the_loopback_alone(run: RunFolder) -> None:
    """Nobody else's machine can ask."""
    server = make_server(run)
    try:
        assert server.server_address[0] == "127.0.0.1"
    finally:
        server.server_close()


@pytest.mark.parametrize("path", ["/", "/version", "/videos/episode.front.mp4"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", ""]
)
def test_another_host_is_refused(get: Any, port: int, path: str, host: str) -> None:
    """A name that somebody made resolve to this machine is not ours."""
    status, _, body = get(path, Host=host.format(port=port))
    assert status == 403
    assert b"title" not in body


def test_this_machine_has_two_names(get: Any, port: int) -> None:
    """As a person types them."""
    assert get("/version", Host=f"localhost:{port}")[0] == 200
    assert get("/version", Host=f"127.0.0.1:{port}")[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_of_the_browser_is_refused(get: Any, site: str) -> None:
    """Which the browser itself says."""
    assert get("/version", Sec_Fetch_Site=site)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/videos", "/videos/", "/episodes", "/manifest.json", "/evallog.json", "/videos/episode.rear.mp4.partial",
        "/videos/../manifest.json", "/videos/..%2Fmanifest.json", "/videos/%2e%2e/evallog.json", "/..%2f..%2fetc/passwd",
        "/videos/..%2f..%2fother%2fvideos%2fx.mp4", "/episode/../../manifest.json", "/episode/nothing.json", "/videos/%00.mp4",
        "//etc/passwd", "/index.html",
    ],
)  # fmt: skip
def test_nothing_else_is_served(get: Any, path: str) -> None:
    """No listing, no other file of the run, no file outside it."""
    status, _, body = get(path)
    assert status == 404
    assert body == b"there is no such thing here\n"


def test_a_link_among_the_videos_leads_nowhere(get: Any, run: RunFolder, tmp_path: Path) -> None:
    """A file outside the run is not one of its videos."""
    (tmp_path / "secret.mp4").write_bytes(b"secret")
    (run.videos / "link.front.mp4").symlink_to(tmp_path / "secret.mp4")
    assert get("/videos/link.front.mp4")[0] == 404


FILM = bytes(range(100))


class Films:
    """Writes the same hundred bytes as the video of every episode, in place of an encoder."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.tally = VideoTally()

    def record(self, run_episode: Any, episode_id: str, task: Any, env_spec: Any) -> Any:
        return run_episode(FilmOf(self.folder.video(episode_id, "front")))


class FilmOf:
    """The video of one episode."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def show(self, observation: Any) -> None:
        """Nothing is looked at."""

    def finish(self, end: Any) -> Any:
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_bytes(FILM)
        with self.path.open("rb") as file:
            return as_recorded({self.path.name: digest_of_film(file)})


@pytest.fixture
def filmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run with videos."""
    monkeypatch.setattr(executor, "make_recorder", lambda run, choice, env_spec: Films(run))
    return write_run(tmp_path, "run", keys(0), bench=unit(3)).run


@pytest.fixture
def run_served(request: pytest.FixtureRequest) -> RunFolder:
    """The run of a test that asks for one with videos, or the other."""
    return request.getfixturevalue("filmed" if "filmed" in request.fixturenames else "run")


def film_of(run: RunFolder, seed: int) -> Path:
    """The video of an episode."""
    (path,) = run.videos.glob(f"*task-{seed}-*.mp4")
    return path


@pytest.mark.parametrize(
    ("asked", "status", "expected"),
    [
        ("bytes=0-9", 206, bytes(range(10))),
        ("bytes=90-", 206, bytes(range(90, 100))),
        ("bytes=-5", 206, bytes(range(95, 100))),
        ("bytes=95-900", 206, bytes(range(95, 100))),
        ("bytes=100-", 416, b""),
        ("lines=1-2", 200, FILM),
        ("bytes=0-1,5-6", 200, FILM),
    ],
)
def test_a_video_can_be_read_in_parts(filmed: RunFolder, get: Any, asked: str, status: int, expected: bytes) -> None:
    """As a player seeks; what it does not understand is answered whole."""
    found = get(f"/videos/{film_of(filmed, 0).name}", Range=asked)
    assert (found[0], found[2]) == (status, expected)


def test_a_video_that_was_changed_is_served_nowhere(filmed: RunFolder, get: Any, said: list[str]) -> None:
    """Nor under its own address, nor in part; where the server runs it is said. As it was recorded it is served again."""
    first, second = film_of(filmed, 0), film_of(filmed, 1)
    before = get("/version")[2]
    for content in (bytes(100), FILM + b"x", b""):
        first.write_bytes(content)
        assert get(f"/videos/{first.name}")[0] == 404
        assert get(f"/videos/{first.name}", Range="bytes=0-9")[0] == 404
        assert get(f"/videos/{second.name}")[2] == FILM
        assert first.name.encode() not in get("/")[2].replace(f"#0: {first.name}".encode(), b"")
    assert get("/version")[2] != before
    assert any("1 video is not the one that was recorded" in sentence for sentence in said)
    first.write_bytes(FILM)
    assert get(f"/videos/{first.name}")[2] == FILM


def test_a_video_beside_a_trace_that_was_changed_is_served_nowhere(filmed: RunFolder, get: Any) -> None:
    """Nothing vouches for it any more; nor for one of an episode that nobody recorded one of, or that is none."""
    edit_trace(filmed.path, "unit/task#1", lambda text: text.replace('"reward":', '"reward":1', 1))
    assert get(f"/videos/{film_of(filmed, 1).name}")[0] == 404
    name = film_of(filmed, 0).name
    for other in (name.replace(".front.", ".rear."), "episode.front.mp4"):
        (filmed.videos / other).write_bytes(FILM)
        assert get(f"/videos/{other}")[0] == 404
    assert get(f"/videos/{name}")[2] == FILM


def test_only_reading_is_answered(get: Any) -> None:
    """Nothing can be changed; HEAD has the head alone."""
    assert get("/version", method="POST")[0] == 501
    status, headers, body = get("/version", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 0


def test_a_new_episode_is_a_new_version(run: RunFolder) -> None:
    """And the page has it."""
    view = RunView(run)
    before, page = view.version(), view.page()
    assert view.version() == before
    assert view.page() is page
    run.evallog.rename(run.partial_evallog)
    assert view.version() != before
    assert b"was stopped before its end" in view.page()


def test_a_run_that_cannot_be_read_is_said(get: Any, run: RunFolder) -> None:
    """In words, and the server goes on."""
    run.manifest.write_text("{")
    status, _, body = get("/")
    assert status == 500
    assert b"is not JSON" in body
    assert get("/version")[0] == 200


def test_a_port_that_is_taken_is_refused(run: RunFolder, port: int) -> None:
    """With a way out."""
    with pytest.raises(EvalError, match="--port 0"):
        make_server(run, port)


def test_a_trace_that_was_changed_is_not_shown_as_recorded(get: Any, run: RunFolder, said: list[str]) -> None:
    """The page says so before its numbers; the steps are nobody's."""
    path = min(run.episodes.iterdir())
    path.write_text(path.read_text(encoding="utf-8").replace('"reward":', '"reward":1', 1), encoding="utf-8")
    status, _, page = get("/")
    assert status == 200
    assert b"1 trace is not the one that was recorded" in page
    get("/")
    assert said[0].startswith("run: 1 trace is not the one that was recorded.")
    # Once each, however often the page is asked for.
    assert len(said) == 2
    sample = next(item for item in read_evallog(run.evallog).samples if item.trace.endswith(path.name))
    assert get(f"/episode/{sample.episode_id}.json")[0] == 404
