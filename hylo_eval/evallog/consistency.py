"""Whether a log says of itself what its samples say: every number of the header that they decide, computed again.

What a header says beyond its samples (durations of replies, times, disagreements, agreement of graders) is read from
the traces when the log is made; nothing in the log can contradict it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_eval.errors import EvalError
from hylo_eval.evallog.building import initial_states_of, summarise_samples
from hylo_eval.evallog.v02 import EvalLog

RELATIVE_TOLERANCE: Final = 1e-9
SPREAD_TOLERANCE: Final = 1e-12
"""Of a number beside the largest score: a mean of large numbers of both signs may be near zero."""

_COUNTS: Final = frozenset({"n_episodes", "n_scored"})
_UNRECORDED: Final = ("interval", "worst_case", "macro", "tasks", "tags", "total_steps", "initial_states")
"""Members that a log without the knowledge leaves None or empty."""


@attrs.frozen
class Contradiction:
    """A number of a log that its samples contradict.

    Attributes:
        path: Where it stands: ``results.overall.success.mean``.
        recorded: What stands there; None where nothing does.
        recomputed: What the samples give; None where they give nothing.
        basis: What gives it, with the verb.
    """

    path: str
    recorded: Any
    recomputed: Any
    basis: str = "its samples give"

    @property
    def words(self) -> str:
        """A line for people."""
        return f"{self.path}: is {_words(self.recorded)}, but {self.basis} {_words(self.recomputed)}"


class LogContradiction(EvalError):
    """A log whose numbers contradict each other, or the manifest of the run it lies in; exit code 2.

    Attributes:
        source: The file.
        contradictions: All of them, in the log's order.
    """

    def __init__(
        self,
        source: str,
        contradictions: Sequence[Contradiction],
        *,
        remark: str = "one was changed later",
        fix: str = "",
    ) -> None:
        self.source = source
        self.contradictions = tuple(contradictions)
        more = f" (and {len(contradictions) - 1} more)" if len(contradictions) > 1 else ""
        super().__init__(
            f"{source}: {contradictions[0].words}{more}; {remark}",
            fix=fix or "hylo-eval rescore RUN makes a new log of the traces",
        )


def refuse_contradictions(log: EvalLog, source: str | Path) -> None:
    """Let only a log pass that agrees with itself.

    Raises:
        LogContradiction: It does not.
    """
    found = tuple(find_contradictions(log))
    if found:
        raise LogContradiction(str(source), found)


def find_contradictions(log: EvalLog) -> Iterator[Contradiction]:
    """Compute the header's numbers again from the samples: counts, means, intervals, bounds, statuses, steps.

    Numbers agree to within :data:`RELATIVE_TOLERANCE`. Of a log of v0.1 only what that version records is checked.
    """
    strays = tuple(_strays(log))
    if strays:
        # Intervals and bounds of such scores are nothing that could be computed.
        yield from strays
        return
    recorded = {"results": log.results.to_dict(), "stats": log.stats.to_dict()}
    expected = _expected(log)
    if log.status == "unknown":
        expected = _as_far_as_v01_knows(expected, recorded["results"])
        for name in _COUNTS & recorded["results"]["other"].keys():
            # What is no count was kept beside the counts.
            yield Contradiction(f"results.{name}", recorded["results"]["other"][name], expected["results"].get(name))
    scale = max(
        (abs(score.value) for item in log.samples for score in item.scores.values() if score.value), default=0.0
    )
    for part, members in expected.items():
        for name, value in members.items():
            yield from compare_trees(recorded[part].get(name), value, f"{part}.{name}", scale=scale)


def compare_trees(recorded: Any, expected: Any, path: str, *, scale: float = 0.0) -> Iterator[Contradiction]:
    """Where two JSON values differ, numbers by more than the tolerance.

    Args:
        recorded: What stands in the file.
        expected: What should.
        path: Where.
        scale: Size of the largest number that went into the expected ones.
    """
    if recorded in (None, {}) and path.rpartition(".")[2] in _UNRECORDED:
        return
    ours, theirs = _members(recorded), _members(expected)
    if ours is not None and theirs is not None:
        for name in dict.fromkeys([*ours, *theirs]):
            yield from compare_trees(ours.get(name), theirs.get(name), f"{path}{name}", scale=scale)
    elif not _agree(recorded, expected, scale):
        yield Contradiction(path, recorded, expected)


def _members(value: Any) -> dict[str, Any] | None:
    """The members of an object or array by the end of their path; None of anything else."""
    if isinstance(value, Mapping):
        return {f".{name}": item for name, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return {f"[{index}]": item for index, item in enumerate(cast("list[Any]", value))}
    return None


def _agree(recorded: Any, expected: Any, scale: float) -> bool:
    if _is_number(recorded) and _is_number(expected):
        return math.isclose(recorded, expected, rel_tol=RELATIVE_TOLERANCE, abs_tol=SPREAD_TOLERANCE * scale)
    return type(recorded) is type(expected) and bool(recorded == expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _expected(log: EvalLog) -> dict[str, dict[str, Any]]:
    """The members of the header that the samples decide."""
    results = summarise_samples(log.samples, log.eval.scorers).to_dict()
    states = initial_states_of(log.samples)
    return {
        "results": {name: value for name, value in results.items() if name not in ("other", "grader_agreement")},
        "stats": {
            "total_steps": sum(sample.steps or 0 for sample in log.samples),
            "statuses": dict(Counter(sample.status for sample in log.samples)),
            "initial_states": states.to_dict(),
        },
    }


def _as_far_as_v01_knows(expected: dict[str, dict[str, Any]], recorded: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Means of scorers that its samples have, and counts; ``n_scored`` may be that of any scorer."""
    results = dict(expected["results"])
    counts: list[int] = [found["n_scored"] for found in results["overall"].values()]
    if not recorded["overall"]:
        counts.append(0)
    overall = {name: found for name, found in results["overall"].items() if found["n_attempted"]}
    for name, found in recorded["overall"].items():
        # A mean of something that no sample has, such as a latency, is no mean of scores.
        overall.setdefault(name, found)
    results["overall"] = {name: overall[name] for name in recorded["overall"]}
    del results["n_modified"]
    if recorded["n_scored"] in counts:
        results["n_scored"] = recorded["n_scored"]
    return {**expected, "results": results}


def _strays(log: EvalLog) -> Iterator[Contradiction]:
    """Instances that are counted twice, and scores of a scorer of 0 and 1 that are another number."""
    seen: dict[str, int] = {}
    for index, sample in enumerate(log.samples):
        if seen.setdefault(sample.key, index) != index:
            yield Contradiction(
                f"samples[{index}].key", sample.key, "another one", f"samples[{seen[sample.key]}] makes it"
            )
    binary = {name for name, declaration in log.eval.scorers.items() if declaration.binary}
    for index, sample in enumerate(log.samples):
        for name in binary & sample.scores.keys():
            if (value := sample.value(name)) not in (None, 0.0, 1.0):
                yield Contradiction(f"samples[{index}].scores.{name}.value", value, "0 or 1")


def _words(value: Any) -> str:
    if value is None:
        return "nothing"
    return value if value in ("0 or 1", "another one") else f"{value!r}"[:200]
