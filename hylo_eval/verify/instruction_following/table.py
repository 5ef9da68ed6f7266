"""The public instruction ids and the check that each one stands for."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hylo_eval.verify.instruction_following import (
    characters,
    counting,
    keywords,
    language,
    layout,
    length,
    position,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hylo_eval.verify.instruction_following.check import Check

CHECKS: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "length_constraints:number_paragraphs": length.number_paragraphs,
        "length_constraints:number_words": length.number_words,
        "length_constraints:number_sentences": length.number_sentences,
        "length_constraints:nth_paragraph_first_word": length.nth_paragraph_first_word,
        "paragraphs:paragraphs": length.divided_paragraphs,
        "paragraphs:paragraphs2": length.divided_paragraphs,
        "keywords:existence": keywords.existence,
        "keywords:forbidden_words": keywords.forbidden_words,
        "keywords:frequency": keywords.frequency,
        "keywords:word_count_different_numbers": keywords.frequency,
        "keywords:letter_frequency": keywords.letter_frequency,
        "keywords:word_once": keywords.word_once,
        "keywords:keyword_specific_position": keywords.keyword_specific_position,
        "keywords:palindrome": keywords.palindrome,
        "keywords:no_adjacent_consecutive": keywords.no_adjacent_consecutive,
        "keywords:start_end": keywords.start_end,
        "count:count_increment_word": keywords.count_increment_word,
        "copy:repeat_phrase": keywords.repeat_phrase,
        "change_case:english_capital": characters.english_capital,
        "change_case:english_lowercase": characters.english_lowercase,
        "change_case:capital_word_frequency": characters.capital_word_frequency,
        "count:lowercase_counting": characters.lowercase_counting,
        "punctuation:no_comma": characters.without(","),
        "punctuation:punctuation_dot": characters.without("."),
        "punctuation:punctuation_exclamation": characters.without("!"),
        "startend:end_checker": position.end_checker,
        "startend:quotation": position.quotation,
        "first_word:first_word_answer": position.first_word_answer,
        "first_word:first_word_sent": position.first_word_sentence,
        "last_word:last_word_answer": position.last_word_answer,
        "last_word:last_word_sent": position.last_word_sentence,
        "detectable_format:number_bullet_lists": layout.number_bullet_lists,
        "detectable_format:title": layout.title,
        "detectable_format:json_format": layout.json_format,
        "detectable_format:multiple_sections": layout.multiple_sections,
        "detectable_format:number_highlighted_sections": layout.number_highlighted_sections,
        "detectable_format:square_brackets": layout.square_brackets,
        "detectable_format:sentence_hyphens": layout.sentence_hyphens,
        "detectable_format:bigram_wrapping": layout.bigram_wrapping,
        "detectable_format:constrained_response": layout.constrained_response,
        "detectable_content:postscript": layout.postscript,
        "detectable_content:number_placeholders": layout.number_placeholders,
        "combination:two_responses": layout.two_responses,
        "count:count_unique": counting.count_unique,
        "count:counting_composition": counting.counting_composition,
        "letters:letter_counting": counting.letter_counting,
        "letters:letter_counting2": keywords.letter_frequency,
        "language:response_language": language.response_language,
    }
)
