"""Checks of length: words, sentences and paragraphs."""

from __future__ import annotations

from hylo_eval.verify.instruction_following.check import CheckResult, Parameters
from hylo_eval.verify.instruction_following.segmentation import paragraphs, sentences, words

_DIVIDER = "***"


def number_words(text: str, parameters: Parameters) -> CheckResult:
    """``num_words`` words, compared by ``relation``."""
    return parameters.compare(len(words(text)), count="num_words", relation="relation", what="words")


def number_sentences(text: str, parameters: Parameters) -> CheckResult:
    """``num_sentences`` sentences, compared by ``relation``."""
    found = len(sentences(text))
    return parameters.compare(found, count="num_sentences", relation="relation", what="sentences")


def number_paragraphs(text: str, parameters: Parameters) -> CheckResult:
    """Exactly ``num_paragraphs`` paragraphs."""
    expected, found = parameters.integer("num_paragraphs"), len(paragraphs(text))
    return CheckResult(found == expected, f"paragraphs: {found}, required {expected}")


def nth_paragraph_first_word(text: str, parameters: Parameters) -> CheckResult:
    """``num_paragraphs`` paragraphs, of which number ``nth_paragraph`` begins with ``first_word``."""
    expected, position = parameters.integer("num_paragraphs"), parameters.integer("nth_paragraph")
    first_word = parameters.text("first_word")
    found = paragraphs(text)
    if len(found) != expected or not 1 <= position <= len(found):
        return CheckResult(passed=False, detail=f"paragraphs: {len(found)}, required {expected}, looking at {position}")
    opening = words(found[position - 1])[:1]
    passed = opening != [] and opening[0].lower() == first_word.lower()
    return CheckResult(passed, f"paragraph {position} begins with {opening}, required {first_word!r}")


def divided_paragraphs(text: str, _parameters: Parameters) -> CheckResult:
    """At least two paragraphs, divided by ``***`` or by a blank line."""
    divided = sum(1 for part in text.split(_DIVIDER) if part.strip())
    separated = len(paragraphs(text))
    return CheckResult(divided >= 2 or separated >= 2, f"by {_DIVIDER}: {divided}, by blank lines: {separated}")
