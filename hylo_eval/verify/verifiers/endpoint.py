"""Kind ``endpoint``: a service that already judges is asked over HTTP."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from hylo_core.canonical import digest
from hylo_core.frozen import thaw
from hylo_core.verifier import VerifierRef
from hylo_eval.verify.bounded_post import PostRequest, post_json
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.verdict import GradingInfraError
from hylo_eval.verify.verifiers.contract import Verification, check_option_seconds, failure, finite_reward
from hylo_eval.verify.verifiers.flattening import flatten_trajectory

TIMEOUT_SECONDS: Final = 60.0
"""For the whole exchange."""

MAX_REPLY_BYTES: Final = 1024 * 1024
"""A longer reply is an error."""

TOKEN_VARIABLE: Final = "HYLO_VERIFIER_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the bearer token."""

ORIGIN_VARIABLE: Final = "HYLO_VERIFIER_ORIGIN"
"""The environment variable with the one origin (``https://verifier.corp``) that gets the token."""


class EndpointVerifier:
    """POSTs ``{"task", "trajectory"}`` and reads ``reward``. Nothing is asked twice: a POST may have effects.

    Args:
        ref: Of kind ``endpoint``.
        timeout_seconds: For the whole exchange.
    """

    takes_events = False
    parallel = True

    def __init__(self, ref: VerifierRef, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        check_option_seconds(timeout_seconds)
        self.ref = ref
        self._timeout_seconds = timeout_seconds
        self.digest = digest({"verifier": ref.to_dict()})

    def verify(self, task: Mapping[str, Any], trajectory: Any) -> Verification:
        """Ask the service."""
        request = PostRequest(
            url=self.ref.ref,
            body=self._body(task, trajectory),
            token=token_for(self.ref.ref, os.environ),
            timeout_seconds=self._timeout_seconds,
            max_reply_bytes=MAX_REPLY_BYTES,
            whom="the endpoint",
        )
        try:
            reply = decode_json(post_json(request).decode())
        except GradingInfraError as error:
            raise failure(self.ref, str(error)) from error
        except ValueError as error:
            raise failure(self.ref, "the reply is not JSON") from error
        if not isinstance(reply, dict):
            raise failure(self.ref, "the reply is no JSON object")
        members = cast("dict[str, Any]", reply)
        if "reward" not in members:
            raise failure(self.ref, "the reply has no reward")
        return Verification(reward=finite_reward(self.ref, members["reward"]))

    def __call__(self, task: Mapping[str, Any], trajectory: Any) -> float:
        """The reward."""
        return self.verify(task, trajectory).reward

    def _body(self, task: Mapping[str, Any], trajectory: Any) -> bytes:
        try:
            document = {"task": thaw(task), "trajectory": flatten_trajectory(trajectory)}
            return json.dumps(document, allow_nan=False).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            raise failure(self.ref, f"task and trajectory cannot be sent as JSON: {error}") from error


def token_for(url: str, environment: Mapping[str, str]) -> str:
    """The bearer token for a URL: empty unless the environment names exactly its origin.

    A benchmark file chooses the URL. Without the origin beside it, whoever writes such a file would be sent the token.
    """
    token, origin = environment.get(TOKEN_VARIABLE, "").strip(), environment.get(ORIGIN_VARIABLE, "").strip()
    return token if token and origin and _origin(origin) == _origin(url) else ""


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        return parts.scheme, "", None
    return parts.scheme, parts.hostname or "", port or {"https": 443, "http": 80}.get(parts.scheme)
