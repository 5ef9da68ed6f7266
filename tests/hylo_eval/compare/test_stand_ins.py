"""What stood in for the real thing is never held against the real thing."""

import attrs
import pytest

from hylo_eval.compare.comparability import EXCEPTIONS, EvidenceRefused, pair_evidence
from tests.hylo_eval.compare.test_evidence import ten

REAL = {"mujoco": "3.3.1", "robocasa-assets": "sha256:1"}
STAND_IN = {"mujoco": "3.3.1", "robocasa-assets": "stand-in assets sha256:2"}


@pytest.mark.parametrize(("ours", "theirs", "side"), [(REAL, STAND_IN, "parent"), (STAND_IN, REAL, "candidate")])
def test_no_exception_lets_it_pass(ours, theirs, side):
    """Another version may be allowed; this is no version of the same thing."""
    with pytest.raises(EvidenceRefused, match=f"the {side} ran on robocasa-assets stand-in") as refused:
        pair_evidence(ten("a", versions=ours), ten("b", versions=theirs), allow=list(EXCEPTIONS))
    assert [(item.name, item.allowable) for item in refused.value.differences] == [("stand-in", False)]


def test_stand_ins_are_compared_with_stand_ins():
    """Two agents on one stand-in kitchen are a fair pair; on two kitchens they are not."""
    pair = pair_evidence(ten("a", versions=STAND_IN), ten("b", versions=STAND_IN))
    assert "this says nothing about the real thing" in pair.notes[0]
    other = {**STAND_IN, "robocasa-assets": "stand-in assets sha256:3"}
    with pytest.raises(EvidenceRefused) as refused:
        pair_evidence(ten("a", versions=STAND_IN), ten("b", versions=other))
    assert [item.name for item in refused.value.differences] == ["versions"]


def test_a_version_that_only_begins_alike_is_no_stand_in():
    """The word stands alone."""
    version = {"simulator": "stand-inside 2"}
    pair_evidence(ten("a", versions=version), attrs.evolve(ten("b", versions=version)))


@pytest.mark.parametrize(
    ("versions", "said"),
    [(REAL, "the parent ran on the real thing"), ({"mujoco": "3.3.1"}, "the parent has no robocasa-assets on record")],
)
def test_what_has_no_assets_on_record_is_not_called_the_real_thing(versions, said):
    """An environment without assets has nothing that could be real."""
    with pytest.raises(EvidenceRefused) as refused:
        pair_evidence(ten("a", versions=STAND_IN), ten("b", versions=versions))
    assert [item.sentence for item in refused.value.differences if item.name == "stand-in"] == [
        f"the candidate ran on robocasa-assets stand-in assets sha256:2, {said}"
    ]
