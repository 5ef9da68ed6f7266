"""Benchmark files: finding, reading and writing them, without a simulator."""

from __future__ import annotations

import functools
import json
import os
import tomllib
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hylo_core import Benchmark, ContractError, RefError
from hylo_eval import EvalError, benchmarks, find_benchmark, load_benchmark, plugins
from hylo_eval.benchmarks import (
    benchmark_files,
    benchmarks_with_task,
    dump_benchmark,
    env_of,
    parse_benchmark,
    read_toml,
)
from tests import episodes, strategies

FILES = benchmark_files()
MINIMAL = """
id = "mini"
version = "1"
env = "reach"

[splits]
heldout = [0, 1]

[[tasks]]
id = "mini/task"
version = "1"
instruction = "go"
max_steps = 5
init = { kind = "seed" }
success = { kind = "builtin", name = "env_success" }
"""

without_null = st.recursive(
    st.booleans() | strategies.integers | strategies.floats | strategies.texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strategies.texts, inner, max_size=3),
    max_leaves=6,
)


def has_null(value: Any) -> bool:
    """Whether null stands anywhere in a JSON value."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(has_null, members))


@given(
    strategies.benchmarks(), strategies.names, st.dictionaries(strategies.names, without_null, min_size=1, max_size=3)
)
def test_a_benchmark_written_and_read_has_the_same_digest(benchmark: Benchmark, env: str, options: Any) -> None:
    """Any valid benchmark that TOML can hold, with any env and default options."""
    assume(not has_null(benchmark.to_dict()))
    kept = {**benchmark.metadata, "env": env, "env_options": benchmarks.canonical_json(options).decode()}
    benchmark = attrs.evolve(benchmark, metadata=kept)
    again = parse_benchmark(tomllib.loads(dump_benchmark(benchmark)))
    assert again.digest() == benchmark.digest()
    assert env_of(again) == (env, json.loads(json.dumps(options)))


@pytest.mark.parametrize("alias", FILES)
def test_a_shipped_file_is_found_by_alias_and_survives_freezing(alias: str) -> None:
    """It loads without a simulator, its id is its alias, its env exists, and writing it again changes no digest."""
    benchmark = find_benchmark(alias)
    assert benchmark.id == alias
    assert benchmark.digest() == load_benchmark(FILES[alias]).digest()
    env, _ = env_of(benchmark)
    assert env in {plugin.name for plugin in plugins.plugins("envs")}
    assert parse_benchmark(tomllib.loads(dump_benchmark(benchmark))).digest() == benchmark.digest()
    assert FILES[alias].stat().st_size < 200_000


read_once = functools.cache(benchmarks.read_benchmark_file)


@pytest.mark.parametrize("alias", FILES)
def test_a_shipped_benchmark_is_found_by_each_of_its_tasks(alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the id and by its end, as --task takes them; by nothing else."""
    monkeypatch.setattr(benchmarks, "read_benchmark_file", read_once)  # each lookup reads every shipped file
    first = load_benchmark(FILES[alias]).tasks[0].id
    for name in (first, first.partition("/")[2] or first):
        assert alias in benchmarks_with_task(name)
    assert benchmarks_with_task(f"{first}x") == ()


def test_shipped_files_have_different_names_and_contents() -> None:
    """One alias, one file, one digest."""
    root = Path(__file__).parents[2] / "benchmarks"
    assert Counter(path.stem for path in root.glob("*/*.toml")) == Counter(FILES.keys())
    assert len({find_benchmark(alias).digest() for alias in FILES}) == len(FILES)


def test_a_path_names_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a folder in front or without; a shipped alias is no path."""
    (tmp_path / "mini.toml").write_text(MINIMAL)
    assert find_benchmark(str(tmp_path / "mini.toml")).id == "mini"
    monkeypatch.chdir(tmp_path)
    assert find_benchmark("mini.toml").id == "mini"
    (tmp_path / "reach_fixed").write_text("not a benchmark")
    assert find_benchmark("reach_fixed").id == "reach_fixed"


UNIT = episodes.benchmark()


def make_unit() -> Benchmark:
    """A function that returns a benchmark."""
    return UNIT


@pytest.fixture
def unit_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A module with a benchmark, a function that makes one, and something else."""
    (tmp_path / "unit_benchmarks.py").write_text(
        "from tests.episodes import benchmark\nUNIT = benchmark()\nmake = benchmark\nOTHER = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return "unit_benchmarks"


@pytest.mark.parametrize("attribute", ["UNIT", "make"])
def test_a_reference_names_a_benchmark_or_what_makes_one(unit_module: str, attribute: str) -> None:
    """``package.module:Attr``."""
    assert find_benchmark(f"{unit_module}:{attribute}").digest() == UNIT.digest()


def test_a_reference_to_anything_else_is_refused(unit_module: str) -> None:
    """The text says what it is."""
    with pytest.raises(EvalError, match="'unit_benchmarks:OTHER' is a int, not a Benchmark"):
        find_benchmark("unit_benchmarks:OTHER")
    with pytest.raises(RefError, match="there is no module 'no_such_package'"):
        find_benchmark("no_such_package:UNIT")


def test_an_entry_point_adds_a_name_and_replaces_none(unit_module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Third parties add aliases; a shipped one keeps its meaning."""
    found = [metadata.EntryPoint(name, f"{unit_module}:UNIT", "hylo.benchmarks") for name in ("theirs", "reach_fixed")]
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: found if group == "hylo.benchmarks" else [])
    assert find_benchmark("theirs").digest() == UNIT.digest()
    assert find_benchmark("reach_fixed").id == "reach_fixed"
    with pytest.raises(EvalError, match="there is no benchmark 'their'; did you mean 'theirs'"):
        find_benchmark("their")


def test_an_unknown_name_is_refused_with_near_ones() -> None:
    """And with the command that lists all."""
    with pytest.raises(EvalError) as caught:
        find_benchmark("libero_objects")
    assert str(caught.value).startswith("there is no benchmark 'libero_objects'; did you mean 'libero_object'")
    assert str(caught.value).endswith("fix: hylo-eval list benchmarks")


BAD_FILES = [
    (b"id = ", EvalError, "is not valid TOML: Invalid value (at end of document)"),
    (MINIMAL.encode() + b"\nx = 1\nx = 2\n", EvalError, "is not valid TOML: Cannot overwrite a value (at line 18, column 6)"),
    (b"\x7fELF\x02\x01\x01\x00", EvalError, "is not valid TOML: Invalid statement (at line 1, column 1)"),
    (b"\xff\xfe\x00i", EvalError, "is not UTF-8 text (invalid start byte at byte 0)"),
    (b"x = " + b"[" * 5000 + b"]" * 5000, EvalError, "is nested too deeply to be a benchmark file"),
    (b"", ContractError, "env: is missing: the alias or reference of the env factory"),
    (MINIMAL.replace('"reach"', "3").encode(), ContractError, "env: must be text"),
    (MINIMAL.replace('env = "reach"', 'env = "reach"\nenv_options = 3').encode(), ContractError, "env_options: must be a mapping"),
    (MINIMAL.replace('env = "reach"', 'env = "reach"\nmetadata = 3').encode(), ContractError, "metadata: must be a mapping"),
    (MINIMAL.replace('env = "reach"', 'env = "reach"\nenv_options = {a = {b = nan}}').encode(), ContractError, "env_options.a.b: holds nan; JSON has only finite numbers"),
    (MINIMAL.replace('env = "reach"', 'env = "reach"\nenv_options = {a = 1979-05-27}').encode(), ContractError, "env_options.a: holds a date; only JSON values are allowed (convert it explicitly)"),
    (MINIMAL.replace('env = "reach"', 'env = "reach"\nmetadata = {env = "x"}').encode(), ContractError, "metadata.env: belongs at the top level, as 'env'"),
    (MINIMAL.replace("max_steps = 5", 'max_steps = "5"').encode(), ContractError, "tasks[0].max_steps: must be an integer, not '5'"),
    (MINIMAL.replace("max_steps", "max_step").encode(), ContractError, "tasks[0].max_steps: is missing (found 'max_step')"),
    (MINIMAL.replace("[0, 1]", "[0, 0]").encode(), ContractError, "splits.heldout[1]: is seed 0, again in this split; a seed stands once in a split and in one split only"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "kind", "sentence"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_a_bad_file_is_refused_with_its_name_and_the_place(
    tmp_path: Path, data: bytes, kind: type[Exception], sentence: str
) -> None:
    """One sentence; no exception of a TOML reader or codec reaches a person."""
    path = tmp_path / "bad.toml"
    path.write_bytes(data)
    with pytest.raises(kind) as caught:
        load_benchmark(path)
    assert str(caught.value).partition("\n  fix: ")[0] == f"{path}: {sentence}"


def test_a_file_that_is_missing_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unread."""
    with pytest.raises(EvalError, match=r"there is no benchmark file .*none\.toml\n  fix: hylo-eval list benchmarks"):
        load_benchmark(tmp_path / "none.toml")
    with pytest.raises(EvalError, match=r"is no benchmark file"):
        load_benchmark(tmp_path)
    (tmp_path / "mini.toml").write_text(MINIMAL)
    monkeypatch.setattr(benchmarks, "MAX_FILE_BYTES", 10)
    with pytest.raises(EvalError, match="is larger than 10 bytes, too large for a benchmark file"):
        load_benchmark(tmp_path / "mini.toml")


def test_what_toml_cannot_hold_is_refused_when_it_is_written() -> None:
    """TOML has no null: the place is named."""
    spec = episodes.task(params={"layout": [1, {"pose": None}]})
    benchmark = episodes.benchmark(spec, metadata={"env": "reach"})
    with pytest.raises(ContractError, match=r"tasks\[0\]\.params\.layout\[1\]\.pose: is null, which TOML cannot write"):
        dump_benchmark(benchmark)


def test_a_benchmark_without_an_env_is_refused() -> None:
    """One built in Python may name none; a run of it needs an env factory given otherwise."""
    with pytest.raises(EvalError, match="benchmark 'unit' names no env factory"):
        env_of(episodes.benchmark())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x = " + b"9" * 5000, "holds an integer of thousands of digits"),
        (b"x = " + b"[" * 2000 + b"]" * 2000, "nested too deeply to be an agent file"),
        (b"x = ", "is not valid TOML"),
        (b"x = '\xff'", "is not UTF-8 text"),
        (b"#" * 101 + b"9" * 5000, "too large for an agent file"),
    ],
    ids=["digits", "depth", "syntax", "bytes", "size"],
)
def test_a_hostile_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    """Whatever is wrong with it."""
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(EvalError, match=message):
        read_toml(path, what="an agent file", max_bytes=5050)


def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe that nobody writes to would never end."""
    os.mkfifo(tmp_path / "x.toml")
    with pytest.raises(EvalError, match="is no agent file"):
        read_toml(tmp_path / "x.toml", what="an agent file", max_bytes=100)
