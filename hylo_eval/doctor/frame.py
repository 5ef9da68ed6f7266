"""Draws one small picture with MuJoCo and prints as JSON what came out. Run as a script, in a process of its own.

A red ball in front of a black sky: whatever draws, the middle of the picture is red and its corner is not.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

SCENE = """
<mujoco>
  <visual><headlight ambient="0.6 0.6 0.6" diffuse="0.4 0.4 0.4"/></visual>
  <worldbody>
    <camera name="eye" pos="0 -2 0" xyaxes="1 0 0 0 0 1"/>
    <geom type="sphere" size="0.4" rgba="1 0 0 1"/>
  </worldbody>
</mujoco>
"""
HEIGHT, WIDTH = 48, 64


def draw() -> dict[str, Any]:
    """Draw and measure: mean colours (0-255) of the middle and of a corner, what drew, seconds for one frame."""
    import mujoco  # pyright: ignore[reportMissingImports]

    api: Any = mujoco
    model = api.MjModel.from_xml_string(SCENE)
    data = api.MjData(model)
    api.mj_forward(model, data)
    renderer = api.Renderer(model, HEIGHT, WIDTH)
    renderer.update_scene(data, camera="eye")
    renderer.render()
    started = time.perf_counter()
    picture = renderer.render()
    seconds = time.perf_counter() - started
    return {
        "middle": [float(part) for part in picture[20:28, 28:36].mean(axis=(0, 1))],
        "corner": [float(part) for part in picture[:6, :6].mean(axis=(0, 1))],
        "device": _device(),
        "seconds": seconds,
    }


def _device() -> str:
    """What OpenGL says draws: ``llvmpipe …`` is a program on the CPU."""
    try:
        from OpenGL import GL  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    except ImportError:
        return "unknown"
    api: Any = GL
    name = api.glGetString(api.GL_RENDERER)
    return name.decode("ascii", errors="replace") if isinstance(name, bytes) else "unknown"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(draw()) + "\n")
    sys.stdout.flush()
    # Some drivers crash while the process is torn down; the picture is drawn and that is what was asked.
    os._exit(0)
