"""The table of families agrees with packaging, with the plug-ins and with the shipped benchmarks."""

import inspect
import sys
import tomllib
from pathlib import Path

import pytest

from hylo_eval import families, plugins
from hylo_eval.benchmarks import benchmark_files, env_of, load_benchmark
from hylo_eval.envs.robocasa.assets import ASSETS
from hylo_eval.envs.robocasa.installation import ASSETS_VARIABLE
from hylo_eval.families import (
    BASE_PACKAGES,
    FAMILIES,
    FREEZABLE,
    env_availability,
    family_availability,
    find_family,
    plugin_availability,
    simulating_versions,
    with_absolute_places,
    without_places,
)
from hylo_eval.plugins import BUILT_IN, Plugin

ROOT = Path(families.__file__).parents[1]
EXTRAS = [family for family in FAMILIES if family.extra]


@pytest.mark.parametrize("family", EXTRAS, ids=lambda family: family.name)
def test_requirements_hold_the_pins_of_the_extra(family):
    """What ``doctor`` calls known-good is what the extra installs."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = document["project"]["optional-dependencies"][family.extra]
    assert set(pins) <= set(map(str, family.requirements))


def test_every_built_in_env_has_a_family():
    """Each environment with a short name is in the table, under that name."""
    assert {family.name for family in FAMILIES} == {plugin.name for plugin in BUILT_IN["envs"]}


def test_agents_of_families_are_built_in_agents():
    """A misspelt agent would be listed as usable without its simulator."""
    known = {plugin.name for plugin in BUILT_IN["agents"]}
    assert {agent for family in FAMILIES for agent in family.agents} <= known


def test_every_benchmark_of_a_frozen_family_is_frozen():
    """The table of freezable benchmarks is the set of shipped files of those families."""
    frozen = {family.name for family in FAMILIES if family.freeze}
    shipped = {name for name, path in benchmark_files().items() if env_of(load_benchmark(path))[0] in frozen}
    assert shipped == set(FREEZABLE)


def test_availability_looks_and_does_not_import():
    """Asking for a family imports none of its modules."""
    before = set(sys.modules)
    for family in FAMILIES:
        family_availability(family)
    assert not {name for name in set(sys.modules) - before if not name.startswith("hylo_eval")}


def test_a_missing_module_is_named_with_the_command_that_installs_it(monkeypatch):
    """Only what is missing is named; the fix is the family's extra."""
    monkeypatch.setattr(families, "has_module", lambda name: name != "gymnasium_robotics")
    found = env_availability("fetch")
    assert not found.usable
    assert found.missing == ("gymnasium_robotics",)
    assert found.fix.endswith("-m pip install 'hylo-eval[fetch]'")


@pytest.mark.parametrize("name", ["fetch-scripted", "metaworld-expert", "libero-scripted", "robocasa-scripted"])
def test_an_agent_of_a_family_needs_the_family(name, monkeypatch):
    """An agent that is written for a simulator cannot be used without it."""
    monkeypatch.setattr(families, "has_module", lambda name: name.startswith("hylo_eval."))
    plugin = next(plugin for plugin in BUILT_IN["agents"] if plugin.name == name)
    assert not plugin_availability("agents", plugin).usable


def test_a_plugin_of_a_package_that_is_not_installed_is_not_usable():
    """Somebody else's plug-in is looked for by its top-level package alone."""
    missing = plugin_availability("agents", Plugin("theirs", "no_such_package.deep.module:Agent"))
    assert missing.missing == ("no_such_package",)
    assert plugin_availability("agents", Plugin("theirs", "json.decoder:JSONDecoder")).usable


def test_families_are_found_by_alias_and_reference():
    """The alias and the full reference of an environment are of one family; a stranger is of none."""
    for plugin in plugins.BUILT_IN["envs"]:
        assert find_family(plugin.name) is find_family(plugin.ref) is not None
    assert find_family("their_package:Env") is None
    assert find_family("hylo_eval.envs.fetching:Env") is None


def test_the_versions_of_a_run_are_those_its_family_uses():
    """Another MuJoCo beside it changes no run of the point robot; of somebody else's environment nothing is known."""
    versions = {"numpy": "2.0.0", "mujoco": "3.3.0", "gymnasium": "1.2.0"}
    assert simulating_versions("reach", versions) == {"numpy": "2.0.0", "gymnasium": "1.2.0"}
    assert simulating_versions("hylo_eval.envs.fetch:FetchEnv", versions) == versions
    assert simulating_versions("somebodys.envs:Env", versions) == versions


def test_no_family_leaves_out_what_it_is_pinned_to():
    """What an extra pins decides what is simulated; a family names base packages and nothing else."""
    for family in FAMILIES:
        pinned = {requirement.name for requirement in family.requirements}
        assert pinned & {*BASE_PACKAGES} <= {*family.base} <= {*BASE_PACKAGES}


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.places], ids=lambda family: family.name)
def test_a_place_is_left_out_only_where_what_lies_there_is_on_record(family):
    """Two machines keep one set of assets in two folders."""
    for place in family.places:
        options = {place.option: "/here", "size": 3}
        assert without_places(family.name, options, {place.version: "sha256:1"}) == {"size": 3}
        assert without_places(family.name, options, {}) == options


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.places], ids=lambda family: family.name)
def test_a_place_means_the_same_in_every_folder(family, tmp_path, monkeypatch):
    """A relative one is that of the present folder; an empty one is left for the env to refuse."""
    monkeypatch.chdir(tmp_path)
    for place in family.places:
        options = {place.option: "assets", "size": "3"}
        assert with_absolute_places(family.name, options) == {**options, place.option: str(tmp_path / "assets")}
        assert with_absolute_places(family.name, {place.option: ""}) == {place.option: ""}
        assert with_absolute_places(f"somebody.{family.name}:Env", options) == options


def test_the_variable_of_a_place_is_the_one_that_the_family_reads():
    """It stands in the table so that a fix can name it without importing the family."""
    (place,) = families.places_of("robocasa")
    assert (place.variable, place.version) == (ASSETS_VARIABLE, ASSETS)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.switches], ids=lambda family: family.name)
def test_a_switch_is_an_option_of_the_factory_with_that_default(family):
    """The table says what the factory says, so that asking it loads no factory."""
    parameters = inspect.signature(plugins.load("envs", family.name)).parameters
    for switch in family.switches:
        assert parameters[switch.option].default is switch.on
