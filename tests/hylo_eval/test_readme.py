"""README says what is so: its commands are understood and its Python runs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import click
import pytest

from hylo_eval.cli.group import cli
from hylo_eval.compare.decision import Mode
from hylo_eval.evaluation.comparing.gate_policy import make_policy, read_policy

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


def test_the_policy_of_the_readme_says_what_its_comments_say(tmp_path: Path) -> None:
    """Saved under the name it is given with, it is read, and the gate's own words agree."""
    assert "--policy gate.toml" in README
    (policy,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "gate.toml").write_text(policy, encoding="utf-8")
    rule = make_policy(read_policy(tmp_path / "gate.toml")).rule
    assert (rule.mode, rule.margin, rule.min_pairs) == ("noninferior", 0.05, 50)
    words = rule.words()
    assert "is above -5 points" in words
    assert "below 50 scored pairs" in words
    assert all(f'"{mode}"' in policy for mode in get_args(Mode))


@pytest.mark.slow
def test_the_first_command_comes_out_as_it_says(tmp_path: Path) -> None:
    """Within two of its twenty episodes: another MuJoCo may tip one that is close."""
    pytest.importorskip("gymnasium_robotics")
    (said,) = re.findall(r"About (\d+) % success is what is to come out", README)
    command = [sys.executable, "-m", "hylo_eval", *shlex.split(f"{COMMANDS[0]} --run-id first --json")]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    success = json.loads(done.stdout)["scores"]["success"]
    assert success["n_scored"] == 20
    assert abs(success["mean"] - int(said) / 100) <= 0.1 + 1e-9


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
