"""A rough check of the language of a response: common little words, or the script.

It tells whether there is evidence *for* the language, not that there is none for another. No statistical
detector is used: those guess differently from run to run on short texts, and a verdict must not.
"""

from __future__ import annotations

import unicodedata

from hylo_eval.verify.instruction_following.check import CheckResult, ParameterError, Parameters
from hylo_eval.verify.instruction_following.segmentation import has_keyword

# Articles, prepositions and conjunctions that hardly a sentence does without.
_LITTLE_WORDS: dict[str, str] = {
    "en": "the and of to is in a",
    "es": "el la y de que en un es los una",
    "fr": "le la et de que un une est les des",
    "de": "der die und ist ein eine zu von das den",
    "it": "il la e di che un una è gli per",
    "pt": "o a e de que um uma é os não",
    "nl": "de het en een van is",
    "tr": "ve bir bu için ile",
    "vi": "và là có không trong",
    "ru": "и в не на с но",  # noqa: RUF001 - Cyrillic, all of it
    "sv": "och att det som är en",
    "pl": "i w nie na się że",
    "fi": "ja on ei että se",
    "sw": "na ya wa kwa ni",
}

# The word that the Unicode names of a script's letters begin with.
_SCRIPTS: dict[str, tuple[str, ...]] = {
    "zh": ("CJK",),
    "ja": ("HIRAGANA", "KATAKANA", "CJK"),
    "ko": ("HANGUL",),
    "ar": ("ARABIC",),
    "fa": ("ARABIC",),
    "ur": ("ARABIC",),
    "he": ("HEBREW",),
    "th": ("THAI",),
    "hi": ("DEVANAGARI",),
    "mr": ("DEVANAGARI",),
    "ne": ("DEVANAGARI",),
    "bn": ("BENGALI",),
    "pa": ("GURMUKHI",),
    "gu": ("GUJARATI",),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "kn": ("KANNADA",),
    "el": ("GREEK",),
    "bg": ("CYRILLIC",),
    "uk": ("CYRILLIC",),
    "ru": ("CYRILLIC",),
}
_FEWEST_CHARACTERS = 10
_SMALLEST_SHARE = 0.2


def response_language(text: str, parameters: Parameters) -> CheckResult:
    """The response shows signs of ``language``, an ISO 639-1 code: one of its little words, or its script."""
    language = parameters.text("language").lower()
    little_words = _LITTLE_WORDS.get(language, "").split()
    scripts = _SCRIPTS.get(language)
    if not little_words and scripts is None:
        known = ", ".join(sorted(_LITTLE_WORDS.keys() | _SCRIPTS.keys()))
        raise ParameterError(f"language {language[:20]!r} is not among those known: {known}")
    word = next((word for word in little_words if has_keyword(text, word, word_boundary=True)), None)
    if word is not None:
        return CheckResult(passed=True, detail=f"{language}: {word!r} occurs")
    passed = scripts is not None and _is_written_in(text, scripts)
    return CheckResult(passed, f"{language}: script {passed}")


def _is_written_in(text: str, scripts: tuple[str, ...]) -> bool:
    """Whether a fifth of a text, and ten characters, lie outside ASCII, mostly in the given scripts."""
    foreign = [character for character in text if not character.isascii()]
    if len(foreign) < max(_FEWEST_CHARACTERS, int(_SMALLEST_SHARE * len(text))):
        return False
    letters = [character for character in foreign if character.isalpha()]
    in_script = sum(1 for letter in letters if unicodedata.name(letter, "").startswith(scripts))
    return in_script > 0 and 2 * in_script >= len(letters)
