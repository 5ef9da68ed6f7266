"""The options of the scorer: checked once, in a fixed order, whatever the response is."""

from __future__ import annotations

import math
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    LegacyScorer = Callable[..., tuple[object, ...]]

_ChoiceT = TypeVar("_ChoiceT")

RewardMode = Literal["answer", "answer_and_annotation"]
AnswerScoring = Literal["exact_json", "legacy_strict"]
RewardFormula = Literal["gated", "additive"]

_MODES: Mapping[str, RewardMode] = {
    "": "answer",
    "auto": "answer",
    "answer": "answer",
    "answer_only": "answer",
    "annotation": "answer_and_annotation",
    "answer_and_annotation": "answer_and_annotation",
}
_ANSWER_SCORINGS: Mapping[str, AnswerScoring] = {
    "exact": "exact_json",
    "exact_json": "exact_json",
    "legacy": "legacy_strict",
    "legacy_strict": "legacy_strict",
    "strict": "legacy_strict",
}
_FORMULAS: Mapping[str, RewardFormula] = {
    "gated": "gated",
    "answer_gated": "gated",
    "gated_annotation": "gated",
    "additive": "additive",
    "separate": "additive",
    "linear": "additive",
}


@attrs.frozen(kw_only=True, cache_hash=True)
class ScoringOptions:
    """Checked options.

    Attributes:
        mode: Which keys the final object has, and what the task reward is.
        answer_scoring: How the answer is compared.
        formula: How answer and annotation reward make the task reward.
        format_weight: Share of the format score in the overall reward, in [0, 1].
        answer_weight: Weight of the answer, normalised: both weights are in [0, 1] and sum to 1.
        annotation_weight: Weight of the annotation, normalised.
        half_life_px: The explicit half-life of point and segment similarity, or None.
    """

    mode: RewardMode
    answer_scoring: AnswerScoring
    formula: RewardFormula
    format_weight: float
    answer_weight: float
    annotation_weight: float
    half_life_px: float | None


def resolve_options(
    *,
    format_weight: object,
    point_half_life_px: object,
    trace_reward_mode: object,
    trace_answer_scoring: object,
    trace_annotation_reward_formula: object,
    legacy_strict_scorer: LegacyScorer | None,
    answer_weight: object,
    annotation_weight: object,
    has_usable_answer: bool,
) -> ScoringOptions:
    """Check the options in the contract's order: the first invalid one is named.

    Args:
        format_weight: In [0, 1].
        point_half_life_px: Positive, or None for a half-life from the image size.
        trace_reward_mode: A mode or an alias; None, empty and `auto` mean `answer`.
        trace_answer_scoring: `exact_json`, `legacy_strict`, or an alias; None and empty mean `exact_json`.
        trace_annotation_reward_formula: `gated`, `additive`, or an alias; None and empty mean `gated`.
        legacy_strict_scorer: The callback that `legacy_strict` needs.
        answer_weight: Not negative.
        annotation_weight: Not negative; the two must not both be zero.
        has_usable_answer: Whether the truth holds an answer, so that the callback is needed at all.

    Raises:
        ValueError: An option is invalid; the text names it.
    """
    given = (
        format_weight,
        point_half_life_px,
        trace_reward_mode,
        trace_answer_scoring,
        trace_annotation_reward_formula,
        answer_weight,
        annotation_weight,
    )
    check = _checked_once if _PLAIN_TYPES.issuperset(map(type, given)) else _checked
    return check(*given, has_usable_answer and legacy_strict_scorer is None)


def _checked(
    format_weight: object,
    point_half_life_px: object,
    trace_reward_mode: object,
    trace_answer_scoring: object,
    trace_annotation_reward_formula: object,
    answer_weight: object,
    annotation_weight: object,
    is_legacy_refused: bool,
) -> ScoringOptions:
    share = _finite("format_weight", format_weight)
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"format_weight must be in [0, 1], not {format_weight!r}")
    half_life = _half_life(point_half_life_px)
    mode = resolve_mode(trace_reward_mode)
    scoring = _choice("trace_answer_scoring", trace_answer_scoring, _ANSWER_SCORINGS, default="exact_json")
    formula = _choice("trace_annotation_reward_formula", trace_annotation_reward_formula, _FORMULAS, default="gated")
    if scoring == "legacy_strict" and is_legacy_refused:
        raise ValueError("trace_answer_scoring 'legacy_strict' needs legacy_strict_scorer, a callback")
    weights = _normalised_weights(answer_weight, annotation_weight)
    return ScoringOptions(
        mode=mode,
        answer_scoring=scoring,
        formula=formula,
        format_weight=share,
        answer_weight=weights[0],
        annotation_weight=weights[1],
        half_life_px=half_life,
    )


_PLAIN_TYPES: frozenset[type] = frozenset({float, int, str, type(None)})
_checked_once = lru_cache(maxsize=128, typed=True)(_checked)
"""The same options come with every response of a run; typed, because 1 is a weight and True is none."""


def resolve_mode(mode: object) -> RewardMode:
    """The mode that a name or alias stands for.

    Raises:
        ValueError: There is no such mode.
    """
    return _choice("trace_reward_mode", mode, _MODES, default="auto")


def _choice(option: str, name: object, choices: Mapping[str, _ChoiceT], *, default: str) -> _ChoiceT:
    """What a name stands for; None and the empty text stand for the default."""
    text = default if name is None or name == "" else name
    chosen = choices.get(text.strip().lower()) if isinstance(text, str) else None
    if chosen is None:
        valid = ", ".join(repr(choice) for choice in choices if choice)
        raise ValueError(f"{option} must be one of {valid}, not {name!r}")
    return chosen


def _finite(option: str, value: object) -> float:
    """The value as a float; a truth value and text are no numbers."""
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{option} must be a number, not {value!r}")  # noqa: TRY004 - the contract's error
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{option} must be a finite number, not {number!r}")
    return number


def _half_life(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):  # the contract reads it with float(), so numeric text is a number here
        try:
            value = float(value)
        except ValueError:
            raise ValueError(f"point_half_life_px must be a number, not {value!r}") from None
    half_life = _finite("point_half_life_px", value)
    if half_life <= 0.0:
        raise ValueError(f"point_half_life_px must be positive, not {half_life!r}")
    return half_life


def _normalised_weights(answer_weight: object, annotation_weight: object) -> tuple[float, float]:
    answer = _finite("answer_weight", answer_weight)
    annotation = _finite("annotation_weight", annotation_weight)
    for option, weight in (("answer_weight", answer), ("annotation_weight", annotation)):
        if weight < 0.0:
            raise ValueError(f"{option} must not be negative, not {weight!r}")
    total = answer + annotation
    if total <= 0.0:
        raise ValueError("answer_weight and annotation_weight must have a positive sum")
    if math.isinf(total):
        answer, annotation = answer / 2.0, annotation / 2.0
        total = answer + annotation
    return answer / total, annotation / total
