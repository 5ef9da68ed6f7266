"""One request to the judge and its reply, bounded as a whole (:mod:`hylo_eval.verify.bounded_post`)."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from hylo_eval.redaction import redact_text
from hylo_eval.verify.bounded_post import PostRequest, post_json
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.verdict import GradingInfraError

if TYPE_CHECKING:
    from hylo_eval.verify.judging.connection import JudgeConnection

MAX_REPLY_BYTES: Final = 8 * 1024 * 1024
"""Largest reply that is read."""


@attrs.frozen(kw_only=True)
class ChatRequest:
    """What the judge is asked.

    Attributes:
        model: The judge model.
        prompt: The one message of the user.
        pictures: PNG files shown after the prompt, in order.
        max_completion_tokens: The budget of the reply.
        reasoning_effort: Sent unless empty.
        temperature: Of the sampling.
        timeout_seconds: Seconds for the whole exchange, from connecting to the reply's last byte.
    """

    model: str
    prompt: str
    pictures: tuple[bytes, ...] = attrs.field(default=(), repr=False)
    max_completion_tokens: int
    reasoning_effort: str
    temperature: float = 0.0
    timeout_seconds: float

    def body(self) -> bytes:
        """The request's JSON text, in ASCII: a candidate's lone surrogates have no UTF-8."""
        message = {"role": "user", "content": self._content()}
        members: dict[str, Any] = {
            "model": self.model,
            "messages": [message],
            "temperature": self.temperature,
            "max_completion_tokens": self.max_completion_tokens,
        }
        if self.reasoning_effort:
            members["reasoning_effort"] = self.reasoning_effort
        return json.dumps(members).encode("ascii")

    def _content(self) -> Any:
        if not self.pictures:
            return self.prompt
        urls = [f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}" for picture in self.pictures]
        pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        return [{"type": "text", "text": self.prompt}, *pictures]


@attrs.frozen(kw_only=True)
class Completion:
    """What the judge replied.

    Attributes:
        finish_reason: Why the reply ended, ``stop`` or ``length`` among others.
        prompt_tokens: The tokens of the request; None when the endpoint does not tell.
        completion_tokens: The tokens of the reply; None when the endpoint does not tell.
        text: The reply.
    """

    finish_reason: str | None
    prompt_tokens: int | None = None
    completion_tokens: int | None
    text: str


def complete(connection: JudgeConnection, request: ChatRequest) -> Completion:
    """Asks the judge once.

    This is where a judge's words come in: a key that it repeats is left out of them.

    Raises:
        GradingInfraError: The exchange fails or takes too long, or the reply is not exactly one text of an
            assistant.
    """
    body = post_json(
        PostRequest(
            url=connection.endpoint(),
            body=request.body(),
            token=connection.api_key,
            timeout_seconds=request.timeout_seconds,
            max_reply_bytes=MAX_REPLY_BYTES,
            whom="the judge",
        )
    )
    key = connection.api_key
    try:
        completion = _parse(body)
    except GradingInfraError as error:
        raise GradingInfraError(redact_text(str(error), key)) from None
    reason = completion.finish_reason
    return attrs.evolve(
        completion,
        text=redact_text(completion.text, key),
        finish_reason=None if reason is None else redact_text(reason, key),
    )


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
    usage = _object(members.get("usage") or {})
    return Completion(
        finish_reason=finish_reason if isinstance(finish_reason, str) else None,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        text=content if isinstance(content, str) else "",
    )


def _count(tokens: Any) -> int | None:
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise GradingInfraError("the judge's reply is not a chat completion")
    return cast("dict[str, Any]", value)
