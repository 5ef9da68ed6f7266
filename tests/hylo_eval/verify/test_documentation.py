"""The page about verdicts says what is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hylo_eval.verify.commands import candidate_parser, verify_parser

PAGE = Path(__file__).resolve().parents[3] / "docs" / "verify.md"
RESPONSES = PAGE.with_name("responses.md")


@pytest.mark.parametrize("page", [PAGE, RESPONSES], ids=["verify", "responses"])
def test_the_example_runs(page):
    """The Python on the page is run as it stands."""
    examples = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert examples
    for example in examples:
        done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_every_option_is_on_the_page():
    """No option of the two commands is undocumented."""
    page = PAGE.read_text()
    for parser in (verify_parser(), candidate_parser()):
        for action in parser._actions:
            for option in action.option_strings:
                assert option in page or option in ("-h", "--help")
