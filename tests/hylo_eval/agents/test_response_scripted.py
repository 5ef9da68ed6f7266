"""The scripted agent: right as often as it says, wrong in every way it says."""

import json

import pytest

from hylo_eval.agents.response_scripted import ResponseScripted, _response
from hylo_eval.errors import AgentError
from hylo_eval.scoring.response import ResponseSuccess
from tests.responses import recorded, response_instance, truth

TRUTH = truth()


def correct(text, **changes):
    """Whether a text is a correct response."""
    instance = response_instance(truth=truth(**changes))
    return ResponseSuccess().score(recorded(text, instance), instance).value


def test_full_accuracy_is_always_right_and_none_never():
    """The two ends of the option."""
    for seed in range(20):
        assert correct(_response(TRUTH, 1.0, seed)) == 1.0
        assert correct(_response(TRUTH, 0.0, seed)) == 0.0


def test_every_wrong_way_occurs():
    """Another answer, a misplaced annotation, none at all, prose."""
    texts = {_response(TRUTH, 0.0, seed).splitlines()[-1] for seed in range(40)}
    payloads = [json.loads(text) for text in texts if text.startswith("{")]
    assert {"answer": 3} in payloads
    assert {"answer": 4, "annotation": [100, 100]} in payloads
    assert {"answer": 3, "annotation": [10_100, 10_100]} in payloads
    assert len(texts) == 4


@pytest.mark.parametrize("value", [True, 0.5, "red", [1, 2]])
def test_a_wrong_answer_is_wrong_whatever_its_type(value):
    """In answer mode, where an annotation cannot be what is wrong."""
    alone = truth(mode="answer", annotation=None, annotation_tau=None)
    alone["answer"] = {"type": "string" if isinstance(value, str) else "integer", "value": value}
    for seed in range(12):
        said = _response(alone, 0.0, seed)
        assert not said.startswith("{")
        assert json.dumps({"answer": value}) not in said


def test_a_task_without_truth_and_a_bad_accuracy_are_refused():
    """There is nothing to answer from."""
    with pytest.raises(AgentError, match="accuracy"):
        ResponseScripted(accuracy=1.5)
    with pytest.raises(AgentError, match="no param 'truth'"):
        ResponseScripted().open_episode(response_instance(), "", 1)
