"""Scores of the Reasoning Gym library: one data set's own scorer applied to one entry.

Several of these scorers evaluate the answer as Python. Called here, they do so in the calling process: see
:mod:`hylo_eval.verify.reasoning_gym_child` for the guarded way.
"""

from __future__ import annotations

import json
import numbers
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from hylo_eval.verify.extras import import_extra
from hylo_eval.verify.verdict import InvalidTask

EXTRA = "reasoning-gym"

Scorer: TypeAlias = "Callable[[str, dict[str, Any]], object]"


def check_entry_form(dataset: str, entry: object) -> None:
    """Refuse an entry that is not one of ``dataset``.

    Raises:
        InvalidTask: The entry is no object, has no answer (a text or null), or names another data set.
    """
    if not isinstance(entry, Mapping):
        raise InvalidTask("the Reasoning Gym entry must be a JSON object")
    members = cast("Mapping[str, object]", entry)
    metadata = members.get("metadata")
    if not isinstance(metadata, Mapping):
        raise InvalidTask("the Reasoning Gym entry must have an object named metadata")
    source = cast("Mapping[str, object]", metadata).get("source_dataset")
    if source != dataset:
        raise InvalidTask(f"the entry comes from data set {source!r:.100}, the specification names {dataset!r}")
    if "answer" not in members or not isinstance(members["answer"], str | None):
        raise InvalidTask("the Reasoning Gym entry must have an answer, a text or null")


def score(dataset: str, params: Mapping[str, Any] | None, entry: Mapping[str, Any], answer: str) -> float:
    """The data set's score of an answer; partial credit is kept.

    Args:
        dataset: The data set's name in the library.
        params: The configuration of the data set; None for its defaults.
        entry: A generated entry, decoded from JSON.
        answer: The extracted answer.

    Raises:
        InvalidTask: The data set is unknown, refuses its configuration, or compares with the entry's own answer,
            which is null.
        TypeError: The scorer returned something other than a number.
        Exception: Whatever the scorer raises.
    """
    scorer = _scorer(dataset, None if params is None else json.dumps(params, sort_keys=True))
    prepared = _Entry(_with_tuples(entry))
    try:
        result = scorer(answer, prepared)
    finally:
        # Whatever the scorer made of null: a comparison with it says nothing of the answer.
        if prepared.answer_was_missed:
            raise InvalidTask(f"data set {dataset} compares with the entry's own answer, which is null")
    if isinstance(result, bool) or not isinstance(result, numbers.Real):
        raise TypeError(f"the scorer of {dataset} returned {type(result).__name__}, not a number")
    return float(result)


class _Entry(dict[str, Any]):
    """An entry that notices when a scorer asks for an answer that it does not have.

    Attributes:
        answer_was_missed: Whether one did.
    """

    answer_was_missed = False

    def __getitem__(self, key: str) -> Any:
        return self._noticed(key, super().__getitem__(key))

    def get(self, key: str, default: Any = None) -> Any:
        return self._noticed(key, super().get(key, default))

    def _noticed(self, key: str, value: Any) -> Any:
        self.answer_was_missed |= key == "answer" and value is None
        return value


@lru_cache(maxsize=32)
def _scorer(dataset: str, params: str | None) -> Scorer:
    """The scorer of a configured data set; building one can take seconds, so they are kept."""
    gym = import_extra("reasoning_gym", extra=EXTRA)
    registered = import_extra("reasoning_gym.factory", extra=EXTRA).DATASETS
    if dataset not in registered:
        raise InvalidTask(f"unknown Reasoning Gym data set {dataset!r:.100}")
    try:
        configured = gym.create_dataset(dataset, **({} if params is None else json.loads(params)))
    except (TypeError, ValueError, AssertionError) as error:
        # The library's configurations check themselves with assertions.
        raise InvalidTask(f"data set {dataset} refuses its configuration: {error}") from error
    found: Scorer = configured.score_answer
    return found


def _with_tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with its grid as tuples: scorers of grids compare tuples, which JSON turned into lists."""
    metadata = dict(entry["metadata"])
    grid = metadata.get("output")
    if isinstance(grid, list) and all(isinstance(row, list) for row in cast("list[object]", grid)):
        metadata["output"] = tuple(tuple(row) for row in cast("list[Sequence[object]]", grid))
    return {**entry, "metadata": metadata}
