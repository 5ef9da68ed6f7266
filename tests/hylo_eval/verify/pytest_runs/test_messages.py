"""What pytest's run sent is read strictly, and only what its program sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.pytest_runs.messages import FailureKind, check_summary, parse_messages
from hylo_eval.verify.pytest_runs.program import encode, failure_of
from hylo_eval.verify.verdict import GradingInfraError

WORD = "c0ffee"
values = st.recursive(
    st.none() | st.integers() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def sent(*messages, word=WORD):
    return b"".join(f"{word} {encode(message)}\n".encode("ascii") for message in messages)


@given(values)
def test_encoding(value):
    """The program's own encoder writes ASCII JSON of the same value, without importing json."""
    text = encode(value)
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text) == value


def test_whole_report():
    """Tests, failed collectors and counts come back as they were sent."""
    content = sent(
        {"type": "failed_collector", "node_id": "t/test_b.py"},
        {"type": "test", "node_id": "t/test_a.py::test_ü", "outcome": "passed"},
        {"type": "report", "root": "/app", "summary": {"total": 1, "passed": 1}},
    )
    report = parse_messages(content, WORD).report
    assert report.outcomes == (("t/test_a.py::test_ü", "passed"),)
    assert report.failed_collectors == {"t/test_b.py"}
    check_summary(report)


def test_foreign_lines():
    """Lines without the run's secret word are not the program's and change nothing."""
    forged = sent({"type": "report", "root": "/", "summary": {}}, word="guess")
    assert parse_messages(b"junk\n" + forged, WORD).report is None


def test_cut_report():
    """A line that was cut short abstains."""
    with pytest.raises(GradingInfraError, match="cut short"):
        parse_messages(sent({"type": "test", "node_id": "a", "outcome": "passed"})[:-4], WORD)


@pytest.mark.parametrize("summary", [{"total": 2}, {"passed": 0}, {"failed": 1}, {"total": "1"}])
def test_counts(summary):
    """A summary that differs from the tests abstains."""
    report = {"type": "report", "root": "/app", "summary": summary}
    content = sent({"type": "test", "node_id": "a", "outcome": "passed"}, report)
    with pytest.raises(GradingInfraError, match="incomplete"):
        check_summary(parse_messages(content, WORD).report)


def test_unknown_outcome():
    """An outcome that pytest does not have abstains."""
    content = sent(
        {"type": "test", "node_id": "a", "outcome": "excellent"},
        {"type": "report", "root": "/", "summary": {}},
    )
    with pytest.raises(GradingInfraError, match="excellent"):
        check_summary(parse_messages(content, WORD).report)


def raised(code):
    with pytest.raises((Exception, KeyboardInterrupt, SystemExit)) as caught:
        exec(compile(code, "/app/plan.py", "exec"), {})  # noqa: S102 - a constant of these tests
    return failure_of(caught.value, "node", "/app/")


@pytest.mark.parametrize(
    ("code", "kind", "missing"),
    [
        ("raise ValueError", FailureKind.ERROR, ""),
        ("raise KeyboardInterrupt", FailureKind.INTERRUPT, ""),
        ("raise SystemExit", FailureKind.INTERRUPT, ""),
        ("import no_such.module", FailureKind.DEPENDENCY, "no_such"),
        ("from json import no_such", FailureKind.IMPORT, "json"),
    ],
)
def test_origin_of_failures(code, kind, missing):
    """An exception's kind, innermost file and missing module are found."""
    failure = raised(code)
    assert (failure["kind"], failure["missing_module"], failure["node_id"]) == (kind, missing, "node")
    if kind is not FailureKind.IMPORT:
        assert failure["filename"] == "/app/plan.py"


def test_origin_of_missing_attributes():
    """An attribute that a module lacks is blamed on the module."""
    assert raised("import json\njson.no_such")["module_file"] == json.__file__
