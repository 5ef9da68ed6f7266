"""Standing still before an episode, without the simulator."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from hylo_eval.envs.libero.simulation import Simulation
from hylo_eval.envs.libero.suites import SETTLE_ACTION, SETTLE_STEPS


class Scene:
    """A drawn scene that counts what it draws."""

    def __init__(self) -> None:
        self.drawn = 0

    def render(self, *, height: int, width: int, camera_name: str, depth: bool) -> np.ndarray:
        self.drawn += 1
        return np.full((height, width, 3), 200, np.uint8)


def test_only_the_pictures_that_somebody_sees_are_drawn() -> None:
    """Nine steps get black pictures of the same shape, the tenth the scene's, and so does what is drawn later."""
    scene, seen = Scene(), []

    def step(action: list[float]) -> tuple[np.ndarray, float, bool, dict]:
        assert action == list(SETTLE_ACTION)
        seen.append(scene.render(camera_name="agentview", height=4, width=6, depth=False))
        return seen[-1], 0.0, False, {}

    simulation = Simulation.__new__(Simulation)
    simulation._inner = SimpleNamespace(sim=scene, step=step)
    observation = simulation.settle()
    assert {picture.shape for picture in seen} == {(4, 6, 3)}
    assert [int(picture.max()) for picture in seen] == [0] * (SETTLE_STEPS - 1) + [200]
    assert observation is seen[-1]
    assert scene.drawn == 1
    scene.render(camera_name="agentview", height=4, width=6, depth=False)
    assert scene.drawn == 2
