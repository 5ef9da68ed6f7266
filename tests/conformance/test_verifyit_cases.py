"""The grader contract's public cases, run through the adapter when they lie beside the repository."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "cases" / "verifyit"
ADAPTER = Path(__file__).with_name("verifyit_adapter.py")


@pytest.mark.slow
@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside the repository")
@pytest.mark.parametrize("basis", ["seed", "reference", "extension"])
def test_every_case_of_the_contract_passes(basis):
    """The runner's exit status is zero: no case differs."""
    command = [sys.executable, str(CASES / "run_cases.py"), "--adapter", str(ADAPTER)]
    command += ["--cases", str(CASES / "cases.jsonl"), "--basis", basis]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
