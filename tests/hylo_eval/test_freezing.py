"""Freezing: names, comparison with what is shipped, writing."""

import attrs
import pytest

from hylo_eval import families, freezing
from hylo_eval.benchmarks import benchmark_files, load_benchmark
from hylo_eval.errors import EvalError
from hylo_eval.families import FAMILIES, FREEZABLE, family_availability, find_family
from hylo_eval.freezing import compare_with_shipped, freeze_benchmark, frozen_names, write_frozen


def test_a_family_stands_for_all_its_benchmarks():
    """And a benchmark for itself."""
    for family in FAMILIES:
        if family.freeze:
            assert frozen_names(family.name) == family.benchmarks
    assert frozen_names("fetch_reach") == ("fetch_reach",)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("reach_fixed", "written by hand"),
        ("reach", "written by hand"),
        ("fetch_reech", "did you mean 'fetch_reach'"),
    ],
)
def test_what_cannot_be_frozen_says_why(name, reason):
    """A hand-written benchmark is another case than a mistyped one."""
    with pytest.raises(EvalError, match=reason):
        frozen_names(name)


def test_a_missing_simulator_names_its_extra(monkeypatch):
    """Before anything is imported."""
    monkeypatch.setattr(families, "has_module", lambda _: False)
    with pytest.raises(EvalError, match=r"hylo-eval\[libero\]"):
        freeze_benchmark("libero_object")


@pytest.mark.parametrize(
    "name",
    [
        "fetch_pick_and_place",
        pytest.param("metaworld_mt10", marks=(pytest.mark.metaworld, pytest.mark.slow)),
        pytest.param("libero_goal", marks=(pytest.mark.libero, pytest.mark.slow)),
    ],
)
def test_the_shipped_definition_is_what_the_simulator_gives(name):
    """One of each family through the table; the families' own tests go through them all."""
    if not family_availability(find_family(FREEZABLE[name][0])).usable:
        pytest.skip("not installed")
    assert compare_with_shipped(freeze_benchmark(name)) == ()


def test_writing_and_reading_keep_the_digest(tmp_path):
    """A frozen file is the benchmark it was made from; no partial file stays behind."""
    shipped = [load_benchmark(benchmark_files()[name]) for name in ("reach_fixed", "fetch_reach")]
    written = write_frozen(shipped, tmp_path / "new" / "folder", as_folder=True)
    assert [load_benchmark(path).digest() for path in written] == [item.digest() for item in shipped]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "fetch_reach.toml",
        "reach_fixed.toml",
    ]


def test_a_file_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    """With the path in its text."""
    (tmp_path / "file").write_text("")
    shipped = load_benchmark(benchmark_files()["reach_fixed"])
    with pytest.raises(EvalError, match=r"cannot write .*file/below"):
        write_frozen([shipped], tmp_path / "file" / "below", as_folder=False)


def test_nothing_shipped_to_compare_with_is_said(monkeypatch):
    """A new benchmark of a family has no file yet."""
    shipped = load_benchmark(benchmark_files()["reach_fixed"])
    with pytest.raises(EvalError, match="no file of 'new' is shipped"):
        freezing.compare_with_shipped(attrs.evolve(shipped, id="new"))
