"""A virtual environment for a family, with this Hylo inside."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from hylo_eval import EvalError
from hylo_eval.families import Family, Requirement
from hylo_eval.interpreters import creating, own_wheel
from hylo_eval.interpreters.creating import create_environment
from hylo_eval.interpreters.own_wheel import pack_own_wheel
from hylo_eval.interpreters.registry import default_folder
from tests.interpreters import HYLO, pretended

FAMILY = Family(name="unit", requirements=(Requirement("unit-package", "==1"),))


def run_instead(monkeypatch: pytest.MonkeyPatch, *codes: int) -> list[list[str]]:
    """Have steps end with these codes in place of making anything; gives the list of their commands."""
    commands: list[list[str]] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        if command[1:3] == ["-m", "venv"]:
            Path(command[3], "bin").mkdir(parents=True)
        return subprocess.CompletedProcess(command, codes[len(commands) - 1])

    monkeypatch.setattr(creating.subprocess, "run", run)
    return commands


def test_hylo_and_the_pins_are_installed_in_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that pip looks for versions that go with both."""
    commands = run_instead(monkeypatch, 0, 0)
    python = create_environment(FAMILY, tmp_path / "made")
    assert python == tmp_path / "made" / "bin" / "python"
    assert commands[0] == [sys.executable, "-m", "venv", str(tmp_path / "made")]
    assert commands[1][:4] == [str(python), "-m", "pip", "install"]
    assert commands[1][-3:] == ["-e", str(HYLO), "unit-package==1"]


@pytest.mark.parametrize("codes", [(1,), (0, 1)])
def test_what_was_half_made_is_removed(codes: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next try begins with nothing."""
    run_instead(monkeypatch, *codes)
    with pytest.raises(EvalError, match=r"cannot make .* ended with 1"):
        create_environment(FAMILY, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_a_folder_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    """An environment in it can be registered as it is."""
    made = tmp_path / "made"
    made.mkdir()
    (made / "mine").touch()
    with pytest.raises(EvalError, match="is not empty") as caught:
        create_environment(FAMILY, made)
    assert caught.value.fix == f"hylo-eval env add unit --create --folder {made}-2"
    python = pretended(made / "bin", "exit 0")
    with pytest.raises(EvalError, match="is not empty") as caught:
        create_environment(FAMILY, made)
    assert caught.value.fix == f"hylo-eval env add unit --python {python}"
    assert (made / "mine").exists()


def test_a_base_that_is_no_python_makes_nothing(tmp_path: Path) -> None:
    """It is asked first."""
    with pytest.raises(EvalError, match="is no Python interpreter"):
        create_environment(FAMILY, tmp_path / "made", base=str(pretended(tmp_path / "it", "exit 1")))
    assert not (tmp_path / "made").exists()


def test_environments_lie_among_the_persons_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the XDG specification."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_folder("robocasa") == tmp_path / "hylo" / "environments" / "robocasa"


class Installed:
    """A distribution as an installer leaves it."""

    version = "9.9"

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.files = [metadata.PackagePath(name) for name in files]

    def locate_file(self, path: object) -> Path:
        return self.folder / str(path)


FILES = {
    "hylo_core/seeds.py": "x = 1\n",
    "hylo_eval/benchmark_data/a/b.toml": "ü",
    "hylo_eval/__pycache__/x.pyc": "compiled",
    "../../bin/hylo-eval": "#!script",
    "hylo_eval-9.9.dist-info/METADATA": "Name: hylo-eval\n",
    "hylo_eval-9.9.dist-info/WHEEL": "Tag: py3-none-any\n",
    "hylo_eval-9.9.dist-info/RECORD": "old",
    "hylo_eval-9.9.dist-info/INSTALLER": "pip",
    "hylo_eval-9.9.dist-info/direct_url.json": "{}",
}


def test_the_installed_hylo_is_packed_as_the_wheel_it_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own files and metadata, a record that names each with its hash, nothing of the installer's."""
    site = tmp_path / "lib" / "site"
    monkeypatch.setattr(own_wheel.metadata, "distribution", lambda _: Installed(site, FILES))
    wheel = pack_own_wheel(tmp_path)
    assert wheel.name == "hylo_eval-9.9-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        kept = sorted(
            name
            for name in FILES
            if not name.startswith("..") and name.rpartition("/")[2] in {"seeds.py", "b.toml", "METADATA", "WHEEL"}
        )
        record = "hylo_eval-9.9.dist-info/RECORD"
        assert sorted(archive.namelist()) == sorted([*kept, record])
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        assert [row[0] for row in rows] == [*kept, record]
        # printf 'x = 1\n' | sha256sum, in base64 for URLs without padding
        assert rows[0][1:] == ["sha256=" + url_safe_digest(b"x = 1\n"), "6"]
        assert rows[-1][1:] == ["", ""]


def url_safe_digest(data: bytes) -> str:
    """As the wheel format writes a hash."""
    import base64
    import hashlib

    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def test_a_hylo_without_a_record_cannot_be_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some installers leave none; the way around it is said."""
    monkeypatch.setattr(own_wheel.metadata, "distribution", lambda _: Installed(tmp_path, {}))
    with pytest.raises(EvalError, match="has no record of its files") as caught:
        pack_own_wheel(tmp_path)
    assert "hylo-eval env add NAME --python PATH" in caught.value.fix


def test_a_file_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged installation is not passed on."""
    installed = Installed(tmp_path / "site", FILES)
    (tmp_path / "site" / "hylo_core" / "seeds.py").unlink()
    monkeypatch.setattr(own_wheel.metadata, "distribution", lambda _: installed)
    with pytest.raises(EvalError, match=r"cannot be packed: No such file or directory: .*seeds\.py"):
        pack_own_wheel(tmp_path)
