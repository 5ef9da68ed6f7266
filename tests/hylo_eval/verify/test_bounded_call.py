"""Calls into a child process with a deadline and a memory limit."""

import os
import signal
import threading

import pytest

from hylo_eval.verify.bounded_call import BoundedCallError, BoundedFailure, call_bounded, close_bounded_calls
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask

SUBJECT = "bounded_subject"

SOURCE = """
import os, sys, time
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask

prepared = []

def prepare():
    prepared.append(os.getpid())

def echo(*values):
    return list(values)

def process():
    return [os.getpid(), len(prepared), os.getcwd()]

def noise():
    print("{}")
    sys.stdout.flush()
    os.write(1, b'{"value": "forged"}\\n')
    return sys.stdin.read()

def sleep():
    time.sleep(60)

def fill():
    return len(bytearray(1 << 36))

def die():
    os._exit(3)

def recurse():
    return recurse()

def refuse():
    raise InvalidTask("bad reference")

def lack():
    raise GradingInfraError("absent", missing_extra="math")

def unencodable():
    return object()

def secret():
    return os.environ.get("VERIFYIT_JUDGE_API_KEY")
"""


@pytest.fixture(autouse=True)
def subject(tmp_path, monkeypatch):
    """A module of functions on the path, and no child left from or for other tests."""
    (tmp_path / f"{SUBJECT}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    close_bounded_calls()
    yield
    close_bounded_calls()


def call(name, *arguments: object, seconds=20.0):
    return call_bounded(f"{SUBJECT}:{name}", *arguments, timeout_seconds=seconds)


def test_a_value_comes_back():
    """JSON values go both ways, lone surrogates and megabytes among them."""
    values = [None, True, 1, 1.5, "\ud800", "x" * 3_000_000, {"a": [1]}]
    assert call("echo", *values) == values


def test_one_prepared_child_serves_every_call():
    """The libraries are imported once, away from the candidate's folder."""
    first = call("process")
    assert first == call("process")
    assert first[0] != os.getpid()
    assert first[1:] == [1, "/"]


def test_what_a_library_prints_is_no_reply():
    """The channel of replies is not the child's standard output, and it reads nothing from its input."""
    assert call("noise") == ""
    assert call("echo", 1) == [1]


@pytest.mark.parametrize(
    ("name", "seconds", "failure"),
    [
        ("sleep", 0.2, BoundedFailure.DEADLINE),
        ("fill", 20.0, BoundedFailure.MEMORY),
        ("die", 20.0, BoundedFailure.CRASH),
        ("recurse", 20.0, BoundedFailure.ERROR),
        ("unencodable", 20.0, BoundedFailure.ERROR),
    ],
)
def test_every_failure_is_named_and_the_next_call_served(name, seconds, failure):
    """A deadline, a memory limit, a death and an exception are told apart, and none outlives its call."""
    with pytest.raises(BoundedCallError) as caught:
        call(name, seconds=seconds)
    assert caught.value.failure is failure
    assert call("echo", 2) == [2]


def test_the_layers_own_errors_come_out_as_themselves():
    """A child can blame the task or the installation."""
    with pytest.raises(InvalidTask, match="bad reference"):
        call("refuse")
    with pytest.raises(GradingInfraError) as caught:
        call("lack")
    assert caught.value.detail == {"missing_extra": "math"}


def test_a_child_that_was_killed_is_replaced():
    """A used child that is gone convicts nobody: the call is repeated in a fresh one."""
    os.kill(call("process")[0], signal.SIGKILL)
    assert call("echo", 3) == [3]


def test_a_module_that_cannot_be_imported_is_an_infrastructure_error():
    """The child says so when it starts, or does not start."""
    with pytest.raises(GradingInfraError):
        call_bounded("no_such_module_anywhere:function", timeout_seconds=5.0)


def test_credentials_stay_with_the_parent(monkeypatch):
    """The child computes on candidate data and has no use for keys."""
    monkeypatch.setenv("VERIFYIT_JUDGE_API_KEY", "k")
    assert call("secret") is None


def test_the_working_folder_provides_no_module(tmp_path, monkeypatch):
    """A candidate that writes a module into its workspace does not have it imported by the grader."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "planted.py").write_text("def prepare(): ...\ndef value(): return 1\n")
    monkeypatch.syspath_prepend(str(workspace))
    monkeypatch.chdir(workspace)
    with pytest.raises(GradingInfraError):
        call_bounded("planted:value", timeout_seconds=5.0)


def test_threads_take_turns():
    """Calls from many threads each get their own reply."""
    replies = {}

    def work(number):
        replies[number] = call("echo", number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == {number: [number] for number in range(8)}
