"""Words, sentences, paragraphs and keywords."""

from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.instruction_following.segmentation import (
    count_keyword,
    has_keyword,
    paragraphs,
    sentences,
    words,
)

plain_words = st.text(alphabet="abcXYZ019'-", min_size=1)


@given(st.lists(plain_words))
def test_words_joined_by_blanks_are_found_again(found):
    """Letters, digits, apostrophes and hyphens make one word."""
    assert words(" , ".join(found)) == found


@given(st.lists(st.text(alphabet="ab ,", min_size=1).map(str.strip).filter(bool)))
def test_sentences_joined_by_a_stop_and_a_blank_are_found_again(bodies):
    """A sentence ends at a stop that a blank follows."""
    found = [body + "." for body in bodies]
    assert sentences(" ".join(found)) == found


@given(st.lists(st.text(alphabet="ab", min_size=1), min_size=1))
def test_paragraphs_joined_by_blank_lines_are_found_again(found):
    """Blank lines, with blanks in them or not, divide paragraphs."""
    assert paragraphs("\n \n\n".join(found)) == found


def test_a_stop_without_a_blank_ends_no_sentence():
    """1.5 and a.b are not sentence ends, and a text without a stop is one sentence."""
    assert sentences("It is 1.5 m") == ["It is 1.5 m"]
    assert sentences("  ") == []


def test_keywords_are_literal_and_bounded():
    """A keyword is no pattern, ignores case, and stands between word boundaries unless told otherwise."""
    assert count_keyword("Arm arm, ARMS a.m", "arm") == 2
    assert count_keyword("a.m aXm", "a.m") == 1
    assert has_keyword("ARMS", "arm", word_boundary=False)
    assert not has_keyword("ARMS", "arm", word_boundary=True)
