"""Mode predicted_action: the answer's function calls match the expected ones, one to one and in any order.

Names are equal, argument objects are equal with strict JSON types, and ``numeric_tolerance`` applies between
two floats only. Repeated calls count. The file holds a JSON list of objects with exactly ``name`` and
``arguments``.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from hylo_eval.verify.modes.grader import AnswerGrader, Resources
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.specs.answer import FunctionCall
from hylo_eval.verify.specs.fields import MAX_SPEC_DEPTH
from hylo_eval.verify.verdict import InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_eval.verify.specs.answer import PredictedActionSpec

Shape: TypeAlias = tuple[Any, ...]
Floats: TypeAlias = tuple[float, ...]


class _NotACall(ValueError):
    """A candidate's call is no name with a JSON object."""


def check_predicted_action(spec: PredictedActionSpec) -> None:
    """Raises InvalidTask when no call is expected, one has no name, or the tolerance is no distance."""
    if not spec.expected_calls:
        raise InvalidTask("expected_calls must hold at least one call")
    for index, call in enumerate(spec.expected_calls):
        if not call.name:
            raise InvalidTask(f"expected_calls[{index}].name is empty")
    tolerance = spec.numeric_tolerance
    if tolerance is not None and (not math.isfinite(tolerance) or tolerance < 0):
        raise InvalidTask(f"numeric_tolerance must be finite and not negative, not {tolerance}")


def _shape(value: Any, floats: list[float], depth: int = 0) -> Any:
    """A hashable key of everything in a JSON value but its floats, which are appended to ``floats`` in order.

    Two values are strictly equal exactly when their shapes and their floats are.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _NotACall("a number is not finite")
        floats.append(value)
        return float
    # A bool, an integer and a string of the same value are different keys.
    if value is None or isinstance(value, bool | int | str):
        return (type(value), value)
    if depth > MAX_SPEC_DEPTH:
        raise _NotACall("the arguments are nested too deeply")
    if isinstance(value, list | tuple):
        entries = cast("Sequence[Any]", value)
        return (list, *(_shape(entry, floats, depth + 1) for entry in entries))
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        if not all(isinstance(key, str) for key in members):
            raise _NotACall("a key is not a string")
        return (dict, *((key, _shape(members[key], floats, depth + 1)) for key in sorted(members)))
    raise _NotACall(f"{type(value).__name__} is not JSON")


def _parts(call: FunctionCall) -> tuple[Shape, Floats]:
    if not isinstance(call.name, str) or not isinstance(call.arguments, dict):
        raise _NotACall("a call is a name and an argument object")
    floats: list[float] = []
    shape = (call.name, _shape(call.arguments, floats))
    return shape, tuple(floats)


def _perfect_matching(expected: list[Floats], actual: list[Floats], tolerance: float) -> bool:
    """Whether equally many float vectors of one length can be paired within the tolerance, each once."""
    edges = [
        [
            column
            for column, right in enumerate(actual)
            if all(abs(one - other) <= tolerance for one, other in zip(left, right, strict=True))
        ]
        for left in expected
    ]
    if not all(edges):
        return False
    if all(len(columns) == 1 for columns in edges):
        return len({columns[0] for columns in edges}) == len(expected)
    # scipy has no types of its own for these.
    sparse: Any = import_module("scipy.sparse")
    graphs: Any = import_module("scipy.sparse.csgraph")
    pointers = [0]
    for columns in edges:
        pointers.append(pointers[-1] + len(columns))
    flat = [column for columns in edges for column in columns]
    graph = sparse.csr_matrix(([1] * len(flat), flat, pointers), shape=(len(expected), len(actual)))
    matched: Any = graphs.maximum_bipartite_matching(graph, perm_type="column")
    return bool((matched >= 0).all())


def _calls_match(expected: Sequence[FunctionCall], actual: Sequence[FunctionCall], tolerance: float | None) -> bool:
    wanted, given = [_parts(call) for call in expected], [_parts(call) for call in actual]
    if Counter(wanted) == Counter(given):
        return True
    if tolerance is None:
        return False
    rows: defaultdict[Shape, list[Floats]] = defaultdict(list)
    columns: defaultdict[Shape, list[Floats]] = defaultdict(list)
    for shape, floats in wanted:
        rows[shape].append(floats)
    for shape, floats in given:
        columns[shape].append(floats)
    if any(len(columns[shape]) != len(vectors) for shape, vectors in rows.items()):
        return False
    return all(_perfect_matching(vectors, columns[shape], tolerance) for shape, vectors in rows.items())


def grade_predicted_action_candidate(spec: PredictedActionSpec, candidate: tuple[FunctionCall, ...]) -> Reward:
    """Scores function calls.

    Raises:
        TypeError: The candidate is not a tuple of FunctionCall.
    """
    check_predicted_action(spec)
    if not isinstance(candidate, tuple):
        raise TypeError(f"predicted_action grades a tuple of FunctionCall, not {type(candidate).__name__}")
    for index, call in enumerate(candidate):
        if not isinstance(call, FunctionCall):
            raise TypeError(f"candidate[{index}] must be a FunctionCall, not {type(call).__name__}")
    if len(candidate) != len(spec.expected_calls):
        return scored(0.0)
    try:
        return scored(_calls_match(spec.expected_calls, candidate, spec.numeric_tolerance))
    except _NotACall as error:
        return zero("invalid_function_calls", error=str(error))


def grade_predicted_action_output(spec: PredictedActionSpec, text: str, _resources: Resources) -> Reward:
    """Scores an answer file."""
    try:
        entries = decode_json(text)
    except ValueError:
        return zero("invalid_function_calls")
    if not isinstance(entries, list) or not entries:
        return zero("invalid_function_calls")
    calls: list[FunctionCall] = []
    for entry in cast("list[Any]", entries):
        members = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        if members.keys() != {"name", "arguments"} or not members["name"] or not isinstance(members["name"], str):
            return zero("invalid_function_calls")
        if not isinstance(members["arguments"], dict):
            return zero("invalid_function_calls")
        calls.append(FunctionCall(members["name"], cast("dict[str, Any]", members["arguments"])))
    return grade_predicted_action_candidate(spec, tuple(calls))


GRADER: Final = AnswerGrader["PredictedActionSpec"](
    check_spec=check_predicted_action,
    grade_output=grade_predicted_action_output,
    grade_candidate=lambda spec, candidate, _resources: grade_predicted_action_candidate(spec, candidate),
    takes_text=False,
)
