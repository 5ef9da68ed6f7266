"""The part of the reasoning-gym mode that runs in a child process with a deadline.

Scorers of the library evaluate answers: some with ``eval``, some with sympy's parser, which is ``eval`` by
another name. An answer that runs code in the grading process could write its own score, so both are replaced
here by versions that take literals, and arithmetic, alone.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Any

from hylo_eval.verify.extras import import_extra
from hylo_eval.verify.reasoning_gym_scoring import EXTRA, score
from hylo_eval.verify.verdict import InvalidTask

if TYPE_CHECKING:
    from collections.abc import Callable

# Modules that evaluate expressions they generated themselves, which literals alone would not be enough for.
_EVALUATE_THEIR_OWN = (
    "reasoning_gym.arithmetic.basic_arithmetic",
    "reasoning_gym.arithmetic.bitwise_arithmetic",
    "reasoning_gym.arithmetic.gsm_symbolic",
)
_ARITHMETIC = re.compile(r"[A-Za-z0-9_+\-*/^%!().,\s]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ATTRIBUTE = re.compile(r"\.\s*[A-Za-z_]")
# One-letter variables and elementary functions. Not Integral: an integration task answered by restating the
# integral would be right.
_KNOWN_NAME = re.compile(
    r"[A-Za-z]|pi|oo|exp|log|ln|sqrt|cbrt|root|Abs|Rational|factorial|erf|erfc|Ei|Si|Ci|li"
    r"|a?(?:sin|cos|tan|cot|sec|csc)h?"
)


_PROBES = ("0", "answer", "[1]")
"""Answers of the forms that scorers read before they compare with the entry's own, which then must not be null."""


def prepare() -> None:
    """Import the library, outside of any deadline, and take evaluation out of it."""
    import_extra("reasoning_gym", extra=EXTRA)
    sympy = import_extra("sympy", extra=EXTRA)
    parser = import_extra("sympy.parsing.sympy_parser", extra=EXTRA)
    guarded = _guarded(parser.parse_expr)
    sympy_original = parser.parse_expr
    sympy.parse_expr = parser.parse_expr = guarded
    for name, module in list(sys.modules.items()):
        if not name.startswith("reasoning_gym."):
            continue
        if not name.startswith(_EVALUATE_THEIR_OWN):
            # A module's own global hides the builtin of that name.
            vars(module)["eval"] = ast.literal_eval
        if vars(module).get("parse_expr") is sympy_original:
            vars(module)["parse_expr"] = guarded


def check_entry(dataset: str, params: dict[str, Any] | None, entry: dict[str, Any]) -> float | None:
    """Configure the data set and score the entry's own answer, so that later failures are the candidate's.

    Returns:
        The score of that answer; None if the entry has none, which not every data set needs.

    Raises:
        InvalidTask: The data set is unknown, refuses its configuration, cannot score its own answer, or needs one
            that the entry does not have.
    """
    own = entry["answer"]
    own_score: float | None = None
    for answer in _PROBES if own is None else (own,):
        try:
            own_score = score(dataset, params, entry, answer)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if own is not None:
                shown = f"{type(error).__name__}: {error}"
                raise InvalidTask(f"data set {dataset} cannot score its own answer: {shown}") from error
    return None if own is None else own_score


def score_answer(dataset: str, params: dict[str, Any] | None, entry: dict[str, Any], answer: str) -> float:
    """The data set's score of an answer; see :func:`hylo_eval.verify.reasoning_gym_scoring.score`."""
    return score(dataset, params, entry, answer)


def _guarded(parse: Callable[..., Any]) -> Callable[..., Any]:
    def parse_arithmetic(text: str, *arguments: Any, **options: Any) -> Any:
        refuse_code(text)
        return parse(text, *arguments, **options)

    return parse_arithmetic


def refuse_code(text: str) -> None:
    """Refuse a text that is more than arithmetic over one-letter variables and well-known functions.

    Raises:
        ValueError: It holds text literals, brackets, attributes, or a name of several letters that is not a
            known function: any of these can reach the interpreter.
    """
    if not _ARITHMETIC.fullmatch(text) or _ATTRIBUTE.search(text):
        raise ValueError("the expression holds more than arithmetic")
    for name in _NAME.findall(text):
        if not _KNOWN_NAME.fullmatch(name):
            raise ValueError(f"the expression names {name[:40]!r}, which is no known function")
