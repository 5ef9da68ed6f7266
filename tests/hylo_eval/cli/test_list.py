"""``hylo-eval list``."""

import pytest

from hylo_eval import families
from hylo_eval.benchmarks import benchmark_files
from hylo_eval.plugins import BUILT_IN

ANSWER_KEYS = {"name", "usable", "ref", "summary"}


@pytest.mark.parametrize("kind", ["agents", "envs", "scorers", "safety"])
def test_every_plugin_is_one_line(kind, hylo):
    """Name first, so that cut and grep work."""
    outcome = hylo("list", kind)
    lines = outcome.out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [plugin.name for plugin in BUILT_IN[kind]]
    assert all(line.endswith(plugin.summary) for line, plugin in zip(lines, BUILT_IN[kind], strict=True))
    assert outcome.code == 0


def test_every_benchmark_is_one_line_with_its_sizes(hylo):
    """Name, usable, env, tasks, seeds of each split; a dash for a split it does not have."""
    lines = hylo("list", "benchmarks").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(benchmark_files())
    rows = {line.split()[0]: line.split() for line in lines}
    assert rows["benchmark"] == ["benchmark", "here", "env", "tasks", "train", "validation", "heldout"]
    assert rows["reach_fixed"] == ["reach_fixed", "yes", "reach", "1", "100", "50", "100"]
    assert rows["libero_90"][2:] == ["libero", "90", "-", "-", "50"]


def test_what_is_not_installed_says_no_and_how_to_get_it(hylo, monkeypatch):
    """The command stands on standard error; the listing stays a listing."""
    monkeypatch.setattr(families, "has_module", lambda name: name.startswith("hylo_eval."))
    outcome = hylo("list", "envs")
    here = {line.split()[0]: line.split()[1] for line in outcome.out.splitlines()[1:]}
    assert here == {
        "reach": "yes",
        "fetch": "no",
        "metaworld": "no",
        "libero": "no",
        "robocasa": "no",
        "gymnasium": "yes",
        "response": "yes",
    }
    assert "hylo-eval[fetch]" in outcome.err
    assert "pip" not in outcome.out


def test_json_holds_everything_and_nothing_else_is_on_standard_output(hylo):
    """All kinds in one object, typed."""
    outcome = hylo("list", "--json")
    listed = outcome.json
    assert list(listed) == ["benchmarks", "agents", "envs", "scorers", "safety", "graders"]
    assert set(listed["scorers"][0]) == ANSWER_KEYS
    reach = next(item for item in listed["benchmarks"] if item["name"] == "reach_fixed")
    assert reach["splits"] == {"train": 100, "validation": 50, "heldout": 100}
    assert reach["usable"] is True
    assert outcome.err == ""


def test_json_names_what_is_missing(hylo, monkeypatch):
    """Modules and the command."""
    monkeypatch.setattr(families, "has_module", lambda name: name.startswith("hylo_eval."))
    fetch = next(item for item in hylo("list", "envs", "--json").json["envs"] if item["name"] == "fetch")
    assert fetch["missing"] == ["gymnasium_robotics", "mujoco"]
    assert fetch["fix"].endswith("'hylo-eval[fetch]'")


def test_a_broken_file_does_not_hide_the_others(hylo, monkeypatch, tmp_path):
    """It is listed as bad, and why stands on standard error."""
    bad = tmp_path / "bad.toml"
    bad.write_text("id = 3\n", encoding="utf-8")
    reach = benchmark_files()["reach_fixed"]
    monkeypatch.setattr("hylo_eval.benchmarks.benchmark_files", lambda: {"bad": bad, "reach_fixed": reach})
    outcome = hylo("list", "benchmarks")
    assert [line.split()[:2] for line in outcome.out.splitlines()[1:]] == [["bad", "bad"], ["reach_fixed", "yes"]]
    assert f"bad: {bad}: " in outcome.err
    assert hylo("list", "benchmarks", "--json").json["benchmarks"][0]["usable"] is False
