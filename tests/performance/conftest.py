"""The peer tools these measurements stand beside."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PEERS = {
    "HYLO_PEER_INSPECT_ROBOTS": "inspect-robots==0.60.0",
    "HYLO_PEER_VLA_EVAL": "vla-eval==0.8.0",
    "HYLO_PEER_INSPECT_AI": "inspect-ai>=0.3.100",
    "HYLO_PEER_FIELDTRIAL": "fieldtrial==0.3.0",
}
"""Environment variable with an interpreter that has the peer -> what is installed where it is not set."""
SCRIPTS = Path(__file__).parents[3] / "shared" / "peers"
"""Beside the checkout: the peer's side of each measurement."""


def python_with(variable: str, folder: Path) -> Path:
    """An interpreter with a peer: the one the variable names, or one made in the folder."""
    given = os.environ.get(variable)
    if given:
        return Path(given)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEERS[variable]], check=True
    )
    return python


@pytest.fixture(scope="session")
def peer_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with inspect-robots."""
    return python_with("HYLO_PEER_INSPECT_ROBOTS", tmp_path_factory.mktemp("peer"))


@pytest.fixture(scope="session")
def vla_eval_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with vla-eval."""
    return python_with("HYLO_PEER_VLA_EVAL", tmp_path_factory.mktemp("vla-eval"))


@pytest.fixture(scope="session")
def fieldtrial_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with fieldtrial."""
    return python_with("HYLO_PEER_FIELDTRIAL", tmp_path_factory.mktemp("fieldtrial"))


FORGOTTEN_SECONDS = 600.0
"""After so long no filesystem cares any more that a file was removed."""


@pytest.fixture
def unworn_folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty folder beside whose files none were removed lately, in pytest's cache; it is removed by a later run.

    An ext4 without a journal looks again at every inode of a block group that was freed in the last minutes, each time
    that it makes a file there. Where thousands of tests have just removed theirs, which is where ``tmp_path`` is, making
    a file takes up to ten times as long: nothing that a folder of runs ever sees, and a database of one file does not.
    """
    cache: pytest.Cache = request.config.cache  # pyright: ignore[reportAttributeAccessIssue] - None without its plugin
    parent = cache.mkdir("unworn")
    yield Path(tempfile.mkdtemp(dir=parent))
    for left in parent.iterdir():
        if time.time() - left.stat().st_mtime > FORGOTTEN_SECONDS:
            shutil.rmtree(left)


@pytest.fixture
def peer_script(request: pytest.FixtureRequest) -> Path:
    """The peer's side of the measurement that the test's parameter names."""
    script = SCRIPTS / request.param
    if not script.is_file():
        pytest.skip(f"the peer's side of this measurement, shared/peers/{script.name}, is not beside the checkout")
    return script


@pytest.fixture(scope="session")
def inspect_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with inspect-ai: the one HYLO_PEER_INSPECT_AI names, or one made for this run."""
    return python_with("HYLO_PEER_INSPECT_AI", tmp_path_factory.mktemp("inspect_ai"))
