"""Short names for references: a literal table, entry points beside it, nothing imported until asked."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest

from hylo_core.refs import parse_ref
from hylo_eval import EvalError
from hylo_eval.plugins import BUILT_IN, Kind, Plugin, load, plugins, ref_of

ALL = [(kind, plugin) for kind, table in BUILT_IN.items() for plugin in table]


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that adds an agent, and one that claims a built-in name."""
    found = [
        metadata.EntryPoint("my-policy", "my_policy.agent:Policy", "hylo.agents"),
        metadata.EntryPoint("zero", "my_policy.agent:NotZero", "hylo.agents"),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: [entry for entry in found if entry.group == group])


@pytest.mark.parametrize(("kind", "plugin"), ALL)
def test_a_built_in_name_stands_for_something_that_loads(kind: Kind, plugin: Plugin) -> None:
    """Without the simulator: a module imports it when it makes something."""
    parse_ref(plugin.ref)
    assert plugin.summary
    loaded = load(kind, plugin.name)
    assert callable(loaded)
    assert loaded is load(kind, plugin.ref)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_names_are_unique_within_a_kind(kind: Kind) -> None:
    """And one reference has one name."""
    assert len({plugin.name for plugin in BUILT_IN[kind]}) == len(BUILT_IN[kind])
    assert len({plugin.ref for plugin in BUILT_IN[kind]}) == len(BUILT_IN[kind])


@pytest.mark.usefixtures("third_party")
def test_entry_points_add_names_and_replace_none() -> None:
    """A package installed beside Hylo cannot change what a built-in name means."""
    names = [plugin.name for plugin in plugins("agents")]
    assert names == [*(plugin.name for plugin in BUILT_IN["agents"]), "my-policy"]
    assert ref_of("agents", "my-policy") == "my_policy.agent:Policy"
    assert ref_of("agents", "zero") == "hylo_eval.agents.baselines:ZeroAgent"
    assert [plugin.name for plugin in plugins("envs")] == [plugin.name for plugin in BUILT_IN["envs"]]


def test_a_reference_stands_for_itself() -> None:
    """It is not looked up, and not imported before it is loaded."""
    assert ref_of("agents", "no_such_package.agent:Policy") == "no_such_package.agent:Policy"


REFUSED: list[tuple[Kind, str, str]] = [
    ("agents", "zer", "there is no agent 'zer'; did you mean 'zero'?\n  fix: hylo-eval list agents"),
    ("envs", "???", "there is no env '???'\n  fix: hylo-eval list envs"),
    ("scorers", "sucess", "there is no scorer 'sucess'; did you mean 'success' or 'success_once' or 'success_at_end'?\n  fix: hylo-eval list scorers"),
    ("safety", "bound", "there is no safety filter 'bound'; did you mean 'bounds' or 'box'?\n  fix: hylo-eval list safety"),
    ("graders", "vlm", "there is no grader 'vlm'; did you mean 'vlm_judge'?\n  fix: hylo-eval list graders"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "sentence"), REFUSED)
def test_an_unknown_name_is_refused_with_near_ones(kind: Kind, name: str, sentence: str) -> None:
    """The kind in its own words, near names, and the command that lists all."""
    with pytest.raises(EvalError) as caught:
        ref_of(kind, name)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("no_such_package:Policy", "there is no module 'no_such_package' in this environment"),
        ("hylo_eval.agents.baselines:Nothing", "hylo_eval.agents.baselines has no 'Nothing'"),
        ("not a module:Policy", "a reference has the form package.module:Attr"),
        ("hylo_eval:", "a reference has the form package.module:Attr"),
    ],
)
def test_what_cannot_be_loaded_is_an_error_that_names_it(ref: str, reason: str) -> None:
    """Never an ImportError or AttributeError of Python's own."""
    with pytest.raises(EvalError) as caught:
        load("agents", ref)
    assert repr(ref) in str(caught.value)
    assert reason in str(caught.value)


def test_a_module_that_raises_when_imported_is_an_error(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's module can raise anything; the cause is kept."""
    (tmp_path / "broken_agent_module.py").write_text("raise ZeroDivisionError('at import')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EvalError, match="importing broken_agent_module raised ZeroDivisionError: at import") as caught:
        load("agents", "broken_agent_module:Policy")
    assert isinstance(caught.value.__cause__.__cause__, ZeroDivisionError)
