"""Code of somebody's own that two runs were made with: what tells that it was other code, and what tells nothing."""

from __future__ import annotations

import pytest

from hylo_eval.compare.conditions import condition_differences
from tests.hylo_eval.compare.test_evidence import conditions

ONE = ("mine:Grasped", "sha256:one")


@pytest.mark.parametrize(
    ("parent", "said"),
    [
        (("mine:Grasped", "sha256:two"), "its file was sha256:one for the candidate, sha256:two for the parent"),
        (("other:Grasped", "sha256:one"), "its reference was mine:Grasped for the candidate, other:Grasped for the"),
    ],
)
def test_two_scorers_of_one_name_are_a_difference(parent: tuple[str, str], said: str) -> None:
    """Their numbers stand under one name and mean different things."""
    ours = conditions("candidate", scorer_sources={"grasped": ONE})
    (found,) = condition_differences(ours, conditions("parent", scorer_sources={"grasped": parent}))
    assert (found.name, found.allowable) == ("scorers", True)
    assert f"the scorer 'grasped' is another: {said}" in found.sentence


@pytest.mark.parametrize("sources", [{}, {"grasped": ("", "")}, {"grasped": ("mine:Grasped", "")}, {"grasped": ONE}])
def test_what_one_log_does_not_say_of_a_scorer_is_no_difference(sources: dict[str, tuple[str, str]]) -> None:
    """An imported log, one of an earlier release, or the very same scorer."""
    ours = conditions("candidate", scorer_sources={"grasped": ONE})
    assert not list(condition_differences(ours, conditions("parent", scorer_sources=sources)))


def test_another_file_of_an_environment_is_a_difference_where_both_are_on_record() -> None:
    """A reference alone does not say what ran."""
    ours = conditions("candidate", env_source="sha256:one")
    (found,) = condition_differences(ours, conditions("parent", env_source="sha256:two"))
    assert (found.name, found.allowable) == ("env-source", True)
    assert not list(condition_differences(ours, conditions("parent", env_source="sha256:one")))
    assert not list(condition_differences(ours, conditions("parent")))


def test_a_filter_whose_file_one_side_has_not_on_record_is_the_same_filter() -> None:
    """An earlier release kept no such digest; two that are on record are held against each other."""
    ours = conditions("candidate", safety=({"name": "mine", "source_digest": "sha256:one"},))
    assert not list(condition_differences(ours, conditions("parent", safety=({"name": "mine"},))))
    for other in ({"name": "mine", "source_digest": "sha256:two"}, {"name": "other"}):
        (found,) = condition_differences(ours, conditions("parent", safety=(other,)))
        assert found.name == "safety"
