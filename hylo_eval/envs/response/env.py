"""``response``: a question about pictures, answered once in text.

The env shows and records; it does not judge. Truth, contract, weights and tau stand in the task's param ``truth``,
which the env does not even read: ``info["success"]`` is False at every step, ``env_spec.success_source`` says
who decides, and the task's predicate is ``response_correct``. For a task of that predicate the scorers ``success``,
``success_once`` and ``success_at_end`` score the recorded text (:mod:`hylo_eval.scoring.response`). So there is one
place where a response is judged, a trace can be judged again with a corrected scorer, and this package needs
nothing from the verdict layer above it. The reward is 0 for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from hylo_core.errors import ContractError
from hylo_core.spec import CameraSpec, EnvSpec, StateSpec
from hylo_core.task import InitStateRef, TaskSpec
from hylo_eval.envs.protocol import INSTRUCTION, SUCCESS
from hylo_eval.envs.response.files import PictureFile, load_picture
from hylo_eval.envs.response.scene import Scene
from hylo_eval.envs.task_support import (
    installed_versions,
    instance_at_reset,
    read_params,
    require_init,
    static_instruction,
)
from hylo_eval.errors import AgentError, EnvError
from hylo_eval.traces.encoding import picture_digest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Picture = NDArray[np.uint8]

PROMPT = "prompt"
"""The observation that holds the question."""
IMAGE = "image"
"""The observation that holds the picture; of several, ``image_1``, ``image_2``, …"""
MAX_RESPONSE_CHARACTERS = 4_000_000
"""A longer text is no response but an error of the agent."""

PARAMS: Mapping[str, type] = {"truth": Mapping, "scene": Mapping, "picture_digest": str, "images": tuple}
"""The params of a task: ``truth``, and either ``scene`` with ``picture_digest`` or ``images``."""


class ResponseEnv(gymnasium.Env[Any, Any]):
    """The environment of one question; the class is its own factory.

    Observations: ``prompt`` (text) and, uint8 RGB with the top row first, ``image`` (height, width, 3). The action
    is text. The episode ends with the first one.

    Args:
        task: Param ``truth`` (for the scorers), and either ``scene`` and ``picture_digest`` (a
            :class:`~hylo_eval.envs.response.scene.Scene`, drawn here, and the digest of its pixels) or ``images``
            (a list of :class:`~hylo_eval.envs.response.files.PictureFile`).
        benchmark_folder: The folder that paths of ``images`` are relative to; the harness gives the folder of the
            benchmark file.

    Raises:
        EnvError: The task has other params, or another predicate than ``response_correct``.
    """

    def __init__(self, task: TaskSpec, *, benchmark_folder: str | None = None) -> None:
        params = check_question(task)
        self._task = task
        self._prompt = static_instruction(task)
        self._pictures = _pictures(task, params, benchmark_folder)
        shapes = {name: picture.shape for name, picture in self._pictures.items()}
        self.observation_space = _observation_space(self._prompt, shapes)
        self.action_space = gymnasium.spaces.Text(min_length=0, max_length=MAX_RESPONSE_CHARACTERS)
        self.env_spec = _env_spec(shapes)
        self.versions = installed_versions("numpy")
        self.renderer = "hylo" if "scene" in params else "files"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Ask the question."""
        instance = instance_at_reset(self._task, seed, options)
        super().reset(seed=instance.seed)
        return self._observe(), {INSTRUCTION: self._prompt, SUCCESS: False}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Take the response and end the episode.

        Raises:
            AgentError: It is no text, or longer than :data:`MAX_RESPONSE_CHARACTERS`.
        """
        if not isinstance(action, str):
            raise AgentError(f"a response is text, not {type(action).__name__}")
        if len(action) > MAX_RESPONSE_CHARACTERS:
            raise AgentError(
                f"the response has {len(action)} characters; more than {MAX_RESPONSE_CHARACTERS} are no response"
            )
        return self._observe(), 0.0, True, False, {SUCCESS: False}

    def _observe(self) -> dict[str, Any]:
        return {PROMPT: self._prompt, **{name: picture.copy() for name, picture in self._pictures.items()}}


def check_question(task: TaskSpec, _: str = "") -> dict[str, Any]:
    """Refuse a task that asks no question; no picture is opened or drawn for it.

    Returns:
        The task's params.

    Raises:
        EnvError: A param, the predicate, the init or the instruction is not this family's.
    """
    require_init(task, InitStateRef)
    _require_predicate(task)
    params = read_params(task, required={"truth": PARAMS["truth"]}, optional=PARAMS)
    static_instruction(task)
    if ("scene" in params) == ("images" in params) or ("scene" in params) != ("picture_digest" in params):
        raise EnvError(f"task {task.id!r} needs either the params 'scene' and 'picture_digest', or the param 'images'")
    if "scene" in params:
        _scene(task, params)
    else:
        _picture_files(task, params)
    return params


def _require_predicate(task: TaskSpec) -> None:
    if task.success.kind != "builtin" or task.success.name != "response_correct":
        raise EnvError(
            f"task {task.id!r} asks for the success predicate {task.success.name or task.success.kind!r}, "
            "but a response is judged by kind 'builtin', name 'response_correct'"
        )


def _pictures(task: TaskSpec, params: Mapping[str, Any], folder: str | None) -> dict[str, Picture]:
    """The pictures of a task by observation key."""
    if "scene" in params:
        return {IMAGE: _drawn(task, params)}
    if folder is None:
        raise EnvError(
            f"task {task.id!r} shows picture files, and nobody said where: load the benchmark from its file, "
            "or give the factory benchmark_folder"
        )
    loaded = [load_picture(Path(folder), file) for file in _picture_files(task, params)]
    if len(loaded) == 1:
        return {IMAGE: loaded[0]}
    return {f"{IMAGE}_{number}": picture for number, picture in enumerate(loaded, start=1)}


def _picture_files(task: TaskSpec, params: Mapping[str, Any]) -> list[PictureFile]:
    items: Sequence[Any] = params["images"]
    files: list[PictureFile] = []
    for number, item in enumerate(items):
        try:
            files.append(PictureFile.from_dict(item))
        except ContractError as error:
            raise EnvError(f"task {task.id!r}: {error.under(f'params.images[{number}]')}") from error
    if not files:
        raise EnvError(f"param 'images' of task {task.id!r} is empty")
    return files


def _scene(task: TaskSpec, params: Mapping[str, Any]) -> Scene:
    try:
        return Scene.from_dict(params["scene"])
    except ContractError as error:
        raise EnvError(f"task {task.id!r}: {error.under('params.scene')}") from error


def _drawn(task: TaskSpec, params: Mapping[str, Any]) -> Picture:
    """The picture of a scene, if it is the one the task was made with."""
    from hylo_eval.envs.response.drawing import draw

    picture = draw(_scene(task, params))
    if picture_digest(picture) != params["picture_digest"]:
        raise EnvError(
            f"the scene of task {task.id!r} is drawn differently here than when the benchmark was made: "
            "another version of the drawing shows other pictures"
        )
    return picture


def _observation_space(prompt: str, shapes: Mapping[str, tuple[int, ...]]) -> gymnasium.spaces.Dict:
    import numpy as np

    characters = "".join(sorted(set(prompt))) or " "
    members: dict[str, gymnasium.Space[Any]] = {
        PROMPT: gymnasium.spaces.Text(min_length=0, max_length=max(len(prompt), 1), charset=characters),
        **{name: gymnasium.spaces.Box(0, 255, shape, np.uint8) for name, shape in shapes.items()},
    }
    return gymnasium.spaces.Dict(members)


def _env_spec(shapes: Mapping[str, tuple[int, ...]]) -> EnvSpec:
    cameras = [
        CameraSpec(name=name, height=shape[0], width=shape[1], orientation="upright") for name, shape in shapes.items()
    ]
    return EnvSpec(
        cameras=tuple(cameras),
        state=(StateSpec(name=PROMPT, dtype="text", unit="none", frame="none"),),
        instruction_source="benchmark",
        success_source="scored from the trace: response_correct",
    )
