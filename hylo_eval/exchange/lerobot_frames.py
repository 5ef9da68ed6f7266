"""An episode's trace as columns of numbers, a row a frame, and what can be said of such columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import attrs

from hylo_core.trace import EpisodeTrace
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]


@attrs.frozen(kw_only=True)
class EpisodeFrames:
    """The frames of an episode.

    Attributes:
        length: How many.
        numbers: Column -> numbers, shape (length,) or (length, size).
    """

    length: int
    numbers: Mapping[str, Column]


def frames_of(trace: EpisodeTrace, *, episode: int, first: int, task: int, fps: float) -> EpisodeFrames:
    """The frames of a trace with a reset and at least one step.

    Args:
        trace: The episode.
        episode: Its index in the dataset.
        first: Frames in the dataset before it.
        task: Index of its task.
        fps: Frames a second.

    Raises:
        EvalError: An action or observation is text, or changes its size.
    """
    import numpy as np

    length = len(trace.steps)
    seen = [] if trace.reset is None else [trace.reset.observation]
    seen += [step.observation for step in trace.steps[:-1]]
    keys = _state_keys(trace)
    index = np.arange(length, dtype=np.int64)
    done = np.zeros(length, dtype=bool)
    done[-1] = True
    numbers: dict[str, Column] = {}
    if keys:
        numbers["observation.state"] = _rows(trace, [[item[key] for key in keys] for item in seen], "observations")
    numbers |= {
        "action": _rows(trace, [[step.applied] for step in trace.steps], "actions"),
        "next.reward": np.asarray([step.reward for step in trace.steps], dtype=np.float32),
        "next.success": np.asarray([step.success for step in trace.steps], dtype=bool),
        "next.done": done,
        "timestamp": (index / fps).astype(np.float32),
        "frame_index": index,
        "episode_index": np.full(length, episode, dtype=np.int64),
        "index": index + first,
        "task_index": np.full(length, task, dtype=np.int64),
    }
    return EpisodeFrames(length=length, numbers=numbers)


def state_names(trace: EpisodeTrace) -> tuple[str, ...]:
    """A name for each number of ``observation.state``: the observation's key, with an index where it has several."""
    names: list[str] = []
    for key in _state_keys(trace):
        size = 1
        for extent in trace.start.observations[key].shape:
            size *= extent
        names += [key] if size == 1 else [f"{key}[{number}]" for number in range(size)]
    return tuple(names)


class FeatureStatistics:
    """Smallest, largest, mean and standard deviation of columns, gathered in parts."""

    def __init__(self) -> None:
        self._parts: dict[str, list[tuple[int, Any, Any, Any, Any]]] = {}

    def add(self, columns: Mapping[str, Column]) -> None:
        """Take the columns of an episode."""
        import numpy as np

        for name, column in columns.items():
            values = column.astype(np.float64)
            moments = (len(values), values.min(0), values.max(0), values.sum(0), np.square(values).sum(0))
            gathered = self._parts.setdefault(name, [])
            gathered.append(moments)
            if len(gathered) > 1:
                counts, lows, highs, sums, squares = (list(part) for part in zip(*gathered, strict=True))
                merged = (
                    sum(counts),
                    np.minimum(*lows),
                    np.maximum(*highs),
                    sums[0] + sums[1],
                    squares[0] + squares[1],
                )
                self._parts[name] = [merged]

    def summary(self) -> dict[str, dict[str, list[float]]]:
        """``min``, ``max``, ``mean``, ``std`` and ``count`` a column, each a list."""
        import numpy as np

        found: dict[str, dict[str, list[float]]] = {}
        for name, ((count, low, high, total, squares),) in self._parts.items():
            mean = total / count
            deviation = np.sqrt(np.maximum(squares / count - np.square(mean), 0.0))
            parts = {"min": low, "max": high, "mean": mean, "std": deviation}
            found[name] = {kind: np.atleast_1d(value).tolist() for kind, value in parts.items()}
            found[name]["count"] = [count]
        return found


def _state_keys(trace: EpisodeTrace) -> list[str]:
    layouts = trace.start.observations
    shown = [] if trace.reset is None else list(trace.reset.observation)
    return [key for key in shown if key in layouts and layouts[key].dtype != "text"]


def _rows(trace: EpisodeTrace, rows: list[list[Any]], what: str) -> Column:
    """Each row's arrays, flattened and joined."""
    import numpy as np

    try:
        joined = [np.concatenate([np.ravel(np.asarray(part, dtype=np.float32)) for part in row]) for row in rows]
        return cast("Column", np.stack(joined))
    except (ValueError, TypeError) as error:
        raise EvalError(
            f"{trace.key}: its {what} are no numbers of one size, which a dataset needs", fix="--to csv"
        ) from error
