"""The peer tool these measurements stand beside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PEER = "inspect-robots==0.60.0"
INSPECT_AI = "inspect-ai>=0.3.100"
SCRIPTS = Path(__file__).parents[3] / "shared" / "peers"
"""Beside the checkout: the peer's side of each measurement."""


@pytest.fixture(scope="session")
def peer_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the peer: the one HYLO_PEER_INSPECT_ROBOTS names, or one made for this run."""
    return python_with(PEER, "HYLO_PEER_INSPECT_ROBOTS", tmp_path_factory)


@pytest.fixture(scope="session")
def inspect_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with inspect-ai: the one HYLO_PEER_INSPECT_AI names, or one made for this run."""
    return python_with(INSPECT_AI, "HYLO_PEER_INSPECT_AI", tmp_path_factory)


def python_with(package: str, variable: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter that an environment variable names, or a new virtual environment with a package."""
    given = os.environ.get(variable)
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("peer")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package], check=True)
    return python


@pytest.fixture
def peer_script(request: pytest.FixtureRequest) -> Path:
    """The peer's side of the measurement that the test's parameter names."""
    script = SCRIPTS / request.param
    if not script.is_file():
        pytest.skip(f"the peer's side of this measurement, shared/peers/{script.name}, is not beside the checkout")
    return script
