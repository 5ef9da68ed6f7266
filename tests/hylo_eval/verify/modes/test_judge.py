"""Mode ``judge``: gates, rubrics and retries, against a local server that behaves well and badly."""

import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hylo_eval.verify import extras
from hylo_eval.verify.judging.connection import JudgeConnection
from hylo_eval.verify.modes.grader import ResourceTable
from hylo_eval.verify.modes.judge import GRADER, grade_judge_candidate, matches_reference, normalized
from hylo_eval.verify.spec import parse_spec, render_spec
from hylo_eval.verify.specs.answer import Constraint
from hylo_eval.verify.specs.base import EmptyOutput
from hylo_eval.verify.specs.judge import JudgeSpec
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Status

API_KEY = "secret-key"
REFERENCE = {"references": ["The gripper slipped"], "question": "Why did the pick fail?"}
CHECKLIST = {
    "rubric": "checklist",
    "criteria": ["Names the object?", "States the cause?", "Gives a next step?"],
}


def completion(text, *, finish_reason="stop", tokens=None, **message):
    """The JSON text of a chat completion."""
    choice = {"index": 0, "finish_reason": finish_reason}
    choice["message"] = {"role": "assistant", "content": text, **message}
    reply = {"object": "chat.completion", "choices": [choice]}
    return json.dumps({**reply, "usage": {"completion_tokens": tokens}} if tokens else reply)


class Server(ThreadingHTTPServer):
    """An endpoint that gives the prepared replies in order, the last one for ever.

    A reply is a completion's body, or a function that gets the request's handler and answers as it likes.
    """

    daemon_threads = True

    def __init__(self, replies):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = replies
        self.requests = []
        self.closing = threading.Event()

    @property
    def connection(self):
        return JudgeConnection(base_url=f"http://127.0.0.1:{self.server_port}/v1", api_key=API_KEY, model="fake")

    def handle_error(self, request, client_address):
        """A client that hangs up at its deadline is what several tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        requests = self.server.requests
        requests.append({"path": self.path, "body": body, "authorization": self.headers["Authorization"]})
        reply = self.server.replies[min(len(requests), len(self.server.replies)) - 1]
        if callable(reply):
            reply(self)
        else:
            self.answer(200, reply.encode())

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Tests print nothing."""


@contextmanager
def serving(*replies):
    """A server with the prepared replies, on the loopback interface."""
    server = Server(replies)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def grade(server, candidate="It lost friction on the mug", **fields):
    spec = JudgeSpec(**(REFERENCE | fields if "rubric" not in fields else fields))
    return grade_judge_candidate(spec, candidate, connection=server.connection)


def test_reference_scores():
    """The score of the last line is the reward, the rest of the reply the reasoning."""
    with serving(completion("Partly, SCORE: 1 would be\ntoo much.\nSCORE: 0.5", tokens=12)) as server:
        verdict = grade(server)
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.5)
    assert verdict.detail == {
        "model": "fake",
        "reasoning": "Partly, would be too much.",
        "attempt_count": 1,
        "attempts": [{"finish_reason": "stop", "completion_tokens": 12}],
    }


def test_request():
    """One user message goes out at temperature 0 with budget, effort and key; the spec's model wins."""
    with serving(completion("SCORE: 0")) as server:
        verdict = grade(server, model="vlm-judge", reasoning_effort="low")
        (request,) = server.requests
    assert verdict.reward == 0.0
    assert (request["path"], request["authorization"]) == ("/v1/chat/completions", f"Bearer {API_KEY}")
    body = request["body"]
    prompt = body.pop("messages")[0]["content"]
    assert body == {
        "model": "vlm-judge",
        "temperature": 0.0,
        "max_completion_tokens": 8192,
        "reasoning_effort": "low",
    }
    assert all(text in prompt for text in ("The gripper slipped", "Why did the pick fail?", "friction on the mug"))


def test_checklist_scores():
    """The reward of a checklist is the fraction of criteria that hold, each asked by itself."""
    with serving(*(completion(f"SCORE: {score}") for score in (1, 0, 1))) as server:
        verdict = grade(server, **CHECKLIST)
        prompts = [request["body"]["messages"][0]["content"] for request in server.requests]
    assert verdict.reward == pytest.approx(2 / 3)
    assert (verdict.detail["passed"], verdict.detail["total"]) == (2, 3)
    assert [entry["passed"] for entry in verdict.detail["criteria"]] == [True, False, True]
    assert [criterion in prompt for criterion, prompt in zip(CHECKLIST["criteria"], prompts, strict=True)] == [True] * 3


def test_checklist_keeps_what_was_finished():
    """Half a point is no answer to yes or no: one more try, then an abstention with the finished."""
    with (
        serving(completion("SCORE: 1"), completion("SCORE: 0.5")) as server,
        pytest.raises(GradingInfraError) as caught,
    ):
        grade(server, **CHECKLIST)
    first, second = caught.value.detail["criteria"]
    assert (first["passed"], first["attempt_count"]) == (True, 1)
    assert ("passed" in second, second["attempt_count"]) == (False, 2)


def test_exact_gate():
    """An answer equal to a reference scores without a question, unless the gate is closed."""
    with serving(completion("SCORE: 0")) as server:
        assert grade(server, "the gripper slipped.").detail == {"gate": "exact"}
        assert grade(server, "I think \\boxed{Gripper slipped}").reward == 1.0
        assert server.requests == []
        assert grade(server, "the gripper slipped.", exact_gate=False).reward == 0.0
        assert len(server.requests) == 1


def test_constraints_gate():
    """A response that breaks an instruction scores zero without a question, even when it is right."""
    no_comma = Constraint(name="punctuation:no_comma")
    with serving(completion("SCORE: 1")) as server:
        verdict = grade(server, "It slipped, I think", constraints=[no_comma])
        assert (verdict.reward, verdict.detail) == (
            0.0,
            {"gate": "constraints", "failed": ["punctuation:no_comma"]},
        )
        assert server.requests == []
        assert grade(server, "It slipped I think", constraints=[no_comma]).reward == 1.0


def test_empty_candidate():
    """A blank candidate scores zero without a question, unless the task grades blanks."""
    with serving(completion("SCORE: 1")) as server:
        assert grade(server, " \n").detail == {"reason": "no_output"}
        assert server.requests == []
        assert grade(server, "", empty_output=EmptyOutput.GRADE).reward == 1.0


@pytest.mark.parametrize(("retry", "calls"), [(0, [64]), (256, [64, 256])])
def test_length(retry, calls):
    """A reply cut off by its length is asked for once more with the larger budget, then abstains."""
    cut = completion("so", finish_reason="length", tokens=64)
    with serving(cut) as server, pytest.raises(GradingInfraError) as caught:
        grade(server, max_completion_tokens=64, incomplete_retry_tokens=retry)
    assert [request["body"]["max_completion_tokens"] for request in server.requests] == calls
    assert caught.value.detail["attempts"] == [{"finish_reason": "length", "completion_tokens": 64}] * len(calls)


def test_length_then_whole():
    """The reply to the larger budget counts."""
    with serving(completion("so", finish_reason="length"), completion("ok\nSCORE: 1")) as server:
        verdict = grade(server, max_completion_tokens=64, incomplete_retry_tokens=256)
    assert (verdict.reward, verdict.detail["attempt_count"]) == (1.0, 2)


def test_scoreless_reply():
    """A reply without a score gets one more try; a score of the rubric's own scale is asked for."""
    with serving(completion("Well."), completion("SCORE: 1")) as server:
        assert grade(server).detail["attempt_count"] == 2
    for last_line in ("SCORE: 2", "SCORE: 1 or 0", "SCORE:", "the score: 1", "**SCORE: 1**"):
        with serving(completion(last_line)) as server, pytest.raises(GradingInfraError, match="SCORE"):
            grade(server)
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "{}",
        "[]",
        "nothing",
        '{"choices": []}',
        '{"error": {"message": "overloaded"}}',
        completion("SCORE: 1").replace('"index": 0', '"index": NaN'),
        completion("SCORE: 1").replace('"index": 0', '"index": 0, "index": 0'),
        completion("SCORE: 1", role="user"),
        completion("SCORE: 1", refusal="I cannot"),
        completion("SCORE: 1", tool_calls=[{"id": "1"}]),
        completion("SCORE: 1", finish_reason="content_filter"),
        completion(""),
        completion(None),
        "[" * 100_000,
    ],
)
def test_malformed_reply(reply):
    """A reply that is not one whole text of an assistant abstains, and is not asked for again."""
    with serving(reply) as server, pytest.raises(GradingInfraError):
        grade(server)
    assert len(server.requests) == 1


def test_several_choices():
    """Two choices are no verdict."""
    reply = json.loads(completion("SCORE: 1"))
    reply["choices"] *= 2
    with serving(json.dumps(reply)) as server, pytest.raises(GradingInfraError, match="one choice"):
        grade(server)


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_failing_server(status):
    """A failing endpoint abstains at the first failure: nothing is retried behind the grader's back."""
    with serving(lambda handler: handler.answer(status, b"{}")) as server:
        with pytest.raises(GradingInfraError, match=str(status)):
            grade(server)
        assert len(server.requests) == 1


def test_redirect():
    """A redirect is not followed, so credentials stay where they were sent."""
    with serving(completion("SCORE: 1")) as elsewhere:
        address = f"{elsewhere.connection.base_url}/chat/completions"
        with (
            serving(lambda handler: handler.answer(307, b"", Location=address)) as server,
            pytest.raises(GradingInfraError, match="redirect"),
        ):
            grade(server)
        assert elsewhere.requests == []


def drip(handler, content):
    """Sends a byte every 0.2 seconds, so that no single read is ever late."""
    for byte in content:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        if handler.server.closing.wait(0.2):
            return


def drip_body(handler):
    body = completion("SCORE: 1").encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    drip(handler, body)


def drip_headers(handler):
    drip(handler, b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * 1000)


def say_nothing(handler):
    handler.server.closing.wait(60.0)


@pytest.mark.parametrize("reply", [drip_body, drip_headers, say_nothing])
def test_slow_server(reply):
    """The request timeout bounds the whole exchange: a byte now and then does not extend it."""
    with serving(reply) as server, pytest.raises(GradingInfraError, match=r"within 0\.7 seconds"):
        grade(server, request_timeout=0.7)


def test_flooding_server():
    """An endless reply is cut off."""

    def flood(handler):
        handler.send_response(200)
        handler.end_headers()
        while not handler.server.closing.is_set():
            handler.wfile.write(b" " * 65536)

    with serving(flood) as server, pytest.raises(GradingInfraError, match="larger than"):
        grade(server)


def test_absent_server():
    """An address where nobody listens abstains, and the error holds no credentials."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    connection = JudgeConnection(base_url=f"http://127.0.0.1:{port}/v1", api_key=API_KEY, model="fake")
    with pytest.raises(GradingInfraError, match="cannot be asked") as caught:
        grade_judge_candidate(JudgeSpec(**REFERENCE), "friction", connection=connection)
    assert API_KEY not in str(caught.value)
    assert API_KEY not in repr(connection)


@pytest.mark.parametrize("api_key", ["bad\nkey", "schlüssel"])
def test_impossible_key(api_key):
    """A key that no header can carry abstains without telling the key."""
    connection = JudgeConnection(base_url="http://127.0.0.1:9", api_key=api_key, model="fake")
    with pytest.raises(GradingInfraError) as caught:
        grade_judge_candidate(JudgeSpec(**REFERENCE), "friction", connection=connection)
    assert api_key not in str(caught.value)


def test_connection_from_environment(monkeypatch):
    """Without a connection the environment's is used; what it lacks is named."""
    spec = JudgeSpec(**REFERENCE)
    for variable in ("BASE_URL", "API_KEY", "MODEL"):
        monkeypatch.delenv(f"VERIFYIT_JUDGE_{variable}", raising=False)
    with pytest.raises(GradingInfraError, match="VERIFYIT_JUDGE"):
        grade_judge_candidate(spec, "friction")
    monkeypatch.setenv("VERIFYIT_JUDGE_MODEL", "fake")
    with pytest.raises(GradingInfraError, match="VERIFYIT_JUDGE_BASE_URL"):
        grade_judge_candidate(spec, "friction")
    monkeypatch.setenv("VERIFYIT_JUDGE_BASE_URL", "file:///etc/passwd")
    with pytest.raises(GradingInfraError, match="http"):
        grade_judge_candidate(spec, "friction")
    with serving(completion("SCORE: 1")) as server:
        monkeypatch.setenv("VERIFYIT_JUDGE_BASE_URL", server.connection.base_url)
        assert grade_judge_candidate(spec, "friction").reward == 1.0
        assert server.requests[0]["authorization"] is None


def test_missing_extra(monkeypatch):
    """Without the HTTP client the verdict names the extra that installs it."""

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(extras, "import_module", absent)
    connection = JudgeConnection(base_url="http://127.0.0.1:9", model="fake")
    with pytest.raises(GradingInfraError, match=r"pip install 'hylo-eval\[judge\]'"):
        grade_judge_candidate(JudgeSpec(**REFERENCE), "friction", connection=connection)


def test_context():
    """The judge sees the context of the direct caller; a missing file is the task's defect."""
    spec = JudgeSpec(**REFERENCE, context="log.txt")
    GRADER.check_task(spec, ResourceTable({"log.txt": b"force dropped"}))
    with pytest.raises(InvalidTask, match=r"log\.txt"):
        GRADER.check_task(spec, ResourceTable({}))
    with serving(completion("SCORE: 1")) as server:
        grade_judge_candidate(spec, "friction", connection=server.connection, context="force dropped")
        assert "force dropped" in server.requests[0]["body"]["messages"][0]["content"]


@pytest.mark.parametrize(
    "fields",
    [
        {"references": []},
        {"references": [" "]},
        {"rubric": "checklist"},
        {"max_completion_tokens": 0},
        {"incomplete_retry_tokens": -1},
        {"incomplete_retry_tokens": 8192},
        {"request_timeout": 0.0},
        {"request_timeout": float("nan")},
        {"constraints": [Constraint(name="no:such")]},
    ],
)
def test_defects_of_the_task(fields):
    """A malformed specification is the task's defect."""
    with pytest.raises(InvalidTask):
        grade_judge_candidate(JudgeSpec(**{**REFERENCE, **fields}), "friction")


def test_candidate_type():
    """A candidate that is no text is the caller's mistake."""
    with pytest.raises(TypeError, match="str"):
        grade_judge_candidate(JudgeSpec(**REFERENCE), 42)


def test_spec_holds_no_credentials():
    """A rendered specification says what is asked, not where and with which key."""
    spec = parse_spec('mode = "judge"\nreferences = ["x"]\n')
    assert "key" not in render_spec(spec)
    assert "url" not in render_spec(spec)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  The Mug! ", "mug"),
        ("\\text{A mug}", "mug"),
        ("\\left( x \\right)", "x"),
        ("1,000 kg.", "1000 kg"),
        ("\uff13\uff0e\uff15", "3.5"),
        ("\u22125", "-5"),
        ("(5)", "5"),
        ("it's", "its"),
        ("$5$", "5"),
        ("**The gripper** *slipped*.", "gripper slipped"),
        ("**42**", "42"),
        ("!?", ""),
    ],
)
def test_normalization(text, expected):
    """Case, width, wrappers, punctuation and articles do not matter."""
    assert normalized(text) == expected


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        ("5", "-5"),
        ("35", "3.5"),
        ("12", "1/2"),
        ("10", "10%"),
        ("x2", "x^2"),
        ("", "."),
        ("5", ".5"),
        ("2 3 4", "2 *3* 4"),
    ],
)
def test_gate_earns_nothing_wrong(candidate, reference):
    """A difference that changes a number is left to the judge."""
    assert not matches_reference(candidate, (reference,))


@pytest.mark.parametrize("said", [API_KEY, json.dumps(f"\\{API_KEY}"), "".join(f"\\u{ord(c):04x}" for c in API_KEY)])
def test_a_key_that_the_judge_repeats(said):
    """A server that repeats its key, in its words or beside them, puts it into no verdict and no failure."""
    replies = [
        completion(f"I was sent {said}", finish_reason="length"),
        completion(f"I was sent {said}\nSCORE: 1"),
        completion("no text", finish_reason=said),
        json.dumps({said: 1}).replace("}", "," + json.dumps({said: 1})[1:]),
    ]
    spec = JudgeSpec(**REFERENCE, incomplete_retry_tokens=9000)
    with serving(*replies) as server:
        verdict = grade_judge_candidate(spec, "wet", connection=server.connection)
        failures = []
        for _ in range(2):
            with pytest.raises(GradingInfraError) as caught:
                grade_judge_candidate(spec, "wet", connection=server.connection)
            failures.append(f"{caught.value} {caught.value.detail}")
    assert verdict.reward == 1.0
    assert "[key]" in verdict.detail["reasoning"]
    assert "[key]" in failures[0]
    for shown in (str(verdict.detail), *failures):
        assert API_KEY not in shown
        assert said not in shown
