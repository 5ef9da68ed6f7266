"""Checks of how a response, or each of its sentences, begins and ends."""

from __future__ import annotations

from hylo_eval.verify.instruction_following.check import CheckResult, Parameters
from hylo_eval.verify.instruction_following.segmentation import lowered_words, sentences

_QUOTES = (('"', '"'), ("'", "'"), ("\N{LEFT DOUBLE QUOTATION MARK}", "\N{RIGHT DOUBLE QUOTATION MARK}"))


def first_word_answer(text: str, parameters: Parameters) -> CheckResult:
    """The first word is ``first_word``, ignoring case."""
    return _word_at([text], 0, parameters.text("first_word"))


def first_word_sentence(text: str, parameters: Parameters) -> CheckResult:
    """The first word of every sentence is ``first_word``, ignoring case."""
    return _word_at(sentences(text), 0, parameters.text("first_word"))


def last_word_answer(text: str, parameters: Parameters) -> CheckResult:
    """The last word is ``last_word``, ignoring case."""
    return _word_at([text], -1, parameters.text("last_word"))


def last_word_sentence(text: str, parameters: Parameters) -> CheckResult:
    """The last word of every sentence is ``last_word``, ignoring case."""
    return _word_at(sentences(text), -1, parameters.text("last_word"))


def end_checker(text: str, parameters: Parameters) -> CheckResult:
    """The response ends with ``end_phrase``, case included and trailing blanks aside."""
    phrase = parameters.text("end_phrase")
    return CheckResult(text.rstrip().endswith(phrase), f"required ending {phrase!r}")


def quotation(text: str, _parameters: Parameters) -> CheckResult:
    """The whole response stands in double, single or typographic quotation marks."""
    bare = text.strip()
    passed = len(bare) >= 2 and any(bare.startswith(left) and bare.endswith(right) for left, right in _QUOTES)
    return CheckResult(passed, f"quoted: {passed}")


def _word_at(parts: list[str], index: int, required: str) -> CheckResult:
    """Whether the word at ``index`` of every part is ``required``; there must be a part and a word in it."""
    if not parts:
        return CheckResult(passed=False, detail="no sentences")
    for part in parts:
        found = lowered_words(part)
        if not found or found[index] != required.lower():
            return CheckResult(passed=False, detail=f"found {found[index] if found else None!r}, required {required!r}")
    return CheckResult(passed=True, detail=f"{required!r} in {len(parts)} of {len(parts)}")
