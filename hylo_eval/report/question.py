"""What was asked, answered and true in an episode whose action is text: the parts nobody can plot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from hylo_core.errors import clean_text
from hylo_core.frozen import thaw
from hylo_eval.scoring.success import RESPONSE_CORRECT

if TYPE_CHECKING:
    from hylo_core.trace import EpisodeTrace

MAX_CHARACTERS: Final = 4_000
"""Characters of a reply or a truth that are shown; how many more there are is said."""
MAX_PICTURES: Final = 16
"""Pictures and picture files that are named."""
_MAX_NAME: Final = 400


@attrs.frozen(kw_only=True)
class Question:
    """A question as it was answered; every text is from outside and of a bounded length.

    Attributes:
        reply: The text the environment got; None where there was no reply.
        truth: The task's param ``truth`` as JSON on one line; empty where the task has none.
        pictures: What was shown: each picture with the digest of its pixels, each file with that of its bytes. A trace
            holds digests, not pictures.
    """

    reply: str | None
    truth: str
    pictures: tuple[str, ...]


def read_question(trace: EpisodeTrace) -> Question | None:
    """The question of an episode; None where it is none, that is, where the action is not text."""
    spec = trace.instance.spec
    reply: object = trace.steps[-1].applied if trace.steps else None
    if not isinstance(reply, str) and spec.success.name != RESPONSE_CORRECT:
        return None
    truth = spec.params.get("truth")
    return Question(
        reply=clean_text(reply, MAX_CHARACTERS) if isinstance(reply, str) else None,
        truth="" if truth is None else clean_text(json.dumps(thaw(truth), ensure_ascii=False), MAX_CHARACTERS),
        pictures=_pictures(trace),
    )


def _pictures(trace: EpisodeTrace) -> tuple[str, ...]:
    images: Mapping[str, str] = trace.reset.images if trace.reset else {}
    shown = [f"{name}: {digest}" for name, digest in images.items()]
    files: Any = trace.instance.spec.params.get("images")
    if isinstance(files, Sequence) and not isinstance(files, str):
        for file in cast("Sequence[Any]", files):
            if isinstance(file, Mapping):
                members = cast("Mapping[str, Any]", file)
                shown.append(f"file {members.get('path')}: sha256:{members.get('sha256')}")
    named = [clean_text(text, _MAX_NAME) for text in shown[:MAX_PICTURES]]
    return (*named, f"and {len(shown) - MAX_PICTURES} more") if len(shown) > MAX_PICTURES else tuple(named)
