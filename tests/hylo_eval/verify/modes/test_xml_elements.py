"""Mode xml-elements."""

import pytest

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.verdict import InvalidTask

LAUGHS = """<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>"""


def graded(candidate, **parameters: object):
    return grade_candidate(candidate_spec("xml-elements", parameters), candidate, {})


@pytest.mark.parametrize(
    ("document", "parameters"),
    [
        ('<cmd frame="base"><pose>1</pose></cmd>', {"required": ["pose", "frame"]}),
        ("```xml\n<cmd><pose/></cmd>\n```", {"required": "pose"}),
        ('<r:cmd xmlns:r="urn:r" r:frame="x"/>', {"required": ["cmd", "frame"]}),
        ("<cmd><force/></cmd>", {"any_of": ["speed", "force"]}),
    ],
)
def test_a_document_with_the_wanted_names_scores_one(document, parameters):
    """Elements and attributes count, without their namespaces."""
    assert graded(document, **parameters).reward == 1.0


@pytest.mark.parametrize(
    ("document", "parameters", "reason"),
    [
        ("<cmd/>", {"required": "pose"}, "missing_elements"),
        ("<!-- pose --><cmd/>", {"required": "pose"}, "missing_elements"),
        ("<cmd><Force/></cmd>", {"any_of": ["speed", "force"]}, "no_expected_element"),
        ("<cmd>", {"required": "cmd"}, "parse_error"),
        ("cmd", {"required": "cmd"}, "parse_error"),
        ("<x:cmd/>", {"required": "cmd"}, "parse_error"),
        ("<cmd>\ud800</cmd>", {"required": "cmd"}, "parse_error"),
        (LAUGHS, {"required": "a"}, "parse_error"),
        (
            '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
            {"required": "a"},
            "parse_error",
        ),
    ],
)
def test_a_document_without_them_scores_zero(document, parameters, reason):
    """Comments are no names, case counts, and a document that declares entities is refused."""
    verdict = graded(document, **parameters)
    assert (verdict.reward, verdict.detail["reason"]) == (0.0, reason)


def test_a_task_that_wants_no_name_is_invalid():
    """Every document would pass."""
    with pytest.raises(InvalidTask):
        candidate_spec("xml-elements", {})


def test_nesting_without_end_is_read_as_a_stream():
    """A hundred thousand levels neither exhaust a stack nor build a tree."""
    assert graded("<a>" * 100_000 + "</a>" * 100_000, required="a").reward == 1.0
