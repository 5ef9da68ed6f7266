"""``hylo-eval benchmark sample``."""

from __future__ import annotations

import pytest

from hylo_eval.benchmarks import load_benchmark

SAMPLE = ("benchmark", "sample", "robocasa", "--count", 20, "--seed", 3)


def test_the_same_arguments_write_the_same_file(hylo, tmp_path):
    """Byte for byte; the digest that is printed is that of what the file holds."""
    outcome = hylo(*SAMPLE, "-o", tmp_path / "kitchens.toml")
    again = hylo(*SAMPLE, "-o", tmp_path / "again.toml", "--id", "kitchens")
    assert outcome.code == again.code == 0
    written = (tmp_path / "kitchens.toml").read_bytes()
    assert (tmp_path / "again.toml").read_bytes() == written
    found = load_benchmark(tmp_path / "kitchens.toml")
    assert outcome.out == f"{tmp_path}/kitchens.toml: 20 tasks, {found.digest()}\n"
    assert found.id == "kitchens"
    assert dict(found.splits) == {"target": (0,)}
    assert outcome.err == ""


def test_json_has_the_digest_of_each_task(hylo, tmp_path):
    """Options and splits of the provider change what is drawn."""
    path = tmp_path / "d.toml"
    options = ("--split", "pretrain", "--arg", "tasks=OpenDrawer,CloseDrawer", "--episodes", 2, "--json")
    outcome = hylo(*SAMPLE, *options, "-o", path)
    assert outcome.code == 0, outcome.err
    found = load_benchmark(path)
    assert outcome.json == {
        "path": str(path),
        "digest": found.digest(),
        "tasks": [{"id": task.id, "digest": task.digest()} for task in found.tasks],
    }
    assert [task.params["task"] for task in found.tasks[:4]] == ["CloseDrawer", "OpenDrawer"] * 2
    assert dict(found.splits) == {"pretrain": (0, 1)}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("robocas", "--count", 1, "--seed", 0), "no provider 'robocas'"),
        (("robocasa", "--count", 10000, "--seed", 0), "different tasks of these, not 10000"),
        (("robocasa", "--count", 1, "--seed", 0, "--split", "heldout"), "no split 'heldout'"),
        (("robocasa", "--count", 1, "--seed", 0, "--arg", "taks=x"), "taks"),
        (("robocasa", "--count", 0, "--seed", 0), "--count"),
    ],
)
def test_what_cannot_be_drawn_ends_with_2_and_writes_nothing(arguments, reason, hylo, tmp_path):
    """With the near names."""
    outcome = hylo("benchmark", "sample", *arguments, "-o", tmp_path / "x.toml")
    assert outcome.code == 2
    assert reason in outcome.err
    assert not (tmp_path / "x.toml").exists()


def test_a_sample_is_written_where_run_finds_it(hylo, tmp_path):
    """A file of another ending would be taken for a name."""
    outcome = hylo(*SAMPLE, "-o", tmp_path / "kitchens.json")
    assert outcome.code == 2
    assert "ends in .toml" in outcome.err
    assert not list(tmp_path.iterdir())
