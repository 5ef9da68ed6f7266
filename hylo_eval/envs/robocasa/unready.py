"""The environment of a RoboCasa that lacks something: known in all it offers, and refusing every reset with the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import gymnasium
import numpy as np

from hylo_eval.envs.robocasa import specs
from hylo_eval.errors import EnvUnready

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hylo_core.spec import EnvSpec


class UnreadyEnv(gymnasium.Env[Any, Any]):
    """Stands where the simulator cannot be: every episode is an environment error and abstains.

    What agents and filters are held against needs no simulator, so a run begins, and says of every episode what is
    missing, as it does where one task of many lacks an asset.

    Args:
        spec: What the environment would offer.
        error: What is missing, raised at every reset.
        versions: The packages and assets that are there.
        renderer: What would draw.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(self, spec: EnvSpec, error: EnvUnready, *, versions: Mapping[str, str], renderer: str) -> None:
        self._message, self._fix = error.message, error.fix
        self.env_spec = spec
        self.observation_space = specs.observation_space(spec)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (spec.action_size or 0,), np.float64)
        self.versions = dict(versions)
        self.renderer = renderer

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> NoReturn:
        """Say what is missing.

        Raises:
            EnvUnready: Always.
        """
        del seed, options
        raise EnvUnready(self._message, fix=self._fix)

    def step(self, action: object) -> NoReturn:
        """Say what is missing.

        Raises:
            EnvUnready: Always.
        """
        del action
        raise EnvUnready(self._message, fix=self._fix)
