"""The wheel holds both packages and the benchmark files, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel that pip builds of this checkout, with a build environment of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", folder, ROOT], check=True)
    (path,) = folder.glob("hylo_eval-*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_holds_the_benchmarks_as_package_data(wheel: zipfile.ZipFile) -> None:
    """Every file of benchmarks/, byte for byte, below hylo_eval."""
    shipped = {name: wheel.read(name) for name in wheel.namelist() if name.startswith("hylo_eval/benchmark_data/")}
    expected = {
        f"hylo_eval/benchmark_data/{path.relative_to(ROOT / 'benchmarks').as_posix()}": path.read_bytes()
        for path in (ROOT / "benchmarks").glob("*/*.toml")
    }
    assert expected
    assert shipped == expected


def test_the_wheel_has_two_typed_packages_and_no_other_top_level_name(wheel: zipfile.ZipFile) -> None:
    """No tests, no ``benchmarks`` that would shadow somebody's own."""
    names = wheel.namelist()
    assert [name for name in names if name.endswith("py.typed")] == ["hylo_core/py.typed", "hylo_eval/py.typed"]
    tops = {name.split("/", maxsplit=1)[0] for name in names}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"hylo_core", "hylo_eval"}
    source = {
        path.relative_to(ROOT).as_posix()
        for package in ("hylo_core", "hylo_eval")
        for path in (ROOT / package).rglob("*.py")
    }
    assert {name for name in names if name.endswith(".py")} == source
    assert [name for name in names if "/report/template/" in name] == [
        f"hylo_eval/report/template/report.{kind}" for kind in ("css", "html.jinja", "js")
    ]
    strays = [
        name for name in names if name.endswith(".pyc") or name.rpartition("/")[2].startswith(("test_", "conftest"))
    ]
    assert strays == []


def test_the_wheel_finds_its_benchmarks_away_from_the_checkout(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """Unpacked elsewhere, with no checkout on the path, an alias is read from the package data."""
    wheel.extractall(tmp_path)
    code = (
        "import hylo_eval; from hylo_eval.benchmarks import benchmark_files, find_benchmark;"
        "print(hylo_eval.__file__, benchmark_files()['reach_fixed'], find_benchmark('reach_fixed').id, sep='\\n')"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == [
        str(tmp_path / "hylo_eval" / "__init__.py"),
        str(tmp_path / "hylo_eval" / "benchmark_data" / "testing" / "reach_fixed.toml"),
        "reach_fixed",
    ]


def test_an_installed_wheel_is_packed_back_as_it_was(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """What ``env add --create`` installs elsewhere where there is no checkout: the same files and metadata."""
    wheel.extractall(tmp_path / "site")
    code = (
        "import pathlib; from hylo_eval.interpreters.own import checkout;"
        "from hylo_eval.interpreters.own_wheel import pack_own_wheel;"
        f"print(checkout(), pack_own_wheel(pathlib.Path({str(tmp_path)!r})))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    none, packed = done.stdout.split()
    assert none == "None"
    with zipfile.ZipFile(packed) as archive:
        assert sorted(archive.namelist()) == sorted(wheel.namelist())
        assert all(archive.read(name) == wheel.read(name) for name in wheel.namelist() if not name.endswith("/RECORD"))
        assert sorted(archive.read("hylo_eval-0.1.0.dist-info/RECORD").splitlines()) == sorted(
            wheel.read("hylo_eval-0.1.0.dist-info/RECORD").splitlines()
        )
