"""Serves the page of one run to this machine's own browser, while the run goes on.

The server listens on the loopback address alone. A web page somewhere else must not read it through a name that
resolves to this machine (DNS rebinding), so a request whose ``Host`` is another than the loopback's own names is
refused, and so is one that another site's page makes. Only GET and HEAD, only the page, its episodes and the run's own
videos; no listing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO, Final, cast
from urllib.parse import unquote, urlsplit

import attrs
import orjson

from hylo_core.trace import EpisodeTrace
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.evallog.finished_episodes import finished_samples
from hylo_eval.report.episode_detail import describe_episode
from hylo_eval.report.page import PageOptions, render_page
from hylo_eval.report.page_content import changed_words
from hylo_eval.report.recorded import read_with_changes
from hylo_eval.report.run_record import RunRecord, read_run
from hylo_eval.report.run_summary import EpisodeSummary, summarise_run
from hylo_eval.traces.layout import RunFolder
from hylo_eval.video.films import FilmCheck, films_on_record
from hylo_eval.video.reading import video_at

LOOPBACK: Final = "127.0.0.1"
_NAMES: Final = ("127.0.0.1", "localhost")
_RANGE: Final = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
_EMBEDDED_EPISODES: Final = 0
"""A live page asks for an episode when it is opened."""
_LIMIT: Final = 200_000_000
_CHUNK: Final = 1 << 16


def _nobody(_: str) -> None:
    """Where nobody listens."""


@attrs.define
class RunView:
    """What the server shows of a run; made anew when the run has changed.

    Attributes:
        folder: The run.
        say: Told what in the run is not believed, once each.
    """

    folder: RunFolder
    say: Callable[[str], None] = attrs.field(default=_nobody)
    _said: set[str] = attrs.field(init=False, factory=set[str])
    _known: dict[Path, EpisodeSummary] = attrs.field(init=False, factory=dict[Path, EpisodeSummary])
    _check: FilmCheck = attrs.field(init=False, factory=FilmCheck)
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)
    _page: tuple[str, bytes] = attrs.field(init=False, default=("", b""))
    _record: RunRecord | None = attrs.field(init=False, default=None)

    def version(self) -> str:
        """The state of the run: another one when an episode has its outcome or a log has come."""
        seen: list[str] = []
        for path in (self.folder.evallog, self.folder.partial_evallog):
            # It may be renamed while it is looked at.
            with contextlib.suppress(FileNotFoundError):
                seen.append(f"{path.name}:{path.stat().st_mtime_ns}")
        episodes: list[str] = []
        if not self.folder.evallog.exists():
            # A trace has its name before the queue has its outcome, and the page shows what the queue has.
            with contextlib.suppress(EvalError):
                episodes = [sample.episode_id for sample in finished_samples(self.folder)]
        videos = sorted(map(_state, self.folder.videos.glob("*.mp4")))
        return hashlib.sha256("\n".join([*seen, *episodes, *videos]).encode()).hexdigest()[:16]

    def page(self) -> bytes:
        """The page of the run as it is now.

        Raises:
            EvalError: The run cannot be read.
        """
        # One at a time: two browsers that ask at once get the same page.
        with self._lock:
            version = self.version()
            if self._page[0] != version:
                self._record = read_run(self.folder)
                summary = summarise_run(self._record, known=self._known, check=self._check)
                options = PageOptions(max_episodes=_EMBEDDED_EPISODES, max_bytes=_LIMIT, live=version)
                for sentence in changed_words(summary):
                    if sentence not in self._said:
                        self._said.add(sentence)
                        self.say(sentence)
                self._page = (version, render_page([summary], options=options))
            return self._page[1]

    def episode(self, episode_id: str) -> bytes | None:
        """The steps of an episode that counts, as JSON; None where there is none or its trace cannot be read."""
        trace = self._believed(episode_id)
        return None if trace is None else orjson.dumps(describe_episode(trace))

    def _believed(self, episode_id: str, *, by_column: bool = False) -> EpisodeTrace | None:
        """The trace of an episode that counts, if it is the one on record; of others the summary says why not."""
        record = self._record or read_run(self.folder)
        found = next((item for item in record.episodes if item.episode_id == episode_id), None)
        if found is None or found.trace is None:
            return None
        try:
            trace, changes = read_with_changes(found, found.trace, by_column=by_column)
        except TraceError:
            return None
        return None if changes else trace

    def open_video(self, name: str) -> BinaryIO | None:
        """A video of the run by its file name, open to read; None where there is none that is the one on record.

        Raises:
            EvalError: The run cannot be read.
        """
        video = video_at(self.folder.videos / name) if Path(name).name == name else None
        trace = None if video is None else self._believed(video.episode_id, by_column=True)
        if video is None or trace is None:
            return None
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            # What is looked at and what is sent are one open file, whatever its name is given to meanwhile.
            file = stack.enter_context(video.path.open("rb"))
            if not self._check.doubt_of(file, name, films_on_record(trace)):
                stack.pop_all()
                return file
        return None


def make_server(folder: RunFolder, port: int = 0, say: Callable[[str], None] = _nobody) -> ThreadingHTTPServer:
    """A server of one run on the loopback address.

    Args:
        folder: The run.
        port: 0 for any that is free.
        say: Told what in the run is not believed when a page of it is made, once each.

    Returns:
        The server, not started; ``server_address[1]`` is its port.

    Raises:
        EvalError: The port is taken or may not be used.
    """
    view = RunView(folder, say)

    class Handler(_Handler):
        run = view

    try:
        server = ThreadingHTTPServer((LOOPBACK, port), Handler)
    except (OSError, OverflowError) as error:
        raise EvalError(
            f"cannot listen on port {port} of {LOOPBACK}: {error}", fix="--port 0 takes a free one"
        ) from error
    server.daemon_threads = True
    return server


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    run: RunView
    server_version = "hylo-eval"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Answer with a body."""
        if not self._is_ours():
            self._send(HTTPStatus.FORBIDDEN, b"this server answers to its own page only\n", "text/plain")
            return
        parts = [unquote(part) for part in urlsplit(self.path).path.split("/")[1:]]
        if parts == [""]:
            self._send_page()
        elif parts == ["version"]:
            self._send(HTTPStatus.OK, orjson.dumps({"version": self.run.version()}), "application/json")
        elif len(parts) == 2 and parts[0] == "episode" and parts[1].endswith(".json"):
            self._send_or_miss(self.run.episode(parts[1].removesuffix(".json")), "application/json")
        elif len(parts) == 2 and parts[0] == "videos":
            self._send_video(parts[1])
        else:
            self._send_or_miss(None, "")

    def handle(self) -> None:
        """Answer; a browser that has left while it was answered is no news either."""
        with contextlib.suppress(ConnectionError, TimeoutError):
            super().handle()

    do_HEAD = do_GET  # noqa: N815 - the name is the standard library's

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the standard library's
        """Say nothing: a request every two seconds is no news."""

    def _is_ours(self) -> bool:
        port = cast("tuple[str, int]", self.server.server_address)[1]
        hosts = {f"{name}:{port}" for name in _NAMES} | (set(_NAMES) if port == 80 else set[str]())
        if self.headers.get("Host", "").lower() not in hosts:
            return False
        # What another site's page asks for says so; a person who types the address asks from nowhere.
        return self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")

    def _send_page(self) -> None:
        try:
            page = self.run.page()
        except EvalError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, f"error: {error}\n".encode(), "text/plain")
            return
        self._send(HTTPStatus.OK, page, "text/html")

    def _send_or_miss(self, body: bytes | None, kind: str) -> None:
        if body is None:
            self._send(HTTPStatus.NOT_FOUND, b"there is no such thing here\n", "text/plain")
        else:
            self._send(HTTPStatus.OK, body, kind)

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self._head(status, kind, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: HTTPStatus, kind: str, length: int, **more: str) -> None:
        self.send_response(status)
        text = kind.startswith("text/")
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if text else kind)
        self.send_header("Content-Length", str(length))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cache-Control", "no-store")
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _send_video(self, name: str) -> None:
        try:
            video = self.run.open_video(name)
        except EvalError:
            video = None
        if video is None:
            self._send_or_miss(None, "")
            return
        with video as file:
            size = os.fstat(file.fileno()).st_size
            wanted = _wanted(self.headers.get("Range"), size)
            if wanted is None:
                self._head(HTTPStatus.OK, "video/mp4", size, Accept_Ranges="bytes")
                wanted = range(size)
            elif not wanted:
                self._head(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "video/mp4", 0, Content_Range=f"bytes */{size}")
                return
            else:
                span = f"bytes {wanted.start}-{wanted.stop - 1}/{size}"
                self._head(HTTPStatus.PARTIAL_CONTENT, "video/mp4", len(wanted), Content_Range=span)
            if self.command != "HEAD":
                file.seek(wanted.start)
                for part in _read(file, len(wanted)):
                    self.wfile.write(part)


def _wanted(header: str | None, size: int) -> range | None:
    """The bytes a ``Range`` header asks for (RFC 9110, 14); None for all, empty where there are none such."""
    match = _RANGE.fullmatch(header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    return range(int(first), min(size, int(last) + 1 if last else size))


def _state(path: Path) -> str:
    """A file and what of it changes with its content."""
    with contextlib.suppress(FileNotFoundError):
        seen = path.lstat()
        return f"{path.name}:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"
    return path.name


def _read(file: Any, length: int) -> Iterator[bytes]:
    while length > 0 and (part := file.read(min(_CHUNK, length))):
        length -= len(part)
        yield part
