"""Mode xml-elements: the answer is well-formed XML that carries the wanted names.

A name is an element's or an attribute's, without its namespace. Values, nesting and order are not looked at.
The document is read as a stream: entities are refused, external ones are never fetched, no tree is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.parsers import expat

from hylo_eval.verify.extraction import fenced_block
from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.verdict import InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from hylo_eval.verify.specs.answer import XmlElementsSpec

MAX_SHOWN_NAMES: Final = 8

_NAMESPACE_END: Final = "}"


class _EntityRefused(Exception):
    """The document declares an entity, which could expand without bound."""


def _refuse_entity(*_declaration: object) -> None:
    raise _EntityRefused("entity declarations are refused")


def xml_names(document: str) -> set[str]:
    """The local names of all elements and attributes of a document.

    Raises:
        ValueError: The document is not well formed, or declares an entity.
    """
    names: set[str] = set()

    def start(tag: str, attributes: list[str]) -> None:
        names.add(tag.rpartition(_NAMESPACE_END)[2])
        for name in attributes[::2]:
            names.add(name.rpartition(_NAMESPACE_END)[2])

    parser = expat.ParserCreate("utf-8", _NAMESPACE_END)
    parser.ordered_attributes = True
    parser.StartElementHandler = start
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(document, True)  # noqa: FBT003 - expat takes the flag by position
    except (expat.ExpatError, _EntityRefused) as error:
        raise ValueError(str(error)) from error
    return names


def check_xml_elements(spec: XmlElementsSpec) -> None:
    """Raises InvalidTask when no name is wanted."""
    if not spec.required and not spec.any_of:
        raise InvalidTask("required or any_of must hold a name")


def grade_xml_elements_candidate(spec: XmlElementsSpec, candidate: str) -> Reward:
    """Scores a document, which may stand in a Markdown fence."""
    check_xml_elements(spec)
    try:
        names = xml_names(fenced_block(candidate).strip())
    except ValueError as error:
        return zero("parse_error", error=str(error)[:400])
    missing = [name for name in spec.required if name not in names]
    if missing:
        return zero("missing_elements", missing=missing[:MAX_SHOWN_NAMES])
    if spec.any_of and names.isdisjoint(spec.any_of):
        return zero("no_expected_element", expected=list(spec.any_of[:MAX_SHOWN_NAMES]))
    return scored(1.0, reason="names_present", names=len(names))


GRADER: Final = AnswerGrader["XmlElementsSpec"](
    check_spec=check_xml_elements,
    grade_output=lambda spec, text, _resources: grade_xml_elements_candidate(spec, text),
    grade_candidate=lambda spec, candidate, _resources: grade_xml_elements_candidate(spec, candidate),
)
