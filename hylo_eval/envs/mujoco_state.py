"""What every MuJoCo family does alike: watch for instability, and digest state and model.

MuJoCo answers a bad state by resetting the scene in silence, so an unstable episode can look like a short
calm one. We switch that off (``mjDSBL_AUTORESET``) and read the warning counters after every step.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

_FATAL_WARNINGS = ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC", "mjWARN_BADCTRL")


class StabilityWatch:
    """Reads ``data.warning`` and the simulation time of one MuJoCo model.

    Args:
        model: ``mujoco.MjModel`` (raw, not a wrapper).
        data: ``mujoco.MjData`` of that model.
        since_the_beginning: Whether what was warned of before counts too, of data that was never reset.
    """

    def __init__(self, model: Any, data: Any, *, since_the_beginning: bool = False) -> None:
        import mujoco

        api: Any = mujoco
        self._data = data
        self._kinds: tuple[tuple[str, int], ...] = tuple(
            (name, int(getattr(api.mjtWarning, name))) for name in _FATAL_WARNINGS
        )
        model.opt.disableflags |= int(api.mjtDisableBit.mjDSBL_AUTORESET)
        self.restart()
        if since_the_beginning:
            self._counts = [0] * len(self._kinds)

    def restart(self) -> None:
        """Begin a new episode: counters and time start from the data's present values."""
        self._counts = [int(self._data.warning[kind].number) for _, kind in self._kinds]
        self._time = float(self._data.time)

    def check(self) -> str | None:
        """What went wrong since the last check, in words, or None."""
        time = float(self._data.time)
        went_back, self._time = time < self._time, time
        for index, (name, kind) in enumerate(self._kinds):
            count = int(self._data.warning[kind].number)
            if count > self._counts[index]:
                self._counts[index] = count
                return f"MuJoCo warned {name} at {time:.3f} s"
        return f"simulation time went back to {time:.3f} s" if went_back else None


def watch_of(simulator: Any) -> StabilityWatch | None:
    """A watch of an environment that holds a MuJoCo model and its data as ``model`` and ``data``; None of any other."""
    # Whoever holds a model has imported the package; others shall not need it.
    api: Any = sys.modules.get("mujoco")
    if api is None:
        return None
    model, data = (getattr(simulator, name, None) for name in ("model", "data"))
    return StabilityWatch(model, data) if isinstance(model, api.MjModel) and isinstance(data, api.MjData) else None


def state_digest(data: Any) -> str:
    """Digest of ``qpos``, ``qvel``, ``act`` and mocap poses of ``mujoco.MjData``."""
    return _digest(data.qpos, data.qvel, data.act, data.mocap_pos, data.mocap_quat)


def model_digest(model: Any, *more: Any) -> str:
    """Digest of ``body_pos`` and ``body_quat`` of ``mujoco.MjModel`` (where fixtures stand) and of ``more``.

    ``more`` is what sets an episode apart and stands neither in the state nor in the model, such as a goal
    position: without it, two scenes that differ in their goal alone would count as one.
    """
    return _digest(model.body_pos, model.body_quat, *more)


def _digest(*arrays: Any) -> str:
    import numpy as np

    sha = hashlib.sha256()
    for array in arrays:
        sha.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
    return f"sha256:{sha.hexdigest()}"
