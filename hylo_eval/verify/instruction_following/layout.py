"""Checks of layout: Markdown, markers, sections and JSON."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from hylo_eval.verify.instruction_following.check import CheckResult, Parameters
from hylo_eval.verify.instruction_following.segmentation import sentences

_BULLET = re.compile(r"\s*[*\-]\s+")
_TITLE = re.compile(r"<<[^<>\n]+>>")
_BRACKETS = re.compile(r"\[[^\[\]\n]+\]")
_HIGHLIGHT = re.compile(r"\*{1,2}[^*\n]+\*{1,2}")
_BOLD_PAIR = re.compile(r"\*\*\s*\w+\s+\w+\s*\*\*")
_ALLOWED_RESPONSES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_RESPONSE_SEPARATOR = "******"
_FENCE = "```"


def number_bullet_lists(text: str, parameters: Parameters) -> CheckResult:
    """Exactly ``num_bullets`` lines that begin with ``*`` or ``-`` and a blank."""
    expected = parameters.integer("num_bullets")
    found = sum(1 for line in text.splitlines() if _BULLET.match(line))
    return CheckResult(found == expected, f"bullets: {found}, required {expected}")


def number_highlighted_sections(text: str, parameters: Parameters) -> CheckResult:
    """At least ``num_highlights`` parts of a line between asterisks."""
    expected, found = parameters.integer("num_highlights"), len(_HIGHLIGHT.findall(text))
    return CheckResult(found >= expected, f"highlights: {found}, required at least {expected}")


def number_placeholders(text: str, parameters: Parameters) -> CheckResult:
    """At least ``num_placeholders`` texts in square brackets."""
    expected, found = parameters.integer("num_placeholders"), len(_BRACKETS.findall(text))
    return CheckResult(found >= expected, f"placeholders: {found}, required at least {expected}")


def square_brackets(text: str, _parameters: Parameters) -> CheckResult:
    """Some text in square brackets."""
    return _contains(_BRACKETS, text, "text in square brackets")


def title(text: str, _parameters: Parameters) -> CheckResult:
    """A title in double angle brackets."""
    return _contains(_TITLE, text, "title")


def bigram_wrapping(text: str, _parameters: Parameters) -> CheckResult:
    """Some pair of words in bold. Rough: the instruction wants every pair wrapped."""
    return _contains(_BOLD_PAIR, text, "pair of words in bold")


def multiple_sections(text: str, parameters: Parameters) -> CheckResult:
    """Exactly ``num_sections`` section marks: the splitter, by default ``Section``, and a number."""
    expected = parameters.integer("num_sections")
    # The published parameter has a spelling mistake; data sets use both spellings.
    splitter = parameters.text_or("section_spliter", parameters.text_or("section_splitter", "Section"))
    found = sum(1 for _ in re.finditer(rf"{re.escape(splitter)}\s*\d+", text, re.IGNORECASE))
    return CheckResult(found == expected, f"sections by {splitter!r}: {found}, required {expected}")


def json_format(text: str, _parameters: Parameters) -> CheckResult:
    """The response is one JSON value, bare or in one code fence."""
    try:
        json.loads(_unfenced(text.strip()), parse_constant=_refuse_constant)
    except ValueError as error:
        return CheckResult(passed=False, detail=f"not JSON: {error}")
    except RecursionError:
        return CheckResult(passed=False, detail="not JSON: nested too deeply to be read")
    return CheckResult(passed=True, detail="JSON")


def sentence_hyphens(text: str, _parameters: Parameters) -> CheckResult:
    """The words of every sentence are joined by hyphens: no blank, at least one hyphen."""
    found = sentences(text)
    bodies = [sentence.rstrip(".!?") for sentence in found]
    wrong = next((body for body in bodies if " " in body or "\t" in body or "-" not in body), None)
    return CheckResult(bool(found) and wrong is None, f"sentences: {len(found)}, not joined: {wrong!r:.80}")


def constrained_response(text: str, _parameters: Parameters) -> CheckResult:
    """The response is one of the three allowed answers, word for word."""
    passed = text.strip() in _ALLOWED_RESPONSES
    return CheckResult(passed, f"one of {', '.join(map(repr, _ALLOWED_RESPONSES))}: {passed}")


def postscript(text: str, parameters: Parameters) -> CheckResult:
    """Some line begins with ``postscript_marker``, ignoring case."""
    marker = parameters.text("postscript_marker")
    opening = re.compile(rf"\s*{re.escape(marker)}", re.IGNORECASE)
    # Line by line: searching the whole text for blanks and a marker takes quadratic time over blank lines.
    passed = any(opening.match(line) for line in text.split("\n"))
    return CheckResult(passed, f"line beginning with {marker!r}: {passed}")


def two_responses(text: str, _parameters: Parameters) -> CheckResult:
    """Two different responses with six asterisks between them."""
    parts = [part.strip() for part in text.split(_RESPONSE_SEPARATOR)]
    responses = [part for part in parts if part]
    passed = len(responses) == 2 and responses[0] != responses[1] and all(parts[1:-1])
    return CheckResult(passed, f"responses: {len(responses)}, required 2 different ones")


def _contains(pattern: re.Pattern[str], text: str, what: str) -> CheckResult:
    passed = pattern.search(text) is not None
    return CheckResult(passed, f"{what}: {passed}")


def _unfenced(text: str) -> str:
    first_line, _, rest = text.partition("\n")
    if first_line.rstrip() in (_FENCE, f"{_FENCE}json") and rest.endswith(f"\n{_FENCE}"):
        return rest[: -len(_FENCE)]
    return text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
