"""One request to the judge and its reply, bounded as a whole.

An HTTP client's own timeouts bound single reads: a server that sends a byte now and then is never late. The
exchange therefore runs in a thread of its own, and its connection is shut down at the deadline. Nothing is
retried and no redirect is followed: credentials go to the configured address alone.
"""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from hylo_eval.verify.extras import import_extra
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.verdict import GradingInfraError

if TYPE_CHECKING:
    from hylo_eval.verify.judging.connection import JudgeConnection

MAX_REPLY_BYTES: Final = 8 * 1024 * 1024
"""Largest reply that is read."""

_CONNECTED: Final = "connection.connect_tcp.complete"
_CLOSING_SECONDS: Final = 1.0


@attrs.frozen(kw_only=True)
class ChatRequest:
    """What the judge is asked.

    Attributes:
        model: The judge model.
        prompt: The one message of the user.
        max_completion_tokens: The budget of the reply.
        reasoning_effort: Sent unless empty.
        timeout_seconds: Seconds for the whole exchange, from connecting to the reply's last byte.
    """

    model: str
    prompt: str
    max_completion_tokens: int
    reasoning_effort: str
    timeout_seconds: float

    def body(self) -> bytes:
        """The request's JSON text, in ASCII: a candidate's lone surrogates have no UTF-8."""
        message = {"role": "user", "content": self.prompt}
        members: dict[str, Any] = {
            "model": self.model,
            "messages": [message],
            "temperature": 0.0,
            "max_completion_tokens": self.max_completion_tokens,
        }
        if self.reasoning_effort:
            members["reasoning_effort"] = self.reasoning_effort
        return json.dumps(members).encode("ascii")


@attrs.frozen(kw_only=True)
class Completion:
    """What the judge replied.

    Attributes:
        finish_reason: Why the reply ended, ``stop`` or ``length`` among others.
        completion_tokens: The tokens of the reply; None when the endpoint does not tell.
        text: The reply.
    """

    finish_reason: str | None
    completion_tokens: int | None
    text: str


def complete(connection: JudgeConnection, request: ChatRequest) -> Completion:
    """Asks the judge once.

    Raises:
        GradingInfraError: The exchange fails or takes too long, or the reply is not exactly one text of an
            assistant.
    """
    exchange = _Exchange(connection, request)
    thread = threading.Thread(target=exchange.run, name="judge exchange", daemon=True)
    thread.start()
    thread.join(request.timeout_seconds)
    if thread.is_alive():
        exchange.abort()
        thread.join(_CLOSING_SECONDS)
        raise GradingInfraError(f"the judge did not reply within {request.timeout_seconds:g} seconds")
    return _parse(exchange.reply())


class _Exchange:
    """The traffic of one request; ``run`` is the thread's, the rest the caller's."""

    def __init__(self, connection: JudgeConnection, request: ChatRequest) -> None:
        self._httpx = import_extra("httpx", extra="judge")
        self._connection = connection
        self._request = request
        self._endpoint = connection.endpoint()
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
            self._failure = f"the judge cannot be asked: {type(error).__name__}"
        finally:
            with self._lock:
                for connected in self._sockets:
                    connected.close()
                self._sockets.clear()

    def _send(self) -> bytes:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._connection.api_key:
            headers["Authorization"] = f"Bearer {self._connection.api_key}"
        body = bytearray()
        with (
            self._httpx.Client(timeout=self._request.timeout_seconds, follow_redirects=False) as client,
            client.stream(
                "POST",
                self._endpoint,
                content=self._request.body(),
                headers=headers,
                extensions={"trace": self._observe},
            ) as response,
        ):
            if response.is_redirect:
                raise GradingInfraError("the judge redirects to another address, which is not followed")
            if response.status_code != 200:
                raise GradingInfraError(f"the judge replied with HTTP status {response.status_code}")
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > MAX_REPLY_BYTES:
                    raise GradingInfraError(f"the judge's reply is larger than {MAX_REPLY_BYTES} bytes")
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


def _parse(body: bytes) -> Completion:
    try:
        reply = decode_json(body.decode())
    except ValueError as error:
        raise GradingInfraError(f"the judge's reply is not JSON: {error}") from error
    members = _object(reply)
    if members.get("error") is not None:
        raise GradingInfraError("the judge replied with an error")
    choices = members.get("choices")
    if not isinstance(choices, list) or len(cast("list[Any]", choices)) != 1:
        raise GradingInfraError("the judge must reply with exactly one choice")
    choice = _object(choices[0])
    message = _object(choice.get("message"))
    refused = [name for name in ("tool_calls", "function_call", "refusal") if message.get(name)]
    if message.get("role") != "assistant" or refused:
        raise GradingInfraError(f"the judge's reply is not an assistant's text {' '.join(refused)}".rstrip())
    finish_reason, content = choice.get("finish_reason"), message.get("content")
    tokens = _object(members.get("usage") or {}).get("completion_tokens")
    return Completion(
        finish_reason=finish_reason if isinstance(finish_reason, str) else None,
        completion_tokens=tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None,
        text=content if isinstance(content, str) else "",
    )


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise GradingInfraError("the judge's reply is not a chat completion")
    return cast("dict[str, Any]", value)
