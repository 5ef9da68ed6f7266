"""Embodied question answering through the same ``run`` as a simulator."""

import json

import pytest

from hylo_eval import read_evallog, read_trace
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.evaluation.scores import score_trace
from hylo_eval.scoring.response import ResponseSuccess, TraceResponseScorer
from hylo_eval.scoring.success import Success
from tests.hylo_eval.cli.conftest import hylo

__all__ = ["hylo"]

SCORERS = ("success", "response", "response_success")


@pytest.fixture
def arguments(tmp_path):
    """A run of the shipped benchmark."""
    scorers = [part for name in SCORERS for part in ("--scorer", name)]
    return ["run", "response_tabletop", "--agent", "response-scripted", *scorers, "--run-root", tmp_path, "--json"]


def test_a_run_is_scored_is_repeated_bit_for_bit_and_is_scored_again_from_its_traces(arguments, hylo, tmp_path):
    """Success strictly between 0 and 1; equal behaviour digests; the same scores from the files alone."""
    first = hylo(*arguments, "--run-id", "first")
    second = hylo(*arguments, "--run-id", "second")
    assert (first.code, second.code) == (0, 0)
    assert 0.0 < first.json["scores"]["success"]["mean"] < 1.0
    assert first.json["scores"] == second.json["scores"]
    assert first.json["scores"]["success"]["mean"] == first.json["scores"]["response_success"]["mean"]

    instances = {item.key: item for item in find_benchmark("response_tabletop").instances("heldout")}
    log = read_evallog(tmp_path / "first" / "evallog.json")
    assert len(log.samples) == len(instances) >= 40
    for sample in log.samples:
        trace = read_trace(tmp_path / "first" / sample.trace)
        again = score_trace([Success(), TraceResponseScorer(), ResponseSuccess()], trace, instances[sample.key])
        assert again == sample.scores
        assert trace.behaviour_sha256 == read_trace(tmp_path / "second" / sample.trace).behaviour_sha256


def test_what_decides_a_score_is_in_the_digest(arguments, hylo):
    """Another tau is another benchmark."""
    import attrs

    shipped = find_benchmark("response_tabletop")
    params = {**shipped.tasks[0].params, "truth": {**shipped.tasks[0].params["truth"], "annotation_tau": 0.4}}
    other = attrs.evolve(shipped, tasks=(attrs.evolve(shipped.tasks[0], params=params), *shipped.tasks[1:]))
    assert other.digest() != shipped.digest()
    assert json.loads(shipped.to_json())["tasks"][0]["params"]["truth"]["annotation_tau"] == 0.5
