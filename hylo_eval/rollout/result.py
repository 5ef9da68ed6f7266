"""What running an episode gives back."""

from __future__ import annotations

from pathlib import Path

import attrs

from hylo_core.trace import EpisodeEnd, ErrorEvent
from hylo_eval.traces.writer import TraceDigests


@attrs.frozen(kw_only=True)
class EpisodeResult:
    """What an episode came to.

    Attributes:
        end: The end event.
        path: The trace.
        digests: What identifies it.
        error: What failed, if something did.
        disagreements: Steps at which our evaluation of the goal and the simulator's own check differed.
        lasting: Whether it failed for what another try would find as well, such as assets that are missing.
    """

    end: EpisodeEnd
    path: Path
    digests: TraceDigests
    error: ErrorEvent | None = None
    disagreements: int = 0
    lasting: bool = False
