"""Pictures of a MuJoCo simulation that leave no mark on it.

Drawing needs up-to-date kinematics, and bringing them up to date in the simulation's own data changes what
comes next: the solver's warm start, and the body positions that a mocap-driven arm starts its next move from.
So the picture is drawn from a second ``MjData``, and an episode with pictures is the same, bit for bit, as
the one without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from hylo_eval.errors import EnvError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FreeCamera: TypeAlias = tuple[tuple[float, float, float], float, float, float]
"""What a free camera looks at (x, y, z in m), its distance in m, azimuth and elevation in degrees."""


class PictureView:
    """Draws one camera of a MuJoCo model.

    Args:
        model: ``mujoco.MjModel`` (raw, not a wrapper).
        size: Rows and columns in pixels.
        camera: The name of a camera of the model; or the free camera, as what it looks at (x, y, z in m), its
            distance in m, azimuth and elevation in degrees.

    Raises:
        EnvError: There is no OpenGL to draw with.
    """

    def __init__(self, model: Any, size: int, camera: str | FreeCamera) -> None:
        import mujoco

        api: Any = mujoco
        self._forward = api.mj_forward
        self._model = model
        self._data = api.MjData(model)
        self._camera = camera if isinstance(camera, str) else _free_camera(api, camera)
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, size)
        model.vis.global_.offheight = max(model.vis.global_.offheight, size)
        try:
            self._renderer = api.Renderer(model, height=size, width=size)
        except (AttributeError, ImportError, OSError, RuntimeError, api.FatalError) as error:
            # MuJoCo's back ends fail in many ways where there is no display, no driver or no such library.
            raise EnvError(
                f"MuJoCo cannot draw here ({type(error).__name__}: {error})",
                fix="export MUJOCO_GL=egl (or osmesa); hylo-eval doctor says what draws here; or leave image_size at 0",
            ) from error

    def draw(self, data: Any) -> NDArray[np.uint8]:
        """A picture (size, size, 3) uint8 RGB of the present state of ``mujoco.MjData``."""
        own = self._data
        for name in ("qpos", "qvel", "act", "mocap_pos", "mocap_quat"):
            getattr(own, name)[...] = getattr(data, name)
        own.time = data.time
        self._forward(self._model, own)
        self._renderer.update_scene(own, camera=self._camera)
        picture: NDArray[np.uint8] = self._renderer.render().copy()
        return picture

    def close(self) -> None:
        """Release the OpenGL context."""
        self._renderer.close()


def renderer_name() -> str:
    """What draws: ``mujoco/<back end>``, for the trace."""
    import os

    return f"mujoco/{os.environ.get('MUJOCO_GL') or 'default'}"


def _free_camera(api: Any, view: FreeCamera) -> Any:
    camera = api.MjvCamera()
    camera.type = api.mjtCamera.mjCAMERA_FREE
    camera.lookat[:], camera.distance, camera.azimuth, camera.elevation = view
    return camera
