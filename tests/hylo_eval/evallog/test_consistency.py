"""A log agrees with itself, or is refused with the file, the path and both values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import Score
from hylo_core.errors import HyloError
from hylo_eval import read_evallog, read_evallog_header
from hylo_eval.evallog import v01
from hylo_eval.evallog.consistency import LogContradiction, find_contradictions
from hylo_eval.evallog.files import encode_evallog, parse_evallog
from hylo_eval.evallog.v02 import EvalLog
from tests.hylo_eval.evallog.logs import build, golden, sample
from tests.hylo_eval.evallog.test_files import logs, unhurried

LOG = Path("log.json")
NO_AGGREGATE = re.compile(r"eval\..*|results\.other\..*|stats\.(reply_seconds|disagreements).*|samples\[\d+\]\.seed")
"""Numbers that no sample decides: the manifest, what a log of v0.1 held beside means, durations, disagreements; seeds."""

outcomes = st.lists(
    st.tuples(
        st.sampled_from(["lift", "stack"]), st.none() | st.sampled_from([0.0, 1.0]), st.integers(1, 50).map(float)
    ),
    min_size=1,
    max_size=6,
)


def log_of(drawn: list[tuple[str, float | None, float]]) -> EvalLog:
    """A log of drawn outcomes."""
    return build(*(sample(task, seed, success, steps) for seed, (task, success, steps) in enumerate(drawn)))


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Path, container and key of every number in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        where = f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}".removeprefix(".")
        if isinstance(item, (int, float)) and not isinstance(item, bool):
            yield where, value, key
        yield from numbers(item, where)


def change_one(data: st.DataObject, document: Any) -> str:
    """Change one number of a document; returns where it stands."""
    path, container, key = data.draw(st.sampled_from(list(numbers(document))))
    container[key] += data.draw(st.sampled_from([-1, 1, 0.25, 1000]))
    return path


@unhurried
@given(outcomes, st.data())
def test_no_number_can_be_changed_that_the_samples_decide(drawn: Any, data: st.DataObject) -> None:
    """Whichever one: it is no aggregate, or the log is refused."""
    document = json.loads(encode_evallog(log_of(drawn)))
    path = change_one(data, document)
    if NO_AGGREGATE.fullmatch(path):
        return
    with pytest.raises(HyloError):
        parse_evallog(json.dumps(document).encode(), LOG)


@unhurried
@given(outcomes, st.data())
def test_no_number_of_a_flat_log_can_be_changed_that_the_samples_decide(drawn: Any, data: st.DataObject) -> None:
    """Likewise in v0.1, read by either reader; what it holds beside scores has no seed, digest or trace."""
    document = json.loads(v01.encode_evallog(v01.flatten(log_of(drawn))))
    path = change_one(data, document)
    if re.fullmatch(r"samples\[\d+\]\.seed", path):
        return
    counts = [scores["n_scored"] for scores in log_of(drawn).results.to_dict()["overall"].values()]
    if path == "results.n_scored" and document["results"]["n_scored"] in counts:
        return
    with pytest.raises(HyloError):
        parse_evallog(json.dumps(document).encode(), LOG)


@unhurried
@given(logs())
def test_what_our_builder_makes_agrees_with_itself(log: EvalLog) -> None:
    """Any numbers, any texts; also after it was flattened and raised again."""
    assert list(find_contradictions(log)) == []
    assert list(find_contradictions(v01.raised(v01.flatten(log)))) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda log: log["results"]["overall"]["success"].update(mean=0.9),
            "results.overall.success.mean: is 0.9, but its samples give 0.75; one was changed later",
        ),
        (
            lambda log: log["results"]["tasks"]["lift"]["success"].update(n_scored=3),
            "results.tasks.lift.success.n_scored: is 3, but its samples give 2",
        ),
        (
            lambda log: log["results"]["overall"]["steps"]["interval"].update(high=99.0),
            "results.overall.steps.interval.high: is 99.0, but its samples give ",
        ),
        (lambda log: log["results"].update(n_episodes=50), "results.n_episodes: is 50, but its samples give 5"),
        (lambda log: log["stats"].update(total_steps=1), "stats.total_steps: is 1, but its samples give 113"),
        (
            lambda log: log["stats"]["statuses"].update(completed=4),
            "stats.statuses.completed: is 4, but its samples give 3",
        ),
        (
            lambda log: log["samples"][0]["scores"]["success"].update(value=0.5),
            "samples[0].scores.success.value: is 0.5, but its samples give 0 or 1",
        ),
        (
            lambda log: log["samples"][1].update(key=log["samples"][0]["key"]),
            "but samples[0] makes it another one",
        ),
        (lambda log: log["results"]["macro"].update(other=None), "results.macro.other"),
        (lambda log: log["results"]["overall"].pop("steps"), "results.overall.steps: is nothing, but its samples give"),
    ],
)
def test_the_error_names_file_path_and_both_values(tmp_path: Path, change: Callable[[Any], Any], sentence: str) -> None:
    """In a file that was written anew by some tool."""
    document = json.loads(encode_evallog(golden()))
    change(document)
    path = tmp_path / "evallog.json"
    path.write_text(json.dumps(document))
    with pytest.raises(HyloError) as caught:
        read_evallog(path)
    assert str(path) in str(caught.value)
    assert sentence in str(caught.value)


def test_a_reader_that_uses_no_header_may_read_on_and_so_may_one_that_reads_nothing_else(tmp_path: Path) -> None:
    """Re-scoring takes the samples alone; the header alone is fast, and nobody's evidence."""
    log = golden()
    changed = attrs.evolve(log, results=attrs.evolve(log.results, n_episodes=7))
    path = tmp_path / "evallog.json"
    path.write_bytes(encode_evallog(changed))
    assert read_evallog(path, check=False) == changed
    assert read_evallog_header(path).results.n_episodes == 7
    with pytest.raises(LogContradiction) as caught:
        read_evallog(path)
    assert [(one.path, one.recorded, one.recomputed) for one in caught.value.contradictions] == [
        ("results.n_episodes", 7, 5)
    ]
    with pytest.raises(LogContradiction):
        v01.read_evallog(path)


def test_means_of_huge_numbers_of_both_signs_agree_although_little_is_left_of_them() -> None:
    """Rounding is measured by the numbers that went in."""
    steps = [1e25, -1e25, 3.0, 1e25, -1e25]
    samples = [
        attrs.evolve(item, scores={**item.scores, "steps": Score(steps[index])})
        for index, item in enumerate(golden().samples)
    ]
    assert list(find_contradictions(build(*samples))) == []


def test_a_log_of_v01_may_hold_means_of_what_no_sample_has() -> None:
    """Such as a latency: nothing contradicts it. A mean of a scorer that the samples have is checked."""
    flat = v01.flatten(golden())
    assert (
        list(find_contradictions(v01.raised(attrs.evolve(flat, results={**flat.results, "latency_mean": 0.3})))) == []
    )
    (wrong,) = find_contradictions(v01.raised(attrs.evolve(flat, results={**flat.results, "success_mean": 1.0})))
    assert (wrong.path, wrong.recorded, wrong.recomputed) == ("results.overall.success.mean", 1.0, 0.75)
