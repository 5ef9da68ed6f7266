"""When a worker process is ended or replaced, and which GPU it gets."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from hylo_eval.errors import EvalError
from hylo_eval.evaluation.phases import Deadlines


@attrs.frozen(kw_only=True)
class WorkerLimits:
    """When a worker is ended or replaced.

    Attributes:
        deadlines: Of its phases.
        recycle_after: Episodes after which a worker is replaced; None is never.
        max_rss_mb: Resident memory (MiB) after an episode above which it is replaced; None is any.
    """

    deadlines: Deadlines = attrs.field(factory=Deadlines)
    recycle_after: int | None = None
    max_rss_mb: int | None = None

    def __attrs_post_init__(self) -> None:
        for name in ("recycle_after", "max_rss_mb"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise EvalError(f"--{name.replace('_', '-')} must be at least 1, not {value}")

    def exceeded(self, episodes: int, resident_bytes: object) -> bool:
        """Whether a worker that ran so many episodes and holds so much memory is to be replaced."""
        if self.recycle_after is not None and episodes >= self.recycle_after:
            return True
        if self.max_rss_mb is None or not isinstance(resident_bytes, int):
            return False
        return resident_bytes > self.max_rss_mb << 20


def device_environment(devices: Sequence[str], index: int) -> dict[str, str]:
    """The variables that give a worker its GPU; none where no devices are named."""
    if not devices:
        return {}
    device = devices[index % len(devices)]
    return {"CUDA_VISIBLE_DEVICES": device, "MUJOCO_EGL_DEVICE_ID": device}
