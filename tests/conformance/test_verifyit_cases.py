"""The grader contract's public cases, run through the adapter when they lie beside the repository."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "cases" / "verifyit"
ADAPTER = Path(__file__).with_name("verifyit_adapter.py")


def adapter():
    spec = importlib.util.spec_from_file_location("verifyit_adapter", ADAPTER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("mode", "parameters"),
    [
        ("exact", {"expected": ["a", "b"], "ordered": False}),
        ("structured_exact", {"expected": {"v": [None, 16, 16.0]}, "numeric_types": "strict"}),
        ("predicted_action", {"expected_calls": [{"name": "grip", "arguments": {"w": None}}]}),
    ],
)
def test_a_specification_from_a_table_equals_the_one_it_is_rendered_and_parsed_to(mode, parameters):
    """The runner compares what ``candidate_spec`` gives with what ``parse_spec`` gives, and shows the latter's fields."""
    names = adapter().load()
    made = names["candidate_spec"](mode, parameters)
    parsed = names["parse_spec"](names["render_spec"](made))
    assert made == parsed
    assert names["parse_spec"](names["render_spec"](parsed)) == parsed
    assert made != names["parse_spec"]('mode = "mcq"\nexpected = "C"\n')
    assert parsed["output"] == "/app/answer.txt"


@pytest.mark.slow
@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside the repository")
@pytest.mark.parametrize("basis", ["seed", "reference", "extension"])
def test_every_case_of_the_contract_passes(basis):
    """The runner's exit status is zero: no case differs."""
    command = [sys.executable, str(CASES / "run_cases.py"), "--adapter", str(ADAPTER)]
    command += ["--cases", str(CASES / "cases.jsonl"), "--basis", basis]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
