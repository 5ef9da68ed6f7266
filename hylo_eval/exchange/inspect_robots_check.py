"""Whether a log of inspect-robots says of itself what its epochs say.

Of one that we exported, everything outside our own key is derived from what stands under it. Of any other, the means
and counts are computed again as inspect-robots 0.60.0 computes them; its log does not name the reducer of epochs, so a
scene's number has to be what one of the reducers makes of them.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from hylo_eval.evallog.consistency import Contradiction, compare_trees
from hylo_eval.evallog.v02 import EvalLog
from hylo_eval.exchange.inspect_robots import to_inspect_robots

_FROM_TRACES: Final = frozenset(
    {
        "instruction",
        "operator_judgements",
        "judgement_sources",
        "operator_notes",
        "operator_messages",
        "termination_reasons",
        "policy_transcripts",
        "frames_dir",
        "inspect_robots_version",
    }
)
"""Members of an export that our log does not hold, and those that people add later."""


def exported_contradictions(members: Mapping[str, Any], log: EvalLog) -> Iterator[Contradiction]:
    """Where an export differs from what the log under our own key makes of it."""
    expected = to_inspect_robots(log)
    for part in ("status", "eval", "results", "stats", "samples"):
        yield from compare_trees(_derived(members.get(part)), _derived(expected[part]), part)


def foreign_contradictions(members: Mapping[str, Any]) -> Iterator[Contradiction]:
    """Where the results of a log of theirs differ from its scenes, as far as it records them."""
    scenes = _mappings(members.get("samples"))
    epochs = [_mappings(scene.get("epochs")) for scene in scenes]
    results = _mapping(members.get("results"))
    trials = [epoch for of_scene in epochs for epoch in of_scene]
    for name, found in (("total_scenes", len(scenes)), ("total_trials", len(trials))):
        if name in results:
            yield from compare_trees(results[name], found, f"results.{name}")
    unscored = sum(not epoch for epoch in trials)
    errored = results.get("errored_trials", 0)
    # Cancelled trials have no scores either.
    if not _is_number(errored) or errored > unscored:
        yield Contradiction("results.errored_trials", errored, unscored)
    reduced = [_reduced(scene, of_scene) for scene, of_scene in zip(scenes, epochs, strict=True)]
    for index, (scene, of_scene) in enumerate(zip(scenes, epochs, strict=True)):
        for name, value in _mapping(scene.get("reduced")).items():
            yield from _reduction(value, _numbers(of_scene, name), f"samples[{index}].reduced.{name}")
    for name, value in _mapping(results.get("metrics")).items():
        means = [numbers[name] for numbers in reduced if numbers.get(name) is not None]
        expected = math.fsum(means) / len(means) if means else None
        yield from compare_trees(value, expected, f"results.metrics.{name}", scale=max(map(abs, means), default=0.0))


def _derived(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: _derived(item) for name, item in members.items() if name not in _FROM_TRACES}
    return [_derived(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _reduced(scene: Mapping[str, Any], epochs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """A scene's numbers: those on record, else the means of its epochs."""
    recorded = _mapping(scene.get("reduced"))
    if recorded:
        return {name: float(value) for name, value in recorded.items() if _is_number(value)}
    names = dict.fromkeys(name for epoch in epochs for name in epoch)
    found = {name: _numbers(epochs, name) for name in names}
    return {name: math.fsum(numbers) / len(numbers) for name, numbers in found.items() if numbers}


def _reduction(value: Any, numbers: Sequence[float], path: str) -> Iterator[Contradiction]:
    """Whether a scene's number is one that a reducer makes of its epochs' numbers."""
    possible = list(_reductions(numbers))
    if not possible:
        yield from compare_trees(value, None, path)
    elif not any(_is_number(value) and math.isclose(value, one, rel_tol=1e-9, abs_tol=1e-12) for one in possible):
        yield Contradiction(path, value, possible[0])


def _reductions(numbers: Sequence[float]) -> Iterator[float]:
    """Mean, median, largest, smallest, most frequent, and the share of k draws with a success (pass@k)."""
    if not numbers:
        return
    yield math.fsum(numbers) / len(numbers)
    yield statistics.median(numbers)
    yield max(numbers)
    yield min(numbers)
    counts = Counter(numbers)
    yield from (number for number, count in counts.items() if count == max(counts.values()))
    total, successes = len(numbers), sum(number >= 0.5 for number in numbers)
    for k in range(1, total + 1):
        yield 1.0 - math.comb(total - successes, k) / math.comb(total, k)


def _numbers(epochs: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [float(epoch[name]) for epoch in epochs if _is_number(epoch.get(name)) or isinstance(epoch.get(name), bool)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [_mapping(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
