"""The two facts of an episode that a log does not hold, from the ends of its trace: a trace may be large."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

import attrs
import orjson

_HEAD_BYTES: Final = 1 << 20
_TAIL_BYTES: Final = 1 << 16


@attrs.frozen
class EpisodeOutline:
    """What an episode was told, and why it ended; None where the trace does not say."""

    instruction: str | None = None
    reason: str | None = None


def outline(path: Path) -> EpisodeOutline:
    """Read the ends of a trace; one that is missing or broken says nothing."""
    try:
        with path.open("rb") as file:
            lines = [file.readline(_HEAD_BYTES), file.readline(_HEAD_BYTES)]
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES).split(b"\n")
    except OSError:
        return EpisodeOutline()
    instructions = [event.get("instruction") for event in map(_event, lines) if event.get("type") == "reset"]
    reasons = [event.get("reason") for event in map(_event, tail) if event.get("type") == "episode_end"]
    return EpisodeOutline(*(_text(found[-1]) if found else None for found in (instructions, reasons)))


def _event(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
