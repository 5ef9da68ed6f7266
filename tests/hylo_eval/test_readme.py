"""README says what is so: its commands are understood and its Python runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hylo_eval.cli.group import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    line.partition("hylo-eval ")[2].partition(" #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if re.search(r"(^|&& )hylo-eval ", line)
]


def test_readme_shows_each_kind_of_command() -> None:
    """The patterns above find what stands there."""
    assert {command.split()[0] for command in COMMANDS} == {
        "run", "env", "list", "doctor", "compare", "gate", "report", "plan", "race", "select", "leaderboard", "trend",
        "status",
    }  # fmt: skip
    assert len(PYTHON) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_line_is_understood(command: str) -> None:
    """Command, options and arguments are those of the command line; nothing is run."""
    name, *arguments = shlex.split(command)
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    found.make_context(name, arguments)


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name
)
def test_what_is_installed_is_there_to_be_installed(path: Path) -> None:
    """From a checkout or a repository: there is no package index that has it."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "pip install" in line]
    assert [line for line in lines if re.search(r"""['" ]hylo-eval(\[[^]]*\])?['"]?\s*($|#|&)""", line)] == []


def test_the_examples_for_ci_install_from_the_repository_in_the_same_way() -> None:
    """Requirement and place are what pip understands."""
    installs = re.findall(r"pip install '(hylo-eval[^']*)'", README)
    assert installs == ["hylo-eval @ git+https://git.example.com/hylo.git@COMMIT"] * 2


def test_the_agent_of_the_readme_runs(tmp_path: Path) -> None:
    """Saved under the name it gives, with the command it gives; it declares all that the environment does."""
    (tmp_path / "hold.py").write_text(PYTHON[0], encoding="utf-8")
    assert "`PYTHONPATH=. hylo-eval run fetch_reach --agent hold:Hold`" in README
    command = [sys.executable, "-m", "hylo_eval", "run", "fetch_reach", "--agent", "hold:Hold", "--episodes", "1"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": f"{tmp_path}:{ROOT}"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "agent hold 1" in done.stdout
    assert "does not declare" not in done.stdout


def test_the_evaluation_from_python_prints_what_it_says(tmp_path: Path) -> None:
    """The comment beside the last line is the output."""
    said = PYTHON[1].rstrip().rpartition("# ")[2]
    done = subprocess.run(
        [sys.executable, "-c", PYTHON[1]],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == said, done.stderr
