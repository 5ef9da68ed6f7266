"""Kind ``endpoint`` against a real server that behaves well and badly."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from hylo_core.verifier import VerifierRef
from hylo_eval import VerificationError
from hylo_eval.verify.verifiers.endpoint import MAX_REPLY_BYTES, ORIGIN_VARIABLE, TOKEN_VARIABLE, EndpointVerifier
from tests.hylo_eval.verify.modes.test_judge import Handler, Server, serving

TASK = {"prompt": "go", "params": {"mass_kg": 0.5}}


def asking(server: Server, *, timeout_seconds: float = 10.0, path: str = "/score") -> EndpointVerifier:
    """The verifier of a local server."""
    ref = VerifierRef("endpoint", f"http://127.0.0.1:{server.server_port}{path}")
    return EndpointVerifier(ref, timeout_seconds=timeout_seconds)


def failing(
    reply: str | Callable[[Handler], None], *, timeout_seconds: float = 10.0
) -> tuple[VerificationError, Server]:
    """The error a reply leads to, and the server with what it was asked."""
    with serving(reply) as server, pytest.raises(VerificationError) as caught:
        asking(server, timeout_seconds=timeout_seconds)(TASK, "done")
    assert (caught.value.kind, len(server.requests)) == ("endpoint", 1), "nothing is asked twice"
    return caught.value, server


@pytest.mark.parametrize(
    ("reply", "reward"),
    [
        ('{"reward": 0.83}', 0.83),
        ('{"reward": 1, "why": "clean"}', 1.0),
        ('{"reward": -3.5e2}', -350.0),
        ('\n {"reward": 0}\n', 0.0),
    ],
)
def test_a_finite_number_is_the_reward(reply: str, reward: float) -> None:
    """Of any size: no range is part of the contract. Other members do not matter."""
    with serving(reply) as server:
        verifier = asking(server)
        assert verifier(TASK, [{"content": "do"}, {"content": "ne"}]) == reward
        assert verifier.verify(TASK, "done").reward == reward
    assert server.requests[0]["body"] == {"task": TASK, "trajectory": "done"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"reward": NaN}', "not JSON"),
        ('{"reward": Infinity}', "not JSON"),
        ('{"reward": 1e400}', "must be finite"),
        ('{"reward": 1' + "0" * 400 + "}", "beyond the largest float"),
        ("{}", "has no reward"),
        ('{"Reward": 1}', "has no reward"),
        ('{"reward": "0.5"}', "must be a number, not '0.5'"),
        ('{"reward": true}', "must be a number"),
        ('{"reward": null}', "must be a number"),
        ('{"reward": [1]}', "must be a number"),
        ('{"reward": 0, "reward": 1}', "not JSON"),
        ("[1]", "no JSON object"),
        ("1", "no JSON object"),
        ("0.5 good", "not JSON"),
        ("", "not JSON"),
        ("[" * 5000, "not JSON"),
    ],
)
def test_any_other_reply_is_an_error(reply: str, reason: str) -> None:
    """Never a zero; the text says what was wrong with it."""
    error, _ = failing(reply)
    assert reason in error.reason


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_status_that_is_no_success_is_an_error(status: int) -> None:
    """Whatever its body says."""
    error, _ = failing(lambda handler: handler.answer(status, b'{"reward": 1}'))
    assert f"HTTP status {status}" in error.reason


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    """The page it leads to would have said 1."""
    with serving('{"reward": 1.0}') as other:
        location = f"http://127.0.0.1:{other.server_port}/score"
        error, _ = failing(lambda handler: handler.answer(status, b'{"reward": 1}', Location=location))
        assert other.requests == []
    assert "redirect" in error.reason


def drip(handler: Handler) -> None:
    """A byte every 0.2 seconds: no single read is ever late."""
    handler.send_response(200)
    handler.end_headers()
    for byte in b'{"reward": 1.0}' + b" " * 1000:
        if handler.server.closing.wait(0.2):  # type: ignore[attr-defined]
            return
        handler.wfile.write(bytes([byte]))


def test_the_deadline_is_for_the_whole_exchange() -> None:
    """A server that drips is late although every byte is in time."""
    error, _ = failing(drip, timeout_seconds=0.5)
    assert "did not reply within 0.5 seconds" in error.reason


def close_at_once(handler: Handler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def close_in_the_middle(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "15")
    handler.end_headers()
    handler.wfile.write(b'{"reward":')
    handler.connection.shutdown(socket.SHUT_RDWR)


def talk_no_http(handler: Handler) -> None:
    handler.wfile.write(b"0.83\r\n")
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("reply", [close_at_once, close_in_the_middle, talk_no_http])
def test_a_connection_that_breaks_is_an_error(reply: Callable[[Handler], None]) -> None:
    """Before the reply, in it, or instead of it."""
    error, _ = failing(reply)
    assert "cannot be asked" in error.reason


def test_a_reply_of_more_than_a_mebibyte_is_an_error() -> None:
    """It is not read to its end; one byte less is read."""
    body = b'{"reward": 1}'
    error, _ = failing(lambda handler: handler.answer(200, body + b" " * (2 * MAX_REPLY_BYTES)))
    assert "larger than 1048576 bytes" in error.reason
    with serving(lambda handler: handler.answer(200, body + b" " * (MAX_REPLY_BYTES - len(body)))) as server:
        assert asking(server)(TASK, "done") == 1.0


@pytest.mark.parametrize(
    ("task", "trajectory"),
    [({"prompt": float("nan")}, "x"), ({"prompt": object()}, "x"), ({1: "x", (2,): "y"}, "x"), ({}, 5), ({}, {"a": 1})],
)
def test_what_is_no_json_is_refused_before_it_is_sent(task: Any, trajectory: Any) -> None:
    """A task that JSON cannot hold, a trajectory that is no text."""
    with serving('{"reward": 1}') as server, pytest.raises(VerificationError, match="cannot be sent as JSON"):
        asking(server)(task, trajectory)
    assert server.requests == []


def test_the_token_goes_to_the_named_origin_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark file chooses the URL, so the token is bound to an origin; it stands in no error and no digest."""
    token = "t0ken-of-the-lab"  # noqa: S105 - of nothing
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    with serving('{"reward": 1}') as server:
        verifier = asking(server)
        verifier(TASK, "x")
        monkeypatch.setenv(ORIGIN_VARIABLE, "https://127.0.0.1")
        verifier(TASK, "x")
        monkeypatch.setenv(ORIGIN_VARIABLE, f"http://127.0.0.1:{server.server_port}/elsewhere")
        before = verifier.digest
        verifier(TASK, "x")
        assert [request["authorization"] for request in server.requests] == [None, None, f"Bearer {token}"]
    with pytest.raises(VerificationError) as caught:
        verifier(TASK, "x")
    assert token not in str(caught.value)
    assert verifier.digest == before
    monkeypatch.delenv(TOKEN_VARIABLE)
    assert asking(server).digest == before
