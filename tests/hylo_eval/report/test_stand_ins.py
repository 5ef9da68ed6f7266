"""What only stood in for the real thing is said before the numbers: on the page and on the terminal."""

import pytest

from hylo_eval.cli.run_report import print_report
from hylo_eval.report.page_content import make_notices
from hylo_eval.report.run_record import read_run
from hylo_eval.report.run_summary import summarise_run
from hylo_eval.traces.finding import find_run
from hylo_eval.versions import stand_in_sentence
from tests.runs import keys, write_run

LABEL = "stand-in assets sha256:2"


@pytest.mark.parametrize(("version", "named"), [(LABEL, True), ("sha256:2", False)])
def test_the_page_and_the_terminal_name_stand_ins(tmp_path, capsys, version, named):
    """Once each, with what stood in; nothing is said of the real thing."""
    result = write_run(tmp_path, "run", keys(0, 1), versions={"mujoco": "3.3.1", "robocasa-assets": version})
    summary = summarise_run(read_run(find_run("run", tmp_path)))
    notices = [notice for notice in make_notices([summary]) if "stand-ins" in notice]
    print_report(result)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("the run ran on stand-ins (")]
    assert (len(notices), len(lines)) == ((1, 1) if named else (0, 0))
    if named:
        assert f"robocasa-assets {LABEL}" in notices[0]
        assert f"robocasa-assets {LABEL}" in lines[0]


@pytest.mark.parametrize("odd", [None, [1], "stand-in", {"a": 3, "b": None, 4: "stand-in x"}, {"a": ["stand-in"]}])
def test_what_is_no_list_of_versions_breaks_nothing(odd):
    """A manifest is anybody's file: only a text that says so names something that stood in."""
    assert stand_in_sentence("the run", odd) == (
        "the run ran on stand-ins (4 stand-in x): this says nothing about the real thing"
        if isinstance(odd, dict) and 4 in odd
        else ""
    )
