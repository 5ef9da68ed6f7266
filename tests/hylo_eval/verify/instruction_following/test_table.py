"""Every public instruction id: a text that complies and one that does not."""

import pytest

from hylo_eval.verify.instruction_following.check import Parameters
from hylo_eval.verify.instruction_following.table import CHECKS

# id, parameters, a complying text, a text that does not comply
CONTROLS = [
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n\nb", "a\nb"),
    (
        "length_constraints:number_words",
        {"num_words": 3, "relation": "at most"},
        "pick it up",
        "pick it up now",
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "exactly"},
        "Go. Stop!",
        "Go.Stop!",
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "then"},
        "Pick.\n\nThen place.",
        "Pick.\n\nAnd then place.",
    ),
    ("paragraphs:paragraphs", {}, "a\n***\nb", "a\nb"),
    ("paragraphs:paragraphs2", {}, "a\n\nb", "a ** b"),
    ("keywords:existence", {"keywords": ["arm", "mug"]}, "The Arm holds a mug.", "The arms hold a mug."),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, "Concatenate", "a Cat."),
    ("keywords:frequency", {"keyword": "pick", "frequency": 2, "relation": "less than"}, "pick", "pick Pick"),
    ("keywords:word_count_different_numbers", {"keyword": "a", "frequency": 2}, "a b a", "a b ab"),
    (
        "keywords:letter_frequency",
        {"letter": "O", "let_frequency": 3, "let_relation": "equal"},
        "Robot o",
        "robot",
    ),
    ("keywords:word_once", {"keyword": "arm"}, "the arm moves", "arm by arm"),
    (
        "keywords:keyword_specific_position",
        {"keyword": "arm", "n": 2, "m": 3},
        "Go. Move the arm.",
        "Move the arm.",
    ),
    ("keywords:palindrome", {}, "hold it Level", "a I 11 bob-cat"),
    ("keywords:no_adjacent_consecutive", {}, "go now go", "go Go now"),
    ("keywords:start_end", {}, "Home sweet home", "Home is far"),
    (
        "count:count_increment_word",
        {"keyword1": ["pick"], "keyword2": ["place"]},
        "pick pick place",
        "pick place",
    ),
    ("copy:repeat_phrase", {"phrase": "let go", "small_n": 2}, "let go, Let go", "let go"),
    ("change_case:english_capital", {}, "STOP 1!", "STOp"),
    ("change_case:english_lowercase", {}, "stop 1!", "Stop"),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 1, "capital_relation": "at least"},
        "STOP I said",
        "I said stop",
    ),
    ("count:lowercase_counting", {"N": 3}, "Move the arm now", "MOVE THE arm now"),
    ("punctuation:no_comma", {}, "a b", "a, b"),
    ("punctuation:punctuation_dot", {}, "a!", "a."),
    ("punctuation:punctuation_exclamation", {}, "a.", "a!"),
    ("startend:end_checker", {"end_phrase": "Done."}, "All is Done. \n", "All is done."),
    ("startend:quotation", {}, ' "picked" \n', '"picked'),
    ("first_word:first_word_answer", {"first_word": "Ready"}, "ready, set", "get ready"),
    ("first_word:first_word_sent", {"first_word": "we"}, "We go. We stop.", "We go. You stop."),
    ("last_word:last_word_answer", {"last_word": "now"}, "stop Now!", "now stop"),
    ("last_word:last_word_sent", {"last_word": "now"}, 'Go now. Stop "now".', "Go now. Stop."),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* one\n - two\n+ three", "* one\n-two"),
    ("detectable_format:title", {}, "<<Pick>>\nbody", "<<Pick\n>>"),
    ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', "{'a': 1}"),
    (
        "detectable_format:multiple_sections",
        {"num_sections": 2, "section_spliter": "PART"},
        "Part 1 x\nPART 2 y",
        "PART one PART 2",
    ),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
        "*fast* and **safe**",
        "*fast* **\n",
    ),
    ("detectable_format:square_brackets", {}, "take [the mug]", "take []"),
    ("detectable_format:sentence_hyphens", {}, "pick-the-mug. place-it!", "pick-the-mug. place it-now."),
    ("detectable_format:bigram_wrapping", {}, "now ** pick it ** up", "**pick**"),
    ("detectable_format:constrained_response", {}, "My answer is no.\n", "My answer is no"),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.S."},
        "Done.\n p.s. charge",
        "Done. P.S. charge",
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name] to [place]", "[name] to []"),
    ("combination:two_responses", {}, "Plan A******Plan B", "Plan A******Plan A"),
    ("count:count_unique", {}, "pick the red mug up", "a a a a a a b c d"),
    (
        "count:counting_composition",
        {"n_sent": 2, "n_words": 2},
        "Pick up. Put down. Go.",
        "Pick up. Go. Put down.",
    ),
    ("letters:letter_counting", {"N": 2, "relation": "less than"}, "pick", "pick up"),
    ("letters:letter_counting2", {"letter": "p", "let_frequency": 2}, "Pick up", "lift up"),
    ("language:response_language", {"language": "de"}, "Der Roboter ist bereit", "Ready"),
]


def passes(name, parameters, text):
    return CHECKS[name](text, Parameters(parameters)).passed


def test_all_48_ids_have_a_control():
    """The table holds the 48 public ids and each is tested here."""
    assert len(CHECKS) == 48
    assert [name for name, *_ in CONTROLS] == list(CHECKS)


@pytest.mark.parametrize(("name", "parameters", "good", "bad"), CONTROLS, ids=[name for name, *_ in CONTROLS])
def test_controls(name, parameters, good, bad):
    """A complying text passes, and one that does not comply fails."""
    assert passes(name, parameters, good)
    assert not passes(name, parameters, bad)


@pytest.mark.parametrize(
    ("name", "parameters", "text", "expected"),
    [
        ("keywords:existence", {"keywords": ["cat"], "word_boundary": False}, "Concatenate", True),
        ("keywords:forbidden_words", {"forbidden_words": ["CAT"], "word_boundary": False}, "concat", False),
        ("keywords:existence", {"keywords": []}, "", True),
        ("keywords:existence", {"keywords": ["a.c"]}, "abc", False),
        ("startend:quotation", {}, '"', False),
        ("startend:quotation", {}, "“picked”", True),
        ("detectable_format:json_format", {}, '{"a": NaN}', False),
        ("detectable_format:json_format", {}, "```\n[1]\n```", True),
        ("detectable_format:json_format", {}, "```python\n[1]\n```", False),
        ("detectable_format:multiple_sections", {"num_sections": 1}, "section 3", True),
        (
            "detectable_format:multiple_sections",
            {"num_sections": 1, "section_splitter": "Part"},
            "part 3",
            True,
        ),
        ("combination:two_responses", {}, "a******\n******b", False),
        ("combination:two_responses", {}, "******a******b******", True),
        ("count:count_increment_word", {"keyword1": ["x"], "keyword2": ["y"]}, "", False),
        ("change_case:english_capital", {}, "12!", False),
        ("keywords:start_end", {}, "...", False),
        ("first_word:first_word_sent", {"first_word": "we"}, "", False),
        ("count:counting_composition", {"n_sent": 2, "n_words": 1}, "One.", False),
        ("keywords:keyword_specific_position", {"keyword": "a", "n": 0, "m": 1}, "a.", False),
        ("keywords:keyword_specific_position", {"keyword": "a", "n": 1, "m": 2}, "a.", False),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 1, "nth_paragraph": 2, "first_word": "a"},
            "a",
            False,
        ),
    ],
)
def test_edges(name, parameters, text, expected):
    """Empty texts, empty lists, odd fences and positions out of range."""
    assert passes(name, parameters, text) is expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Pick the mug", True),
        ("EN", "Pick the mug", True),
        ("es", "Pick up mugs", False),
        ("zh", "机器人把红色的杯子放到桌上", True),
        ("zh", "Робот ставит чашку на стол", False),
        ("ja", "ロボットがカップを机に置く", True),
        ("ko", "로봇이 컵을 탁자 위에 놓습니다", True),
        ("zh", "杯子", False),
        ("zh", "杯" * 10 + "x" * 90, False),
        ("ru", "Робот ставит чашку", True),
    ],
)
def test_language_evidence(language, text, expected):
    """Little words or the script speak for a language; too little text, or another script, does not."""
    assert passes("language:response_language", {"language": language}, text) is expected


HOSTILE = {
    "blanks": " " * 1_000_000 + "x",
    "newlines": "\n" * 1_000_000 + "x",
    "blank lines": "\n \t" * 300_000,
    "asterisks": "*" * 1_000_000,
    "half bold": "**a b " * 150_000,
    "brackets": "[" * 1_000_000,
    "angles": "<<" * 500_000,
    "fence": "```\n" + "\n" * 1_000_000 + "x",
    "fences": "```json\n" * 120_000,
    "words": "pick " * 200_000,
    "one word": "a" * 1_000_000,
    "sentences": "Go. " * 250_000,
    "deep": "[" * 200_000 + "]" * 200_000,
    "section": "Section" + " " * 1_000_000 + "x",
    "letters outside ASCII": "é" * 1_000_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_megabyte_of_hostile_text_is_linear(text):
    """Every check of every text ends; a quadratic one would take hours."""
    for name, parameters, *_ in CONTROLS:
        CHECKS[name](text, Parameters(parameters))
