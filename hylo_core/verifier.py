"""A reference to what judges whether a task was done: a rubric, a plugin's function or an endpoint."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias
from urllib.parse import SplitResult, parse_qsl, urlsplit

import attrs

from hylo_core.contract import Contract, one_of, text
from hylo_core.errors import ContractError, RefError
from hylo_core.refs import parse_ref

VerifierKind: TypeAlias = Literal["rubric", "plugin", "endpoint"]

_RUBRIC_PART: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_SECRET_PARAMETER: Final = re.compile(r"key|token|secret|passw|credential|signature|auth", re.IGNORECASE)


@attrs.frozen
class VerifierRef(Contract):
    """Points at something that already has the answer; the harness itself never is one.

    There are exactly three kinds and no built-in one: a verifier inside the harness would be a second definition of
    what counts as right.

    Attributes:
        kind: ``rubric``, ``plugin`` or ``endpoint``.
        ref: ``<owner>/<name>`` of a rubric, ``module:callable`` of a plugin, or the URL of an endpoint. A URL holds no
            credentials, because references are written to logs.
    """

    kind: VerifierKind = attrs.field(validator=one_of("rubric", "plugin", "endpoint"))
    ref: str = attrs.field(validator=text(empty=False))

    def __attrs_post_init__(self) -> None:
        problem = _PROBLEMS[self.kind](self.ref)
        if problem:
            raise ContractError(problem, path="ref")

    def __str__(self) -> str:
        return f"{self.kind} {self.ref}"


def _rubric_problem(ref: str) -> str:
    parts = ref.split("/")
    if len(parts) == 2 and all(_RUBRIC_PART.fullmatch(part) and set(part) != {"."} for part in parts):
        return ""
    return "of a rubric has the form <owner>/<name>, of letters, digits, '.', '_' and '-'"


def _plugin_problem(ref: str) -> str:
    try:
        parse_ref(ref)
    except RefError:
        return "of a plugin has the form module:callable"
    return ""


def _endpoint_problem(ref: str) -> str:  # noqa: PLR0911 - one rule, one return
    # urlsplit drops tabs and line breaks in silence.
    if not ref.isascii() or not ref.isprintable() or " " in ref:
        return "of an endpoint holds a character that no URL has; write it percent-encoded"
    try:
        parts = urlsplit(ref)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "of an endpoint is no URL"
    if parts.scheme not in ("http", "https") or not host:
        return "of an endpoint begins with http:// or https:// and names a host"
    if "@" in parts.netloc:
        return "of an endpoint holds credentials; they would be written to every log"
    if parts.fragment:
        return "of an endpoint has a fragment (#), which is never sent; leave it out"
    secret = _secret_parameter(parts)
    if secret:
        return f"of an endpoint gives {secret!r} in its query; credentials would be written to every log"
    return ""


def _secret_parameter(parts: SplitResult) -> str:
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return next((name for name in names if _SECRET_PARAMETER.search(name)), "")


_PROBLEMS: Final = {"rubric": _rubric_problem, "plugin": _plugin_problem, "endpoint": _endpoint_problem}
