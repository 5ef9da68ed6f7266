"""Whether MuJoCo can draw here, shown by a picture and not by a file that exists."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from hylo_eval.child import ChildOutcome, run_child
from hylo_eval.doctor.findings import Finding

DEADLINE_SECONDS: Final = 60.0
BACKENDS: Final = ("egl", "osmesa")
"""Tried in this order; both need no display."""
UNSET: Final = ""
"""The backend of a process in which MUJOCO_GL is not set: MuJoCo's own default, which needs a display."""
SWITCHED_OFF: Final = frozenset({"disable", "disabled", "off", "false", "0"})
"""Values of MUJOCO_GL by which MuJoCo draws nothing."""
SYSTEM_PACKAGES: Final = {
    "egl": "apt-get install -y libegl1 libegl-mesa0 libgl1-mesa-dri",
    "osmesa": "apt-get install -y libosmesa6",
}

_SOFTWARE: Final = ("llvmpipe", "softpipe", "swrast", "SWR")
_NO_LIBRARY: Final = "has no attribute 'glGetError'"
"""How PyOpenGL fails where the backend's library is not installed."""
_SCRIPT: Final = Path(__file__).with_name("frame.py")
_MIN_CONTRAST: Final = 60.0
"""Red must be this much stronger than green and blue in the middle, and than red in the corner (0-255)."""


@attrs.frozen(kw_only=True)
class Frame:
    """What one backend drew.

    Attributes:
        backend: The value of MUJOCO_GL, or :data:`UNSET`.
        problem: Why there is no picture, or no right one; empty when it is right.
        device: What OpenGL says drew it.
        seconds: For one small picture.
    """

    backend: str
    problem: str = ""
    device: str = ""
    seconds: float = 0.0

    @property
    def on_cpu(self) -> bool:
        """Whether a program on the CPU draws."""
        return self.backend == "osmesa" or any(name in self.device for name in _SOFTWARE)


def try_backends(environment: Mapping[str, str]) -> tuple[Frame, ...]:
    """Draw as a run would that is started here, then with each of :data:`BACKENDS`, until one works."""
    chosen = environment.get("MUJOCO_GL", "").lower() or UNSET
    frames: list[Frame] = []
    for backend in dict.fromkeys((chosen, *BACKENDS)):
        frames.append(try_backend(backend, environment))
        if not frames[-1].problem:
            break
    return tuple(frames)


def try_backend(backend: str, environment: Mapping[str, str]) -> Frame:
    """Draw one picture in a process of its own."""
    chosen = {name: value for name, value in environment.items() if name != "MUJOCO_GL"}
    if backend != UNSET:
        chosen["MUJOCO_GL"] = backend
    if backend in BACKENDS:
        chosen["PYOPENGL_PLATFORM"] = backend
    outcome = run_child([sys.executable, "-P", str(_SCRIPT)], deadline_seconds=DEADLINE_SECONDS, environment=chosen)
    return read_frame(backend, outcome)


def read_frame(backend: str, outcome: ChildOutcome) -> Frame:
    """Judge what the child printed."""
    if outcome.returncode != 0:
        missing = _NO_LIBRARY in outcome.stderr
        return Frame(backend=backend, problem="its library is not installed" if missing else outcome.reason)
    try:
        measured: dict[str, Any] = json.loads(outcome.stdout.splitlines()[-1])
        middle = [float(part) for part in measured["middle"]]
        corner = [float(part) for part in measured["corner"]]
        seconds, device = float(measured["seconds"]), str(measured["device"])
    except (ValueError, KeyError, TypeError, IndexError):
        return Frame(backend=backend, problem="the process that draws printed something else than its result")
    if middle == corner:
        return Frame(backend=backend, problem="the picture is of one colour: nothing was drawn", device=device)
    if middle[0] - max(middle[1], middle[2], corner[0]) < _MIN_CONTRAST:
        return Frame(backend=backend, problem="the picture does not show the red ball in its middle", device=device)
    return Frame(backend=backend, device=device, seconds=seconds)


def rendering_finding(frames: tuple[Frame, ...], *, chosen: str = "", gpu: bool = False) -> Finding:
    """What the pictures say.

    Args:
        frames: What each backend drew, in the order tried, the one that a run would take first.
        chosen: MUJOCO_GL as it is set; empty when it is not.
        gpu: Whether there is a GPU that could draw.
    """
    working = next((frame for frame in frames if not frame.problem), None)
    # That MuJoCo's default needs a display is no fault of this machine.
    failed = [frame for frame in frames if frame.problem and frame.backend != UNSET]
    told = "; ".join(f"{frame.backend}: {frame.problem}" for frame in failed)
    if working is None:
        text = f"no picture can be drawn, so cameras cannot be used ({told})"
        return Finding(check="rendering", outcome="broken", text=text, fix=SYSTEM_PACKAGES["egl"])
    where = f"{working.device}, on the CPU" if working.on_cpu else working.device
    tried = "MuJoCo" if working.backend == UNSET else f"MUJOCO_GL={working.backend}"
    drawn = f"{tried} draws ({where}; {1000 * working.seconds:.0f} ms for a small picture)"
    if working.backend == UNSET:
        drawn += ", with MUJOCO_GL not set"
    elif not chosen:
        drawn += "; it is not set here, and pictures need it (LIBERO and RoboCasa set it themselves)"
    if failed:
        # Of these one is what the person chose, or EGL, which is faster than the OSMesa that worked.
        first = failed[0]
        fixes = [f"export MUJOCO_GL={working.backend}", SYSTEM_PACKAGES.get(first.backend, "")]
        is_chosen = bool(chosen) and chosen != working.backend
        lead = f"MUJOCO_GL is set to {chosen}, which" if is_chosen else first.backend
        return Finding(
            check="rendering",
            outcome="broken" if is_chosen else "warning",
            text=f"{lead} does not draw: {first.problem}; {drawn}",
            fix=", or ".join(filter(None, fixes)),
        )
    if gpu and working.on_cpu:
        return Finding(
            check="rendering",
            outcome="warning",
            text=f"{drawn}, although there is a GPU: its driver offers no OpenGL here",
            fix="start the container with NVIDIA_DRIVER_CAPABILITIES=all, or install the driver's package libnvidia-gl",
        )
    if working.backend != (chosen or UNSET):
        return Finding(check="rendering", outcome="warning", text=drawn, fix=f"export MUJOCO_GL={working.backend}")
    return Finding(check="rendering", outcome="ok", text=drawn)
