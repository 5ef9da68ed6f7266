"""A run whose episodes have pictures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from hylo_core.spec import CameraSpec, EnvSpec
from hylo_eval import evaluate
from hylo_eval.evaluation.conclusion import EvalResult
from hylo_eval.traces.layout import RunFolder
from tests.episodes import FunctionAgent, ScriptedEnv
from tests.runs import unit


class PictureEnv(ScriptedEnv):
    """Shows one grey level a step, the seed's in the red channel; draws into the same array again, as simulators do."""

    renderer = "test"

    def __init__(
        self,
        spec: Any,
        *,
        won: Collection[int] = (),
        size: tuple[int, int] = (32, 48),
        declared: bool | tuple[int, int] = True,
        **options: Any,
    ) -> None:
        super().__init__(spec, **options)
        self.won = won
        height, width = declared if isinstance(declared, tuple) else size
        cameras = (CameraSpec(name="front", height=height, width=width, orientation="upright"),) if declared else ()
        self.env_spec = EnvSpec(control_hz=20.0, cameras=cameras)
        self.picture = np.zeros((*size, 3), np.uint8)

    def draw(self) -> dict[str, Any]:
        self.picture[:] = (self.seed * 40, 20 * self.taken, 128)
        return {"position": self.position.copy(), "front": self.picture}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        _, info = super().reset(seed=seed, options=options)
        self.seed = seed or 0
        self.success_at = (1,) if seed in self.won else ()
        return self.draw(), info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, *rest = super().step(action)
        return (self.draw() if "front" not in observation else observation), *rest


def swap_films(run: RunFolder, shown: int, under: int) -> Path:
    """Put the video of one seed's episode under the file name of another's; gives that file."""
    ((source,), (target,)) = (run.videos.glob(f"*task-{seed}-*.mp4") for seed in (shown, under))
    target.write_bytes(source.read_bytes())
    return target


def write_picture_run(
    root: Path, run_id: str, won: Collection[int] = (), *, count: int = 3, video: Any = "all", **options: Any
) -> EvalResult:
    """Run so many seeds of one task, of which some succeed at step 1 and the others take ten steps."""
    return evaluate(
        unit(count),
        "heldout",
        env_factory=lambda spec: PictureEnv(spec, won=won, **options),
        agent=FunctionAgent(),
        run_root=root,
        run_id=run_id,
        manifest={"name": run_id, "version": "1"},
        max_attempts=1,
        video=video,
    )
