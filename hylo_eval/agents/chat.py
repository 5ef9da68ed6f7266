"""``chat``: a model behind an OpenAI-compatible endpoint, ``POST <base URL>/chat/completions``.

What it asks for is asked once an observation: the instruction, then every picture as a PNG data URL of the size the
environment showed. The key comes from the environment variable ``HYLO_CHAT_API_KEY`` alone: it is no option, so it
cannot get into a manifest, and it is blanked out of every reply and error where these come in. Proxies,
``.netrc`` and cookies are not looked at, redirects are refused: the key goes to the base URL and nowhere else.

Extra ``chat`` (httpx).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import math
import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import attrs
import orjson

from hylo_core.spec import AgentSpec
from hylo_core.trace import AgentInfo
from hylo_eval.agents.event_loop import EventLoopThread
from hylo_eval.agents.png import encode_png
from hylo_eval.agents.protocol import Reply, StatelessSession
from hylo_eval.errors import AgentError, EvalError
from hylo_eval.installing import install_command
from hylo_eval.redaction import redact_document, redact_text

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance

BASE_URL_VARIABLE = "HYLO_CHAT_BASE_URL"
MODEL_VARIABLE = "HYLO_CHAT_MODEL"
KEY_VARIABLE = "HYLO_CHAT_API_KEY"

MAX_REPLY_BYTES = 4 * 1024 * 1024
"""A longer body is an error of the agent, and is not read to its end."""
_SHOWN_CHARACTERS = 500
"""Of an error's body."""
_RETRY_WAIT_SECONDS = 0.5
"""Before the first try after a failed connection; doubled for each further one."""


class ChatAgent:
    """Asks a chat model. It holds no history: every observation is a conversation of its own.

    Args:
        model: The model's name; the variable ``HYLO_CHAT_MODEL`` unless given.
        base_url: Up to and without ``/chat/completions``, for example ``http://localhost:8000/v1``; the
            variable ``HYLO_CHAT_BASE_URL`` unless given.
        timeout_seconds: For a whole exchange, from the first try to connect to the last byte of the reply.
        connection_retries: Further tries when no connection comes about. Nothing else is tried again, for a
            model that was asked may have answered, but for one case: a connection that was kept from the
            request before and ends before a reply begins was closed by the server while it was idle
            (RFC 9112, section 9.3.1); the request is then sent again, in the end on a new one.
        temperature: Sampling temperature; the server's default unless given.
        max_tokens: Most tokens of a reply; the server's default unless given.
        system: A system message; none unless given.

    Raises:
        AgentError: An option is out of range, or model or base URL is missing.
        EvalError: httpx is not installed.
    """

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        timeout_seconds: float = 120.0,
        connection_retries: int = 2,
        temperature: float | None = None,
        max_tokens: int | None = None,
        system: str | None = None,
    ) -> None:
        if not 0 < timeout_seconds < math.inf:
            raise AgentError(
                f"option 'timeout_seconds' must be above 0 and finite, not {timeout_seconds:g}",
                fix="--agent-arg timeout_seconds=60",
            )
        if connection_retries < 0:
            raise AgentError(
                f"option 'connection_retries' must be at least 0, not {connection_retries}",
                fix="--agent-arg connection_retries=2",
            )
        if max_tokens is not None and max_tokens < 1:
            raise AgentError(
                f"option 'max_tokens' must be at least 1, not {max_tokens}", fix="--agent-arg max_tokens=512"
            )
        self._model = model or _variable(MODEL_VARIABLE, "model")
        self._url = _completions_url(base_url or _variable(BASE_URL_VARIABLE, "base_url"))
        self._timeout_seconds = timeout_seconds
        self._retries = connection_retries
        self._system = system
        self._sampling = {
            name: value
            for name, value in (("temperature", temperature), ("max_tokens", max_tokens))
            if value is not None
        }
        self._httpx = _import_httpx()
        self._loop = EventLoopThread()
        self._client: Any = None
        components = {"model": self._model, "url": self._url, **self._sampling}
        if system is not None:
            components["system"] = system
        self.info = AgentInfo(name=f"chat-{self._model}", components=components)
        self.spec = AgentSpec()

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> StatelessSession:
        """Begin an episode; of its arguments the instruction is all that is used."""
        del instance, seed
        return StatelessSession(partial(self._act, instruction))

    def close(self) -> None:
        """Close the connection and the event loop; can be called twice."""
        client, self._client = self._client, None
        if client is not None:
            self._loop.run(client.aclose())
        self._loop.close()

    def _act(self, instruction: str, observation: Mapping[str, Any]) -> Reply:
        parts, images = _image_parts(observation)
        messages: list[dict[str, Any]] = []
        if self._system is not None:
            messages.append({"role": "system", "content": self._system})
        messages.append({"role": "user", "content": [{"type": "text", "text": instruction}, *parts]})
        request = orjson.dumps({"model": self._model, "messages": messages, **self._sampling})
        key = _key()
        body = self._loop.run(self._exchange(request, key))
        text, metadata = _read_reply(body, key)
        return Reply(text, metadata={**metadata, "images": images})

    async def _exchange(self, request: bytes, key: str) -> bytes:
        """Send a request and read the reply's body, all within the timeout."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._connect_and_send(request, key)
        except TimeoutError as error:
            raise AgentError(
                f"{self._url} did not finish its reply in {self._timeout_seconds:g} s (option timeout_seconds)"
            ) from error

    async def _connect_and_send(self, request: bytes, key: str) -> bytes:
        attempt = 0
        while True:
            events: set[str] = set()
            try:
                return await self._send(request, key, events)
            except self._httpx.ConnectError as error:
                if attempt == self._retries:
                    raise AgentError(f"cannot connect to {self._url}: {redact_text(str(error), key)}") from None
                await asyncio.sleep(_RETRY_WAIT_SECONDS * 2**attempt)
                attempt += 1
            except (self._httpx.HTTPError, self._httpx.InvalidURL) as error:
                if _was_closed_while_idle(events):
                    continue  # that connection is gone from the pool, so this ends
                what = f"{type(error).__name__}: {error}"
                raise AgentError(f"the exchange with {self._url} failed: {redact_text(what, key)}") from None

    async def _send(self, request: bytes, key: str, events: set[str]) -> bytes:
        """Send a request and read the reply's body; what httpx does meanwhile is added to the events."""

        async def observe(event: str, info: Mapping[str, Any]) -> None:
            del info
            events.add(event)

        if self._client is None:
            # The limit on the whole exchange stands above; httpx's own is for each operation and would hide it.
            self._client = self._httpx.AsyncClient(timeout=None, trust_env=False, follow_redirects=False)
            self._client.cookies.jar.set_policy(_no_cookies())
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        async with self._client.stream(
            "POST", self._url, content=request, headers=headers, extensions={"trace": observe}
        ) as response:
            if 300 <= response.status_code < 400:
                raise AgentError(f"{self._url} redirects (status {response.status_code}), which is refused")
            if response.headers.get("content-encoding", "identity") != "identity":
                raise AgentError(f"{self._url} sent a compressed body that nobody asked for")
            content = await _read_body(response, self._url)
            if response.status_code != 200:
                said = redact_text(content.decode("utf-8", "backslashreplace"), key)[:_SHOWN_CHARACTERS]
                raise AgentError(f"{self._url} answered with status {response.status_code}: {said}")
            return content


@attrs.frozen
class _Completion:
    """The members of a reply that are read."""

    text: str
    finish_reason: str
    model: str
    usage: Mapping[str, int]


def _was_closed_while_idle(events: set[str]) -> bool:
    """Whether a failed exchange began on a kept connection and ended before a reply."""
    began = "http11.send_request_headers.started" in events
    return began and not events & {
        "connection.connect_tcp.started",
        "http11.receive_response_headers.complete",
    }


async def _read_body(response: Any, url: str) -> bytes:
    """The whole body, up to the limit."""
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > MAX_REPLY_BYTES:
            raise AgentError(f"{url} sent more than {MAX_REPLY_BYTES} bytes; the rest was not read")
    return bytes(content)


def _image_parts(observation: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every picture of an observation as a part of a message, and what the trace records of it."""
    parts: list[dict[str, Any]] = []
    recorded: list[dict[str, Any]] = []
    for name, value in observation.items():
        if str(getattr(value, "dtype", "")) != "uint8" or value.ndim < 2:
            continue
        content = encode_png(value)
        url = f"data:image/png;base64,{base64.b64encode(content).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
        recorded.append(
            {
                "name": name,
                "width": int(value.shape[1]),
                "height": int(value.shape[0]),
                "png_bytes": len(content),
                "png_sha256": hashlib.sha256(content).hexdigest(),
            }
        )
    return parts, recorded


def _read_reply(body: bytes, key: str) -> tuple[str, dict[str, Any]]:
    """The text of a reply, and what the trace keeps of it: the raw reply, model, token counts.

    Raises:
        AgentError: The body is no chat completion with a text.
    """
    # Here and nowhere after: all that is read, kept or repeated of a reply comes from these two.
    raw = redact_text(body.decode("utf-8", "backslashreplace"), key)
    try:
        document = redact_document(orjson.loads(body), key)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise AgentError(f"the reply is no JSON: {error}; it starts {raw[:80]!r}") from None
    completion = _completion(document)
    metadata: dict[str, Any] = {
        "raw": raw,
        "finish_reason": completion.finish_reason,
        "model": completion.model,
        "tokens": dict(completion.usage),
    }
    return completion.text, metadata


def _completion(document: object) -> _Completion:
    """The parts of a chat completion, each of its type."""
    choices = _member(document, "choices")
    choice: object = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    message = _mapping(_member(choice, "message"))
    if message is None:
        names = ", ".join(_mapping(document) or ("no object",))
        raise AgentError(f"the reply is no chat completion: it has no choices[0].message (members: {names[:200]})")
    content = message.get("content")
    if content is None:
        # A refusal, or a reply that was all reasoning: a response with nothing in it, which scores.
        content = message.get("refusal") or ""
    if not isinstance(content, str):
        raise AgentError(f"the reply's content is a {type(content).__name__}, not text")
    counts = _mapping(_member(document, "usage")) or {}
    return _Completion(
        text=content,
        finish_reason=str(_member(choice, "finish_reason") or ""),
        model=str(_member(document, "model") or ""),
        usage={name: count for name, count in counts.items() if name.endswith("_tokens") and type(count) is int},
    )


def _mapping(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _member(value: object, name: str) -> object:
    return (_mapping(value) or {}).get(name)


def _key() -> str:
    """The key, or an empty text; read at each exchange and kept nowhere.

    Raises:
        AgentError: It cannot stand in a header. Its text is not repeated.
    """
    key = os.environ.get(KEY_VARIABLE, "")
    if not all("!" <= character <= "~" for character in key):
        raise AgentError(
            f"{KEY_VARIABLE} holds a space, a line end or a character beyond ASCII",
            fix=f"export {KEY_VARIABLE}=KEY, without quotes or blanks in it",
        )
    return key


def _variable(name: str, option: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise AgentError(
            f"the chat agent needs the option {option!r} or the variable {name}",
            fix=f"--agent-arg {option}=…, or export {name}=…",
        )
    return value


def _completions_url(base_url: str) -> str:
    """The URL to post to.

    Raises:
        AgentError: The base URL is no http(s) URL, or holds a password, a query or a fragment.
    """
    try:
        parts = urlsplit(base_url)
        _ = parts.port
    except ValueError as error:
        raise AgentError(
            f"option 'base_url' is no URL: {error}", fix="--agent-arg base_url=http://127.0.0.1:8000/v1"
        ) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AgentError(
            "option 'base_url' must start with http:// or https:// and name a host",
            fix="--agent-arg base_url=http://127.0.0.1:8000/v1",
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        # Not repeated in the text: this is where a secret would stand.
        raise AgentError(
            f"option 'base_url' must hold no user, password, query or fragment; the key goes into {KEY_VARIABLE}",
            fix=f"leave them out, and export {KEY_VARIABLE}=KEY",
        )
    return f"{base_url.rstrip('/')}/chat/completions"


def _no_cookies() -> Any:
    from http.cookiejar import DefaultCookiePolicy

    return DefaultCookiePolicy(allowed_domains=[])


def _import_httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise EvalError("the chat agent needs httpx", fix=install_command("hylo-eval[chat]")) from error
    return httpx
