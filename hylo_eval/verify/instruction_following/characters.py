"""Checks of characters: letter case and punctuation."""

from __future__ import annotations

from hylo_eval.verify.instruction_following.check import Check, CheckResult, Parameters
from hylo_eval.verify.instruction_following.segmentation import words


def english_capital(text: str, _parameters: Parameters) -> CheckResult:
    """Every letter is a capital, and there is one."""
    letters = [character for character in text if character.isalpha()]
    small = sum(1 for letter in letters if not letter.isupper())
    return CheckResult(bool(letters) and small == 0, f"letters: {len(letters)}, not capital: {small}")


def english_lowercase(text: str, _parameters: Parameters) -> CheckResult:
    """Every letter is small, and there is one."""
    letters = [character for character in text if character.isalpha()]
    capital = sum(1 for letter in letters if not letter.islower())
    return CheckResult(bool(letters) and capital == 0, f"letters: {len(letters)}, not small: {capital}")


def capital_word_frequency(text: str, parameters: Parameters) -> CheckResult:
    """``capital_frequency`` words of two characters or more in capitals, compared by ``capital_relation``."""
    found = sum(1 for word in words(text) if len(word) >= 2 and word.isupper())
    return parameters.compare(found, count="capital_frequency", relation="capital_relation", what="words in capitals")


def lowercase_counting(text: str, parameters: Parameters) -> CheckResult:
    """At least ``N`` words of small letters only."""
    expected = parameters.integer("N")
    found = sum(1 for word in words(text) if word.isalpha() and word.islower())
    return CheckResult(found >= expected, f"words in small letters: {found}, required at least {expected}")


def without(character: str) -> Check:
    """The check that ``character`` does not occur."""

    def check(text: str, _parameters: Parameters) -> CheckResult:
        found = text.count(character)
        return CheckResult(found == 0, f"{character!r}: {found}, required 0")

    return check
