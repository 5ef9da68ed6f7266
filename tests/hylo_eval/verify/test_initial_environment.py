"""The environment that the kernel shows of a process, and the credentials in it."""

import os
import subprocess
import sys

import pytest

from hylo_eval.credentials import SECRET_VARIABLES
from hylo_eval.verify import initial_environment
from hylo_eval.verify.initial_environment import blank_initial_credentials

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

_PROGRAM = """
import ctypes, os, pathlib
from hylo_eval.verify.initial_environment import blank_initial_credentials
blanked = blank_initial_credentials()
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
names = ("HYLO_CHAT_API_KEY", "VERIFYIT_JUDGE_API_KEY", "TRAY", "NOT_HYLO_CHAT_API_KEY")
block = dict(line.split(b"=", 1) for line in pathlib.Path("/proc/self/environ").read_bytes().split(b"\\0") if b"=" in line)
print(blanked, [(os.environ[name], getenv(name.encode()), block[name.encode()]) for name in names])
"""


def test_credentials_are_blanked():
    """The kernel shows empty values of them, other variables stay, and the process itself knows all of them still."""
    variables = {name: f"secret {name}=x" for name in SECRET_VARIABLES}
    others = {"TRAY": "left", "NOT_HYLO_CHAT_API_KEY": "HYLO_CHAT_API_KEY=no"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, **variables, **others},
        capture_output=True,
        text=True,
        check=True,
    )
    if done.stdout.startswith("False"):
        pytest.skip("a process may not write to its own memory by /proc here")
    expected = [
        (variables[name], variables[name].encode(), b"") for name in ("HYLO_CHAT_API_KEY", "VERIFYIT_JUDGE_API_KEY")
    ]
    expected += [(value, value.encode(), value.encode()) for value in others.values()]
    assert done.stdout == f"True {expected}\n"


def test_where_there_is_no_way(monkeypatch):
    """A process that cannot do it says so, and keeps its variables."""

    def no_file(*_arguments, **_options):
        raise PermissionError

    monkeypatch.setenv("HYLO_CHAT_API_KEY", "secret-key")
    monkeypatch.setattr(initial_environment, "open", no_file, raising=False)
    assert not blank_initial_credentials()
    assert os.environ["HYLO_CHAT_API_KEY"] == "secret-key"


def test_without_credentials_nothing_is_opened(monkeypatch):
    """The usual command reads no file for this."""
    for name in SECRET_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(initial_environment, "open", None, raising=False)
    assert blank_initial_credentials()
