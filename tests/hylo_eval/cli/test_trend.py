"""``hylo-eval trend``: versions against their parent and a fixed baseline."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.runs import edit_json, edit_manifest, keys, unfinish, unit, write_run


def version(
    root: Path, number: int, successes: int, *, agent: str = "act", day: int | None = None, **options: Any
) -> None:
    """A run of a version on forty instances, made on a day of its own."""
    name = f"{agent}-{number}"
    options = {"bench": unit(40), "manifest": {"name": agent, "version": f"v{number}"}, **options}
    write_run(root, name, keys(*range(successes)), **options)
    at = f"2026-01-{number + 1 if day is None else day:02d}T00:00:00+00:00"
    edit_json(root / name / "manifest.json", lambda manifest: manifest.update(created_at=at))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four versions that get slowly worse, written in another order than they were made; somebody else's run."""
    folder = tmp_path_factory.mktemp("written")
    for number, successes in ((2, 22), (0, 30), (3, 18), (1, 26)):
        version(folder, number, successes)
    version(folder, 0, 40, agent="other")
    return folder


@pytest.fixture
def root(written: Path, tmp_path: Path) -> Path:
    """A copy of them that a test may change."""
    return Path(shutil.copytree(written, tmp_path / "runs"))


@pytest.fixture
def trend(hylo: Any, root: Path) -> Any:
    """Call ``trend``."""
    return lambda *arguments: hylo("trend", *(arguments or ("act",)), "--run-root", root)


def test_a_slow_drift_shows(trend: Any) -> None:
    """No step is significant, the sum of them is; the oldest is the baseline."""
    done = trend()
    assert done.code == 0, done.err
    assert "baseline   act v0 (run act-0)" in done.out
    assert "worse than the baseline: act-2, act-3 (Holm-adjusted exact one-sided p at most 0.05)" in done.out
    runs = [line.split()[2] for line in done.out.splitlines() if line.startswith("act v")]
    assert runs == ["act-0", "act-1", "act-2", "act-3"]
    found = trend("act", "--json").json
    assert [step["from_parent"] and step["from_parent"]["reverse_p_value"] for step in found["steps"]] == [
        None,
        *[1 / 16] * 3,
    ]
    assert [step["adjusted_regression_p"] for step in found["steps"]] == [None, 1 / 16, 2 / 256, 3 / 4096]


def test_the_record_is_the_printed_document(trend: Any, root: Path) -> None:
    """As for every look."""
    printed = trend("act", "--json").json
    [path] = (root / "comparisons").iterdir()
    assert json.loads(path.read_text()) == printed
    assert printed["kind"] == "trend"


def test_the_baseline_may_be_any_run(trend: Any) -> None:
    """One of the family keeps its place in time; one from elsewhere comes first and is nobody's parent."""
    inside = trend("act", "--baseline", "act-2", "--json").json
    assert [step["run_id"] for step in inside["steps"]] == ["act-0", "act-1", "act-2", "act-3"]
    assert [step["from_baseline"] and step["from_baseline"]["difference"] for step in inside["steps"]] == [
        0.2,
        0.1,
        None,
        -0.1,
    ]
    assert inside["steps"][2]["from_parent"]["reference"] == "act-1"
    outside = trend("act", "--baseline", "other-0", "--json").json
    assert [step["run_id"] for step in outside["steps"]] == ["other-0", "act-0", "act-1", "act-2", "act-3"]
    assert outside["steps"][1]["from_parent"] is None
    assert outside["steps"][1]["from_baseline"]["difference"] == -0.25


def test_a_second_run_of_a_version_is_not_its_own_parent(trend: Any, root: Path) -> None:
    """The parent is the version before."""
    version(root, 3, 19, day=28, manifest={"name": "act", "version": "v3"}, agent="act3")
    found = trend("act", "--json").json
    assert found["steps"][-1]["run_id"] == "act3-3"
    assert found["steps"][-1]["from_parent"]["reference"] == "act-2"


def test_a_pattern_takes_in_several_names(trend: Any) -> None:
    """``*`` is anything."""
    assert len(trend("*", "--json").json["steps"]) == 5


def test_other_benchmarks_are_chosen_by_name_and_other_instances_left_out(trend: Any, root: Path) -> None:
    """Never mixed in silence; a run that is not finished is none yet."""
    version(root, 8, 3, bench=unit(5), day=1)
    done = trend()
    assert "left out, since their instances are not those of the latest run: act-8." in done.out
    version(root, 9, 3)
    unfinish(root / "act-9", 7)
    (root / "broken").mkdir()
    (root / "broken" / "evallog.json").write_text("{}")
    (root / "broken" / "manifest.json").write_text("\x1b[2J")
    done = trend()
    assert done.code == 0, done.err
    assert "act-9" not in done.out
    assert "without a readable manifest: 1" in done.out
    edit_json(root / "act-3" / "manifest.json", lambda manifest: manifest["benchmark"].update(split="validation"))
    done = trend()
    assert done.code == 2
    assert "on several benchmarks or splits (unit heldout, unit validation)" in done.err
    assert len(trend("act", "--split", "heldout", "--json").json["steps"]) == 3


def test_versions_of_another_simulator_are_refused_unless_allowed(trend: Any, root: Path) -> None:
    """As in a gate, naming the runs."""
    edit_manifest(root / "act-3", lambda manifest: manifest["versions"].update(mujoco="3.2.7"))
    done = trend()
    assert done.code == 2
    assert "versions: act-3 (as candidate) and act-0 (as parent): candidate against parent: mujoco" in done.err
    done = trend("act", "--allow", "versions")
    assert done.code == 0, done.err
    assert "allowed, versions: candidate against parent: mujoco" in done.out


def test_runs_from_before_another_simulator_are_left_out_and_named(trend: Any, root: Path) -> None:
    """What was run since is a trend by itself; a baseline that somebody names is not left out but refused."""
    for name in ("act-2", "act-3"):
        edit_manifest(root / name, lambda manifest: manifest["versions"].update(mujoco="3.2.7"))
    done = trend()
    assert done.code == 0, done.err
    assert "ran on another simulator than the latest run: act-0, act-1 (--allow versions)" in done.out
    assert [step["run_id"] for step in trend("act", "--json").json["steps"]] == ["act-2", "act-3"]
    assert trend("act", "--baseline", "act-0").code == 2
    assert len(trend("act", "--allow", "versions", "--json").json["steps"]) == 4


def test_it_is_drawn(trend: Any, tmp_path: Path) -> None:
    """A point for each rate, and for each change from the baseline and from the parent."""
    done = trend("act", "--figure", tmp_path / "new" / "trend.svg")
    assert done.code == 0, done.err
    picture = ET.parse(tmp_path / "new" / "trend.svg").getroot()  # noqa: S314
    svg = "{http://www.w3.org/2000/svg}"
    colours = [node.attrib["fill"] for node in picture.iter(f"{svg}circle")]
    assert len(colours) == 4 + 3 + 3
    assert colours.count("#d55e00") == 2, "the two that are worse than the baseline"
    assert trend("act", "--figure", tmp_path / "trend.png").code == 0
    assert (tmp_path / "trend.png").read_bytes().startswith(b"\x89PNG")


def test_no_name_of_the_picture_is_cut_that_could_stand_there(hylo: Any, tmp_path: Path) -> None:
    """A version in a line of its own above its run; a name that fits no picture is whole in the title."""
    long = "20261130T120530Z-libero_object_dev-" + "x" * 80
    for number, run in enumerate(("20261130T120530Z-fetch_pick_and_place-fetch-scripted-4da0", long)):
        write_run(tmp_path, run, keys(0), bench=unit(2), manifest={"name": "act", "version": f"{number}.0.0-candidate"})
    done = hylo("trend", "act", "--run-root", tmp_path, "--figure", tmp_path / "trend.svg")
    assert done.code == 0, done.err
    picture = ET.parse(tmp_path / "trend.svg").getroot()  # noqa: S314
    svg = "{http://www.w3.org/2000/svg}"
    shown = ["".join(node.itertext()) for node in picture.iter(f"{svg}text")]
    for whole in (
        "act 0.0.0-candidate",
        "act 1.0.0-candidate",
        "20261130T120530Z-fetch_pick_and_place-fetch-scripted-4da0",
    ):
        assert whole in shown
    assert any(long in text for text in shown), "the title of the one that was cut"


def test_hostile_names_stay_text(hylo: Any, tmp_path: Path) -> None:
    """On the terminal, in Markdown and in the picture."""
    for number in (0, 1):
        version(tmp_path, number, 3, agent="a", manifest={"name": "x\x1b[2J<b>", "version": str(number)}, bench=unit(4))
    for form in ((), ("--markdown", "-"), ("--json",)):
        done = hylo("trend", "x*", "--run-root", tmp_path, "--figure", tmp_path / "t.svg", *form)
        assert done.code == 0, done.err
        assert "\x1b" not in done.out
    assert "<b>" not in hylo("trend", "x*", "--run-root", tmp_path, "--markdown", "-").out
    assert b"\x1b" not in (tmp_path / "t.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("atc",), "holds no finished run of an agent 'atc'; did you mean 'act'"),
        (("other",), "a trend takes 2 to 200 finished runs of 'other'; found 1"),
        (("act", "--baseline", "act-7"), "there is no run 'act-7'"),
        (("act", "--alpha", "0.7"), "alpha: must lie in (0, 0.5)"),
        (("act", "--figure", "t.pdf"), "a figure is an SVG or PNG file"),
        (("act", "--json", "--markdown", "-"), "both want standard output"),
        (("act", "--metric", "steps"), "steps"),
        (("act\x1b[2J",), "holds no finished run"),
    ],
)
def test_bad_usage_ends_with_2(trend: Any, arguments: tuple[str, ...], message: str) -> None:
    """One sentence."""
    done = trend(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "\x1b" not in done.err


def test_a_missing_run_root_is_named(hylo: Any, tmp_path: Path) -> None:
    """Not an empty trend."""
    done = hylo("trend", "act", "--run-root", tmp_path / "none")
    assert done.code == 2
    assert "there is no run root" in done.err
