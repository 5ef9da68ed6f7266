"""The chat agent against a server on the loopback interface: what it sends, what it accepts, what it never says."""

import base64
import contextlib
import io
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from hylo_eval import read_trace, run_episode
from hylo_eval.agents import chat
from hylo_eval.agents.chat import ChatAgent
from hylo_eval.agents.png import encode_png
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.response import ResponseEnv
from hylo_eval.errors import AgentError
from hylo_eval.options import read_options
from tests.responses import response_instance

pytest.importorskip("httpx")
Image = pytest.importorskip("PIL.Image")

KEY = "sk-very-secret-0123456789"
PICTURE = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


class Server:
    """A chat endpoint that answers as a test says and remembers what it was asked."""

    def __init__(self):
        self.requests = []
        self.respond = lambda handler: reply(handler, completion("ok"))
        self.stopped = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                owner.requests.append((self.path, dict(self.headers), json.loads(body)))
                self.close_connection = True
                with contextlib.suppress(OSError):  # the client has left, as some tests want it to
                    owner.respond(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self):
        self.stopped.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def reply(handler, body, status=200, headers=()):
    """Send a body."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in headers:
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def completion(text, **message):
    """A chat completion with this text."""
    return {
        "model": "served-7b",
        "choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16, "details": {"x": 1}},
    }


@pytest.fixture
def server():
    """A running server."""
    running = Server()
    yield running
    running.close()


@pytest.fixture
def agent(server, monkeypatch):
    """An agent of that server, with a key."""
    monkeypatch.setenv(chat.KEY_VARIABLE, KEY)
    monkeypatch.setattr(chat, "_RETRY_WAIT_SECONDS", 0.0)
    made = ChatAgent("model-7b", server.url, timeout_seconds=20)
    yield made
    made.close()


def ask(agent, **observation):
    """One exchange."""
    session = agent.open_episode(response_instance(), "how many?", 1)
    return session.act({"prompt": "how many?", **observation})


def test_it_sends_instruction_and_pictures_as_they_are(agent, server):
    """One user message, the text first, then a PNG data URL of exactly the pixels shown."""
    found = ask(agent, image=PICTURE)
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body["model"] == "model-7b"
    text, image = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "how many?"}
    prefix, _, encoded = image["image_url"]["url"].partition(",")
    assert prefix == "data:image/png;base64"
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded)))), PICTURE)
    (recorded,) = found.metadata["images"]
    assert (recorded["name"], recorded["width"], recorded["height"]) == ("image", 3, 2)


def test_the_reply_its_raw_text_and_token_counts_are_kept(agent, server):
    """The action is the message's text, the metadata what the server said about it."""
    server.respond = lambda handler: reply(handler, completion('{"answer": 3}'))
    found = ask(agent)
    assert found.actions == '{"answer": 3}'
    assert found.metadata["tokens"] == {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    assert json.loads(found.metadata["raw"]) == completion('{"answer": 3}')
    assert (found.metadata["finish_reason"], found.metadata["model"]) == ("stop", "served-7b")


def test_options_of_the_request_are_sent_only_when_given(server):
    """Sampling and a system message; a server's defaults are its own."""
    made = ChatAgent("m", server.url, temperature=0.0, max_tokens=9, system="be brief")
    ask(made)
    made.close()
    body = server.requests[0][2]
    assert (body["temperature"], body["max_tokens"]) == (0.0, 9)
    assert body["messages"][0] == {"role": "system", "content": "be brief"}
    assert "Authorization" not in server.requests[0][1]


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (lambda handler: reply(handler, {"error": f"wrong key {KEY}"}, 500), r"status 500: .*wrong key \[key\]"),
        (lambda handler: reply(handler, b"", 302, [("Location", "http://127.0.0.1:9/")]), "redirects"),
        (lambda handler: reply(handler, b"<html>"), "no JSON"),
        (lambda handler: reply(handler, b"[" * 100_000), "no JSON"),
        (lambda handler: reply(handler, b'{"choices": [{"message": {"content": "\\ud800"}}]}'), "no JSON"),
        (lambda handler: reply(handler, {"choices": []}), "no chat completion"),
        (lambda handler: reply(handler, []), "no chat completion"),
        (lambda handler: reply(handler, completion(["a", "list"])), "content is a list"),
        (lambda handler: reply(handler, b"x", 200, [("Content-Encoding", "gzip")]), "compressed"),
        (lambda handler: reply(handler, b"x" * 2000), "more than 1000 bytes"),
        (lambda handler: handler.wfile.write(b"no HTTP at all\r\n\r\n"), "exchange .* failed"),
        (lambda _: None, "exchange .* failed"),
    ],
)
def test_what_is_no_good_reply_is_an_agent_error(agent, server, monkeypatch, respond, reason):
    """Asked once, typed, bounded, and without the key."""
    if "1000" in reason:
        monkeypatch.setattr(chat, "MAX_REPLY_BYTES", 1000)
    server.respond = respond
    with pytest.raises(AgentError, match=reason) as failed:
        ask(agent)
    assert len(server.requests) == 1
    assert KEY not in str(failed.value)
    assert len(str(failed.value)) < 1000


def test_the_timeout_is_for_the_whole_exchange(server):
    """A server that keeps sending a little never finishes, and is left."""

    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        while not server.stopped.wait(0.02):
            handler.wfile.write(b" ")

    server.respond = drip
    made = ChatAgent("m", server.url, timeout_seconds=0.2)
    with pytest.raises(AgentError, match=r"did not finish its reply in 0\.2 s"):
        ask(made)
    made.close()


def test_only_a_connection_that_does_not_come_about_is_tried_again(agent, server, monkeypatch):
    """Two refusals, then an answer; with one try too few, an error that names the place."""
    import httpx

    real, failures = agent._send, [httpx.ConnectError("refused"), httpx.ConnectError("refused")]

    async def flaky(*arguments):
        if failures:
            raise failures.pop()
        return await real(*arguments)

    monkeypatch.setattr(agent, "_send", flaky)
    assert ask(agent).actions == "ok"
    assert len(server.requests) == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    lonely = ChatAgent("m", f"http://127.0.0.1:{port}", connection_retries=1)
    with pytest.raises(AgentError, match=f"cannot connect to http://127.0.0.1:{port}"):
        ask(lonely)
    lonely.close()


def test_a_kept_connection_that_the_server_closed_is_replaced(server, agent):
    """The request is sent again: on an idle connection that was closed, no model was asked."""

    def keep(handler):
        handler.close_connection = False
        reply(handler, completion("ok"))

    def close(handler):
        server.respond = keep
        handler.connection.shutdown(socket.SHUT_RDWR)

    server.respond = keep
    ask(agent)
    server.respond = close
    assert ask(agent).actions == "ok"
    assert len(server.requests) == 3


def test_a_new_connection_that_ends_without_a_reply_is_an_error(server, agent):
    """That model was asked, and may have answered."""
    server.respond = lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
    with pytest.raises(AgentError, match="without sending a response"):
        ask(agent)
    assert len(server.requests) == 1


def test_a_refusal_is_a_response_with_nothing_right_in_it(agent, server):
    """It scores, it does not abstain."""
    server.respond = lambda handler: reply(handler, completion(None, refusal="I will not."))
    assert ask(agent).actions == "I will not."
    server.respond = lambda handler: reply(handler, completion(None))
    assert ask(agent).actions == ""


def test_hostile_text_is_recorded_and_scored_like_any_other(agent, server, tmp_path):
    """Control characters, terminal sequences, markup: one completed episode and a trace that reads back."""
    hostile = '\x1b[31m\x00</script>{"answer": ' + "[" * 500 + "\u2028\u202e"
    server.respond = lambda handler: reply(handler, completion(hostile))
    task = find_benchmark("response_tabletop").instances("heldout")[0]
    result = run_episode(ResponseEnv(task.spec), agent, task, trace_path=tmp_path / "t.jsonl")
    assert str(result.end.status) == "completed"
    assert read_trace(tmp_path / "t.jsonl").steps[0].applied == hostile


def test_the_key_is_in_no_trace_no_manifest_and_no_option(agent, server, tmp_path):
    """Even when the server repeats it."""
    server.respond = lambda handler: reply(handler, completion(f"your key is {KEY}"))
    task = find_benchmark("response_tabletop").instances("heldout")[0]
    run_episode(ResponseEnv(task.spec), agent, task, trace_path=tmp_path / "t.jsonl")
    trace = (tmp_path / "t.jsonl").read_text()
    assert "your key is [key]" in trace
    assert KEY not in trace
    assert KEY not in agent.info.to_json().decode()
    with pytest.raises(Exception, match="no option 'api_key'"):
        read_options(ChatAgent, {"api_key": KEY}, what="agent 'chat'")


ESCAPED_KEY = "".join(f"\\u{ord(character):04x}" for character in KEY)


@pytest.mark.parametrize(
    "body",
    [
        {KEY: 1},
        {**completion("ok"), "usage": {f"{KEY}_tokens": 5}},
        {**completion("ok"), "model": KEY, "detail": [{"deep": KEY}]},
        json.dumps(completion("I say KEY")).replace("KEY", ESCAPED_KEY).encode(),
        json.dumps(completion(json.dumps({"answer": "KEY"})))
        .replace("KEY", ESCAPED_KEY.replace("\\", "\\\\"))
        .encode(),
        {**completion("ok"), "choices": [{"message": {"content": "ok"}, "finish_reason": KEY}]},
        json.dumps({"KEY": "KEY"}).replace("KEY", ESCAPED_KEY.upper().replace("\\U", "\\u")).encode(),
    ],
)
@pytest.mark.parametrize("status", [200, 401])
def test_the_key_is_in_no_trace_wherever_a_reply_holds_it(agent, server, tmp_path, body, status):
    """As a name, a value or an escaped text, in a reply or an error: neither the key nor its escapes are written."""
    server.respond = lambda handler: reply(handler, body, status)
    task = find_benchmark("response_tabletop").instances("heldout")[0]
    run_episode(ResponseEnv(task.spec), agent, task, trace_path=tmp_path / "t.jsonl")
    written = (tmp_path / "t.jsonl").read_text()
    assert "[key]" in written
    for text in (KEY, KEY[4:], KEY[:-4], *(spelled[6:30] for spelled in (ESCAPED_KEY, ESCAPED_KEY.upper()))):
        assert text.casefold() not in written.casefold().replace("\\\\", "\\")


def test_a_word_that_stands_for_no_key_is_not_blanked_out(server, monkeypatch):
    """``EMPTY`` is what local servers are given; a model may say it."""
    monkeypatch.setenv(chat.KEY_VARIABLE, "EMPTY")
    server.respond = lambda handler: reply(handler, completion("EMPTY"))
    made = ChatAgent("m", server.url)
    assert ask(made).actions == "EMPTY"
    made.close()


def test_a_key_that_cannot_stand_in_a_header_is_not_repeated(agent, monkeypatch):
    """A line end would otherwise show it in httpx's own error."""
    monkeypatch.setenv(chat.KEY_VARIABLE, f"{KEY}\n")
    with pytest.raises(AgentError, match="line end") as failed:
        ask(agent)
    assert KEY not in str(failed.value)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "localhost:8000",
        "http://user:secret@host/v1",
        "http://host/v1?key=secret",
        "http://[",
        "http://",
    ],
)
def test_a_base_url_that_is_none_or_holds_a_secret_is_refused(url):
    """Without repeating the secret."""
    with pytest.raises(AgentError, match="base_url") as failed:
        ChatAgent("m", url)
    assert "secret" not in str(failed.value)


def test_model_and_base_url_come_from_the_environment(server, monkeypatch):
    """And are named where they are missing; they stand in the agent's manifest."""
    monkeypatch.delenv(chat.MODEL_VARIABLE, raising=False)
    monkeypatch.delenv(chat.BASE_URL_VARIABLE, raising=False)
    with pytest.raises(AgentError, match=chat.MODEL_VARIABLE):
        ChatAgent(base_url=server.url)
    with pytest.raises(AgentError, match=chat.BASE_URL_VARIABLE):
        ChatAgent("m")
    monkeypatch.setenv(chat.MODEL_VARIABLE, "from-env")
    monkeypatch.setenv(chat.BASE_URL_VARIABLE, server.url)
    made = ChatAgent()
    ask(made)
    made.close()
    made.close()
    assert made.info.components["model"] == "from-env"
    assert server.requests[0][2]["model"] == "from-env"


@pytest.mark.parametrize(
    "options",
    [
        {"timeout_seconds": 0.0},
        {"timeout_seconds": float("nan")},
        {"timeout_seconds": float("inf")},
        {"connection_retries": -1},
        {"max_tokens": 0},
    ],
)
def test_options_out_of_range_are_refused(options):
    """By name."""
    with pytest.raises(AgentError, match=next(iter(options))):
        ChatAgent("m", "http://host", **options)


@pytest.mark.parametrize("picture", [PICTURE, PICTURE[:, :, 0], PICTURE[:, :, :1]])
def test_a_png_holds_the_pixels(picture):
    """Read back by another implementation."""
    read = np.asarray(Image.open(io.BytesIO(encode_png(picture))))
    assert np.array_equal(read, picture.squeeze() if picture.shape[-1] == 1 else picture)


@pytest.mark.parametrize("picture", [PICTURE.astype(float), PICTURE[:, :, :2], PICTURE[:0]])
def test_a_picture_that_has_no_png_is_refused(picture):
    """Nothing is converted in silence."""
    with pytest.raises(AgentError, match="cannot be sent"):
        encode_png(picture)
