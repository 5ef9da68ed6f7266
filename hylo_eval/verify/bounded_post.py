"""One POST and its reply, bounded as a whole.

An HTTP client's own timeouts bound single reads: a server that sends a byte now and then is never late. The exchange
therefore runs in a thread of its own, and its connection is shut down at the deadline. Nothing is retried and no
redirect is followed: credentials go to the configured address alone.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final

import attrs

from hylo_eval.verify.extras import import_extra
from hylo_eval.verify.verdict import GradingInfraError

_CONNECTED: Final = "connection.connect_tcp.complete"
_CLOSING_SECONDS: Final = 1.0
_JSON_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


@attrs.frozen(kw_only=True)
class PostRequest:
    """What is sent, and what is waited for.

    Attributes:
        url: The address.
        body: JSON.
        token: Sent as a bearer token unless empty. Not part of the representation.
        timeout_seconds: Seconds for the whole exchange, from connecting to the reply's last byte.
        max_reply_bytes: A longer reply is a failure, and is not read to its end.
        whom: Who is asked, for error texts: ``the judge``.
    """

    url: str
    body: bytes = attrs.field(repr=False)
    token: str = attrs.field(default="", repr=False)
    timeout_seconds: float
    max_reply_bytes: int
    whom: str


def post_json(request: PostRequest) -> bytes:
    """Sends a request once.

    Returns:
        The body of the reply, whose status was 200 to 299.

    Raises:
        GradingInfraError: The exchange fails or takes too long, or the reply has another status or is too long. The
            text holds neither credentials nor anything that the other side wrote.
    """
    exchange = _Exchange(request)
    thread = threading.Thread(target=exchange.run, name=f"exchange with {request.whom}", daemon=True)
    thread.start()
    try:
        thread.join(request.timeout_seconds)
    finally:
        late = thread.is_alive()
        if late:
            exchange.abort()
    if late:
        thread.join(_CLOSING_SECONDS)
        raise GradingInfraError(f"{request.whom} did not reply within {request.timeout_seconds:g} seconds")
    return exchange.reply()


@cache
def _trusted_certificates() -> Any:
    """What a client builds for itself otherwise, at the price of a few exchanges: who may sign for an https address."""
    return import_extra("httpx", extra="judge").create_ssl_context()


class _Exchange:
    """The traffic of one request; ``run`` is the thread's, the rest the caller's."""

    def __init__(self, request: PostRequest) -> None:
        self._httpx = import_extra("httpx", extra="judge")
        self._request = request
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._aborted = False
        self._body = b""
        self._failure = ""

    def run(self) -> None:
        """Sends the request and keeps the reply's body, or a failure's description without credentials."""
        try:
            self._body = self._send()
        except GradingInfraError as error:
            self._failure = str(error)
        except (self._httpx.HTTPError, self._httpx.InvalidURL, OSError, ValueError, RuntimeError) as error:
            # The text of such an error may hold the address or a header, and with them credentials.
            self._failure = f"{self._request.whom} cannot be asked: {type(error).__name__}"
        finally:
            with self._lock:
                for connected in self._sockets:
                    connected.close()
                self._sockets.clear()

    def _send(self) -> bytes:
        request = self._request
        headers: Mapping[str, str] = _JSON_HEADERS
        if request.token:
            headers = {**headers, "Authorization": f"Bearer {request.token}"}
        body = bytearray()
        with (
            self._httpx.Client(
                timeout=request.timeout_seconds, follow_redirects=False, verify=_trusted_certificates()
            ) as client,
            client.stream(
                "POST", request.url, content=request.body, headers=headers, extensions={"trace": self._observe}
            ) as response,
        ):
            if response.is_redirect:
                raise GradingInfraError(f"{request.whom} redirects to another address, which is not followed")
            if not response.is_success:
                raise GradingInfraError(f"{request.whom} replied with HTTP status {response.status_code}")
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > request.max_reply_bytes:
                    raise GradingInfraError(
                        f"the reply of {request.whom} is larger than {request.max_reply_bytes} bytes"
                    )
        return bytes(body)

    def _observe(self, event: str, info: dict[str, Any]) -> None:
        """Keeps a handle of every connection, by which it can be shut down from outside the thread."""
        if event != _CONNECTED:
            return
        connected = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._sockets.append(connected.dup())
            if self._aborted:
                self._shut_down()

    def abort(self) -> None:
        """Ends the exchange, whatever it waits for."""
        with self._lock:
            self._aborted = True
            self._shut_down()

    def _shut_down(self) -> None:
        for connected in self._sockets:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def reply(self) -> bytes:
        """The reply's body, after ``run``.

        Raises:
            GradingInfraError: The exchange failed.
        """
        if self._failure:
            raise GradingInfraError(self._failure)
        return self._body
