"""Checks of keywords: which occur, how often, and where."""

from __future__ import annotations

import itertools
import re

from hylo_eval.verify.instruction_following.check import CheckResult, Parameters
from hylo_eval.verify.instruction_following.segmentation import (
    count_keyword,
    has_keyword,
    lowered_words,
    sentences,
    words,
)

_SHORTEST_PALINDROME = 3


def existence(text: str, parameters: Parameters) -> CheckResult:
    """Every one of ``keywords`` occurs; inside longer words too when ``word_boundary`` is false."""
    keywords = parameters.texts("keywords")
    boundary = parameters.flag("word_boundary", default=True)
    missing = [keyword for keyword in keywords if not has_keyword(text, keyword, word_boundary=boundary)]
    return CheckResult(not missing, f"missing: {missing}")


def forbidden_words(text: str, parameters: Parameters) -> CheckResult:
    """None of ``forbidden_words`` occurs; not even inside longer words when ``word_boundary`` is false."""
    keywords = parameters.texts("forbidden_words")
    boundary = parameters.flag("word_boundary", default=True)
    found = [keyword for keyword in keywords if has_keyword(text, keyword, word_boundary=boundary)]
    return CheckResult(not found, f"found: {found}")


def frequency(text: str, parameters: Parameters) -> CheckResult:
    """``keyword`` occurs ``frequency`` times, compared by ``relation``."""
    keyword = parameters.text("keyword")
    found = count_keyword(text, keyword)
    return parameters.compare(found, count="frequency", relation="relation", what=repr(keyword))


def word_once(text: str, parameters: Parameters) -> CheckResult:
    """``keyword`` occurs exactly once."""
    keyword = parameters.text("keyword")
    found = count_keyword(text, keyword)
    return CheckResult(found == 1, f"{keyword!r}: {found}, required 1")


def letter_frequency(text: str, parameters: Parameters) -> CheckResult:
    """``letter`` occurs ``let_frequency`` times in either case, compared by ``let_relation``."""
    letter = parameters.character("letter")
    found = text.lower().count(letter.lower())
    return parameters.compare(found, count="let_frequency", relation="let_relation", what=repr(letter))


def keyword_specific_position(text: str, parameters: Parameters) -> CheckResult:
    """Word ``m`` of sentence ``n`` is ``keyword``; both count from one."""
    keyword = parameters.text("keyword")
    sentence, position = parameters.integer("n"), parameters.integer("m")
    found = sentences(text)
    if not 1 <= sentence <= len(found):
        return CheckResult(passed=False, detail=f"sentences: {len(found)}, looking at {sentence}")
    in_sentence = words(found[sentence - 1])
    if not 1 <= position <= len(in_sentence):
        return CheckResult(
            passed=False, detail=f"words in sentence {sentence}: {len(in_sentence)}, looking at {position}"
        )
    actual = in_sentence[position - 1]
    return CheckResult(actual.lower() == keyword.lower(), f"found {actual!r}, required {keyword!r}")


def palindrome(text: str, _parameters: Parameters) -> CheckResult:
    """Some word of three characters or more reads the same backwards."""
    long_words = (word for word in lowered_words(text) if len(word) >= _SHORTEST_PALINDROME)
    found = next((word for word in long_words if word == word[::-1]), None)
    return CheckResult(found is not None, f"palindrome: {found!r}")


def no_adjacent_consecutive(text: str, _parameters: Parameters) -> CheckResult:
    """No word follows itself, ignoring case."""
    found = lowered_words(text)
    pairs = itertools.pairwise(found)
    repeated = next((first for first, second in pairs if first == second), None)
    return CheckResult(repeated is None, f"repeated: {repeated!r}")


def start_end(text: str, _parameters: Parameters) -> CheckResult:
    """The first word is the last word, ignoring case."""
    found = lowered_words(text)
    if not found:
        return CheckResult(passed=False, detail="no words")
    return CheckResult(found[0] == found[-1], f"first {found[0]!r}, last {found[-1]!r}")


def count_increment_word(text: str, parameters: Parameters) -> CheckResult:
    """The words of ``keyword1`` occur, together exactly once more often than those of ``keyword2``."""
    first, second = (
        sum(count_keyword(text, keyword) for keyword in parameters.texts(group)) for group in ("keyword1", "keyword2")
    )
    return CheckResult(first > 0 and first == second + 1, f"first group: {first}, second group: {second}")


def repeat_phrase(text: str, parameters: Parameters) -> CheckResult:
    """``phrase`` occurs at least ``small_n`` times, ignoring case and without overlap."""
    phrase, expected = parameters.text("phrase"), parameters.integer("small_n")
    found = sum(1 for _ in re.finditer(re.escape(phrase), text, re.IGNORECASE))
    return CheckResult(found >= expected, f"{phrase!r}: {found}, required at least {expected}")
