"""JUnit reports read as a stream: what counts in them, and what they may cost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.verify.execution import junit_reports
from hylo_eval.verify.execution.deadline import Deadline, DeadlinePassed
from hylo_eval.verify.execution.junit_reports import JunitReports, ReportTooLarge
from hylo_eval.verify.verdict import GradingInfraError


def outcomes_of(*reports, chunk_bytes=1 << 16):
    """The outcomes of reports that are read with all the time they need."""
    reading = JunitReports(Deadline.after(3600.0))
    for report in reports:
        reading.read(report[start : start + chunk_bytes] for start in range(0, len(report), chunk_bytes))
    return reading.outcomes


@settings(deadline=None)
@given(st.binary() | st.text().map(str.encode) | st.text().map(lambda name: f"<a>{name}</a>".encode()))
def test_any_report(content):
    """Whatever stands in a report, it is read or abstains."""
    try:
        outcomes = outcomes_of(content)
    except GradingInfraError:
        return
    assert outcomes == {}


@pytest.mark.parametrize("encoding", ["utf-7", "no-such", "rot13", "utf-16"])
def test_odd_encodings(encoding):
    """An encoding that the parser lacks, or that the content contradicts, abstains."""
    with pytest.raises(GradingInfraError):
        outcomes_of(f'<?xml version="1.0" encoding="{encoding}"?><testsuite/>'.encode())


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 16])
def test_chunks(chunk_bytes):
    """Where a chunk ends changes nothing, also inside a character of several bytes."""
    report = '<testsuite tests="2"><testcase name="é"/><testcase name="b"><failure/></testcase></testsuite>'
    assert outcomes_of(report.encode(), chunk_bytes=chunk_bytes) == {"é": True, "b": False}


def test_deep_report():
    """A report nested far beyond any recursion limit is read, up to a bound."""
    depth = junit_reports.MAX_DEPTH
    assert outcomes_of(b"<a>" * depth + b"</a>" * depth) == {}
    with pytest.raises(ReportTooLarge, match="deeper"):
        outcomes_of(b"<testsuite>" * (depth + 1))


def test_elements_of_all_reports_count(monkeypatch):
    """The bound on elements is one for all reports together."""
    monkeypatch.setattr(junit_reports, "MAX_ELEMENTS", 4)
    report = b"<testsuite><testcase name='a'/></testsuite>"
    assert outcomes_of(report, report) == {"a": True}
    with pytest.raises(ReportTooLarge, match="elements"):
        outcomes_of(report, report, report)


@pytest.mark.parametrize("token", [b'<a b="%s"/>', b"<!--%s-->", b"<?a %s?>", b"<%s/>"])
def test_long_tokens(monkeypatch, token):
    """What the parser must keep whole is bounded; text, which it need not keep, is not."""
    monkeypatch.setattr(junit_reports, "MAX_TOKEN_BYTES", 1000)
    text = b"<a>" + b"x" * 5000 + b"<![CDATA[" + b"y" * 5000 + b"]]></a>"
    assert outcomes_of(text, chunk_bytes=100) == {}
    with pytest.raises(ReportTooLarge, match="longer"):
        outcomes_of(b"<a>" + token % (b"x" * 5000) + b"</a>", chunk_bytes=100)


def test_many_names(monkeypatch):
    """The parser remembers every name to the report's end: there are not too many of them."""
    monkeypatch.setattr(junit_reports, "MAX_NAMES", 10)
    report = b"<a>" + b"".join(b"<a%d/>" % number for number in range(10)) + b"</a>"
    with pytest.raises(ReportTooLarge, match="names"):
        outcomes_of(report)


def test_memory_of_ids(monkeypatch):
    """Ids are bounded by the memory they take, while their case is open and afterwards; repeated ones take none."""
    monkeypatch.setattr(junit_reports, "MAX_ID_BYTES", 5000)
    name = "x" * 1000
    repeated = f'<testsuite>{f"""<testcase name="{name}"/>""" * 20}</testsuite>'
    assert outcomes_of(repeated.encode()) == {name: True}
    skipped = "".join(f'<testcase name="{n}{name}"><skipped/></testcase>' for n in range(20))
    assert outcomes_of(f"<testsuite>{skipped}</testsuite>".encode()) == {}
    for end in ("</testcase>", ""):
        different = "".join(f'<testcase name="{n}{name}">{end}' for n in range(5))
        with pytest.raises(ReportTooLarge, match="ids"):
            outcomes_of(f"<testsuite>{different}".encode())


def test_no_time_is_left():
    """The clock is looked at before every chunk."""
    with pytest.raises(DeadlinePassed):
        JunitReports(Deadline.after(0.0)).read([b"<testsuite/>"])


def test_names_of_a_namespace():
    """A namespace changes no name, and an entity that nobody declared abstains."""
    suite = '<testsuite xmlns:x="u" tests="2" failures="1"><testcase name="a"/><x:testcase name="b"><x:failure/></x:testcase></testsuite>'
    assert outcomes_of(suite.encode()) == {"a": True, "b": False}
    with pytest.raises(GradingInfraError):
        outcomes_of(b'<!DOCTYPE a SYSTEM "a.dtd"><a>&b;</a>')


def test_a_result_counts_where_it_stands():
    """A failure inside a case's output is none of the case, and a case without a name still counts."""
    cases = '<testcase name="a"><system-out><failure/></system-out></testcase><testcase><error/></testcase>'
    assert outcomes_of(f'<testsuite tests="2" failures="0" errors="1">{cases}</testsuite>'.encode()) == {"a": True}


def test_nested_suites():
    """A suite's counts cover the suites inside it, and repeated cases must all pass."""
    inner = '<testsuite tests="1"><testcase classname="A" name="b"/></testsuite>'
    failing = '<testcase classname="A" name="b"><failure/></testcase>'
    report = f'<testsuites tests="2"><testsuite tests="2" failures="1">{inner}{failing}</testsuite></testsuites>'
    assert outcomes_of(report.encode()) == {"A.b": False}


def test_cases_of_several_reports():
    """A case that stands in two reports must have passed in both."""
    passing, failing = b'<a><testcase name="b"/></a>', b'<a><testcase name="b"><error/></testcase></a>'
    assert outcomes_of(passing, failing) == outcomes_of(failing, passing) == {"b": False}
