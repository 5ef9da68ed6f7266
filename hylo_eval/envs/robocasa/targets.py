"""Where a task wants the robot, for scripted agents: privileged, and only for tasks that say it in one pose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hylo_eval.errors import EnvError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


def target_reader(task: str) -> Callable[[Any], NDArray[np.float64]]:
    """How the target of a task is read from the package's environment: x, y, z in m, world frame, and yaw in rad.

    Raises:
        EnvError: The task has no single pose.
    """
    if task == "NavigateKitchen":
        return _navigation_target
    if task in ("OpenDrawer", "CloseDrawer"):
        return _drawer_handle
    raise EnvError(
        f"privileged changes nothing for {task}: only NavigateKitchen, OpenDrawer and CloseDrawer have a target pose",
        fix="leave privileged out",
    )


def _navigation_target(env: Any) -> NDArray[np.float64]:
    """Where the base shall stand, and which way it shall look."""
    import numpy as np

    x, y = (float(value) for value in env.target_pos[:2])
    return np.array([x, y, 0.0, float(env.target_ori[2])])


def _drawer_handle(env: Any) -> NDArray[np.float64]:
    """The middle of the handle, and the yaw of the drawer (0 where it opens towards -y)."""
    import numpy as np

    model, data = env.sim.model, env.sim.data
    position = data.geom_xpos[model.geom_name2id(env.drawer.handle_name)]
    return np.array([*(float(value) for value in position), float(env.drawer.rot)])
