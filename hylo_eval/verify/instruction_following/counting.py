"""Checks that count words in ways of their own."""

from __future__ import annotations

from hylo_eval.verify.instruction_following.check import CheckResult, Parameters
from hylo_eval.verify.instruction_following.segmentation import lowered_words, sentences, words

_FEWEST_DIFFERENT_WORDS = 5


def count_unique(text: str, _parameters: Parameters) -> CheckResult:
    """At least five different words, and half of all words. Rough: the instruction names no number."""
    found = lowered_words(text)
    different = len(set(found))
    passed = different >= max(_FEWEST_DIFFERENT_WORDS, len(found) // 2)
    return CheckResult(passed, f"different words: {different} of {len(found)}")


def counting_composition(text: str, parameters: Parameters) -> CheckResult:
    """At least ``n_sent`` sentences, of which the first ``n_sent`` have ``n_words`` words or more each."""
    number, length = parameters.integer("n_sent"), parameters.integer("n_words")
    found = sentences(text)
    if len(found) < number:
        return CheckResult(passed=False, detail=f"sentences: {len(found)}, required at least {number}")
    lengths = [len(words(sentence)) for sentence in found[:number]]
    passed = all(count >= length for count in lengths)
    return CheckResult(passed, f"shortest of {number}: {min(lengths, default=0)}, required {length} words")


def letter_counting(text: str, parameters: Parameters) -> CheckResult:
    """``N`` words, compared by ``relation``. Rough: data sets give no number of letters with it."""
    return parameters.compare(len(words(text)), count="N", relation="relation", what="words")
