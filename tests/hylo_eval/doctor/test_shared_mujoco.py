"""One interpreter has one MuJoCo: the doctor says which, who finds it, and who would exchange it."""

from __future__ import annotations

import pytest

from hylo_eval.doctor.packages import Package
from hylo_eval.doctor.shared_mujoco import mujoco_finding
from hylo_eval.families import FAMILIES

FAMILY = {family.name: family for family in FAMILIES}


def examined(version: str, here: list[str], not_here: list[str]):
    """The finding where such a MuJoCo is installed, with these families and without those."""
    (finding,) = mujoco_finding(
        {"mujoco": Package(version)}, [FAMILY[name] for name in here], [FAMILY[name] for name in not_here]
    )
    return finding


def test_the_version_is_shown_with_the_families_that_find_it() -> None:
    """3.3.0 suits all three."""
    finding = examined("3.3.0", ["fetch", "metaworld", "libero"], ["robocasa"])
    assert (finding.check, finding.outcome, finding.fix) == ("mujoco", "ok", "")
    assert finding.text == (
        "3.3.0, found by fetch (takes >=3.3,<3.10), metaworld (takes ==3.3.0) and libero (takes ==3.3.0)"
    )


def test_an_extra_that_would_exchange_it_is_named_before_it_does() -> None:
    """Nothing is wrong yet; the way to keep it is an environment of its own."""
    finding = examined("3.9.0", ["fetch"], ["metaworld"])
    assert finding.outcome == "info"
    assert finding.text == (
        "3.9.0, found by fetch (takes >=3.3,<3.10); installing metaworld (takes ==3.3.0) here exchanges it, "
        "and runs on two versions are not compared"
    )
    assert finding.fix == "to keep 3.9.0: hylo-eval env add metaworld --create"


def test_a_family_that_wants_another_is_a_warning_with_both_ways_out() -> None:
    """Its own version, which the others get too, or its own environment."""
    finding = examined("3.9.0", ["fetch", "metaworld"], [])
    assert finding.outcome == "warning"
    assert finding.text.endswith(": not what metaworld takes; runs on two versions are not compared")
    assert "install mujoco==3.3.0; or, to keep 3.9.0: hylo-eval env add metaworld --create" in finding.fix
    both = examined("3.9.0", ["fetch", "metaworld", "libero"], [])
    assert ": not what metaworld and libero take; " in both.text
    assert both.fix.endswith("hylo-eval env add metaworld --create and hylo-eval env add libero --create")


@pytest.mark.parametrize("version", ["3.3.0", "3.9.0"])
def test_a_family_that_lives_apart_exchanges_nothing(version: str) -> None:
    """RoboCasa takes 3.3.1, in an interpreter of its own."""
    assert examined(version, ["fetch"], ["robocasa"]).outcome == "ok"


def test_without_mujoco_there_is_nothing_to_say() -> None:
    """The base installation has none."""
    assert mujoco_finding({}, [], list(FAMILIES)) == ()
