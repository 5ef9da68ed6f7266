"""Agents that know nothing of the task: zero, random, and the replay of recorded actions.

They are the controls of an evaluation. A task that ``zero`` solves is no task, a policy that does not beat
``random`` has learnt nothing, and ``replay`` of a recorded success must succeed again, or env and recording
disagree.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hylo_core.spec import AgentSpec, EnvSpec
from hylo_core.task import TaskInstance
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import AgentSession, Reply, StatelessSession
from hylo_eval.errors import AgentError, TraceError
from hylo_eval.numerals import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_LINE_BYTES = 4 * 1024 * 1024
"""A trace line longer than this is refused unread."""
MAX_TRACES = 100_000
"""A folder with more traces than this is refused."""


class ZeroAgent:
    """Answers zeros, clipped into the action bounds where zero is out of them.

    Args:
        action_size: Entries of the action; 0 takes size and bounds from the env (:meth:`meet`).
    """

    def __init__(self, action_size: int = 0) -> None:
        self._bounds = _Bounds(action_size, None, None)
        self.info = AgentInfo(name="zero", version="1")
        self.spec = AgentSpec()

    def meet(self, env_spec: EnvSpec) -> None:
        """Take the action's size and bounds from the env; called before the first episode on it."""
        self._bounds.take(env_spec)

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> AgentSession:
        """Begin an episode; nothing of its arguments is needed."""
        del instance, instruction, seed
        import numpy as np

        low, high = self._bounds.limits()
        action = np.clip(np.zeros(len(low)), low, high)

        def act(_: Mapping[str, Any]) -> Reply:
            return Reply(action.copy())

        return StatelessSession(act)

    def close(self) -> None:
        """Nothing is held."""


class RandomAgent:
    """Uniform actions within the bounds, drawn from the episode's seed; an index is a whole number.

    Args:
        action_size: Entries of the action; 0 takes size and bounds from the env (:meth:`meet`).
        low: Lower bound of every entry that the env gives no bound for.
        high: Upper bound of every entry that the env gives no bound for.

    Raises:
        AgentError: ``high`` is below ``low``.
    """

    def __init__(self, action_size: int = 0, low: float = -1.0, high: float = 1.0) -> None:
        if high < low:
            raise AgentError(
                f"option 'high' must be at least 'low' ({low:g}), not {high:g}", fix="--agent-arg high=1, or lower low"
            )
        self._bounds = _Bounds(action_size, low, high)
        self.info = AgentInfo(name="random", version="1")
        self.spec = AgentSpec()

    def meet(self, env_spec: EnvSpec) -> None:
        """Take the action's size and bounds from the env; called before the first episode on it."""
        self._bounds.take(env_spec)

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> AgentSession:
        """Begin an episode with its own generator."""
        del instance, instruction
        import numpy as np

        low, high = self._bounds.limits()
        whole = self._bounds.whole()
        generator = np.random.default_rng(seed)

        def act(_: Mapping[str, Any]) -> Reply:
            if whole:
                return Reply(generator.integers(low.astype(int), high.astype(int), endpoint=True))
            return Reply(generator.uniform(low, high))

        return StatelessSession(act)

    def close(self) -> None:
        """Nothing is held."""


class ReplayAgent:
    """Repeats the applied actions of recorded traces, instance by instance.

    Args:
        traces: A trace file (``.jsonl``), or a folder of them such as ``runs/<run id>/episodes``.

    Raises:
        TraceError: A file cannot be read or is no trace.
        AgentError: There is no such file or folder, or two traces are of one instance.
    """

    def __init__(self, traces: str) -> None:
        self._traces = _index_traces(Path(traces))
        self.info = AgentInfo(name="replay", version="1", components={"traces": len(self._traces)})
        self.spec = AgentSpec()

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> AgentSession:
        """Begin the replay of this instance's trace.

        Raises:
            AgentError: No trace is of this instance.
        """
        del instruction, seed
        if instance.key not in self._traces:
            raise AgentError(f"no trace of {instance.key!r} among the {counted(len(self._traces), 'trace')} to replay")
        path = self._traces[instance.key]
        return _ReplaySession(path, _applied_actions(path))

    def close(self) -> None:
        """Nothing is held."""


class _ReplaySession:
    """The actions of one trace, in order."""

    def __init__(self, path: Path, actions: list[Floats]) -> None:
        self._path = path
        self._actions = actions
        self._next = 0

    def act(self, observation: Mapping[str, Any]) -> Reply:
        """The next recorded action, whatever is observed."""
        del observation
        if self._next >= len(self._actions):
            raise AgentError(f"{self._path} holds {len(self._actions)} actions, and the episode goes on")
        action = self._actions[self._next]
        self._next += 1
        return Reply(action.copy())

    def close(self) -> None:
        """Nothing is held."""


class _Bounds:
    """Size and bounds of the action: as given, or as the env has them."""

    def __init__(self, size: int, low: float | None, high: float | None) -> None:
        if size < 0:
            raise AgentError(
                f"option 'action_size' must be at least 0, not {size}", fix="--agent-arg action_size=4, say"
            )
        self._size = size
        self._default = (low, high)
        self._spec: EnvSpec | None = None

    def take(self, spec: EnvSpec) -> None:
        if self._size and spec.action_size not in (None, self._size):
            raise AgentError(
                f"option 'action_size' is {self._size}, but the env's action has {spec.action_size} entries",
                fix="leave action_size out: the environment says it",
            )
        self._spec = spec

    def limits(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds, each (action_size,)."""
        import numpy as np

        size = self._size or (self._spec.action_size if self._spec is not None else None)
        if not size:
            raise AgentError(
                "the env does not say how many entries its action has",
                fix="--agent-arg action_size=<entries>",
            )
        low, high = self._default
        lows = np.full(size, -np.inf if low is None else low, dtype=np.float64)
        highs = np.full(size, np.inf if high is None else high, dtype=np.float64)
        for item in self._spec.action if self._spec is not None else ():
            if item.low is not None:
                lows[item.start : item.stop] = item.low
            if item.high is not None:
                highs[item.start : item.stop] = item.high
        return lows, highs

    def whole(self) -> bool:
        """Whether the action is an index."""
        return self._spec is not None and any(item.unit == "index" for item in self._spec.action)


def _index_traces(path: Path) -> dict[str, Path]:
    """Trace files by instance key."""
    if path.is_dir():
        files = sorted(path.glob("*.jsonl"))
    elif path.is_file():
        files = [path]
    else:
        raise AgentError(
            f"option 'traces' names no file or folder: {path}", fix="--agent-arg traces=runs/RUN_ID/episodes"
        )
    if not files or len(files) > MAX_TRACES:
        raise AgentError(
            f"{path} holds {counted(len(files), 'trace')}; replay takes between 1 and {MAX_TRACES}",
            fix="name a file or folder with traces=: runs/RUN_ID/episodes",
        )
    found: dict[str, Path] = {}
    for file in files:
        key = _instance_key(file)
        if key in found:
            raise AgentError(
                f"{found[key]} and {file} are both traces of {key!r}; keep the one to replay",
                fix="name a file, or a folder with one trace of each",
            )
        found[key] = file
    return found


def _instance_key(path: Path) -> str:
    start = next(_events(path), None)
    if start is None or "instance" not in start:
        raise TraceError(path, 1, "is no episode_start event; this is no trace")
    return TaskInstance.from_dict(start["instance"], source=str(path)).key


def _applied_actions(path: Path) -> list[Floats]:
    import numpy as np

    actions: list[Floats] = []
    for line, event in enumerate(_events(path), start=1):
        if event.get("type") != "step":
            continue
        applied = event.get("applied")
        # A list of numbers and nothing else: the words "NaN" and "Infinity" of a trace are no action to
        # repeat.
        if not isinstance(applied, list) or not all(_is_number(item) for item in cast("list[Any]", applied)):
            raise TraceError(path, line, "the applied action is no list of finite numbers")
        actions.append(np.array(applied, dtype=np.float64))
    return actions


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _events(path: Path) -> Iterator[Mapping[str, Any]]:
    """The events of a trace as plain JSON, a line at a time."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise TraceError(path, number, f"is longer than {MAX_LINE_BYTES} bytes")
            try:
                event = json.loads(line, parse_constant=_refuse_constant)
            except (ValueError, RecursionError) as error:
                raise TraceError(path, number, f"is no JSON ({error})") from error
            if not isinstance(event, dict):
                raise TraceError(path, number, "is no event: a JSON object with a type")
            yield cast("Mapping[str, Any]", event)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
