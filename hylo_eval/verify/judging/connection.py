"""Where the judge model is, kept apart from specifications: a spec can be stored, credentials must not be."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit

import attrs

from hylo_eval.verify.verdict import GradingInfraError

BASE_URL_VARIABLE: Final = "VERIFYIT_JUDGE_BASE_URL"
API_KEY_VARIABLE: Final = "VERIFYIT_JUDGE_API_KEY"
MODEL_VARIABLE: Final = "VERIFYIT_JUDGE_MODEL"


@attrs.frozen(kw_only=True)
class JudgeConnection:
    """An OpenAI-compatible endpoint.

    Attributes:
        base_url: The address that ``/chat/completions`` is appended to.
        api_key: The bearer token; empty for an endpoint that wants none. Not part of the representation.
        model: The model for specifications that name none.
    """

    base_url: str
    api_key: str = attrs.field(default="", repr=False)
    model: str = ""

    @classmethod
    def from_environment(cls) -> JudgeConnection:
        """The connection that the environment describes; its address may be empty."""
        return cls(
            base_url=os.environ.get(BASE_URL_VARIABLE, "").strip(),
            api_key=os.environ.get(API_KEY_VARIABLE, "").strip(),
            model=os.environ.get(MODEL_VARIABLE, "").strip(),
        )

    def endpoint(self) -> str:
        """The address of the chat completions.

        Raises:
            GradingInfraError: There is no address, or it is not an HTTP one.
        """
        if not self.base_url:
            raise GradingInfraError(f"no judge is configured. fix: set {BASE_URL_VARIABLE}")
        try:
            parts = urlsplit(self.base_url)
        except ValueError as error:
            raise GradingInfraError(f"{BASE_URL_VARIABLE} is not an address") from error
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise GradingInfraError(f"{BASE_URL_VARIABLE} must begin with http:// or https:// and name a host")
        return f"{self.base_url.rstrip('/')}/chat/completions"

    def chosen_model(self, model: str) -> str:
        """The model of a specification, or this connection's for one that names none.

        Raises:
            GradingInfraError: Neither names a model.
        """
        chosen = model.strip() or self.model
        if not chosen:
            raise GradingInfraError(f"no judge model is chosen. fix: set {MODEL_VARIABLE} or the spec's model")
        return chosen
