"""The environment that docs/environments.md writes keeps every rule."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from hylo_core import Predicate, SeedInit, TaskSpec
from hylo_eval.envs.conformance import check_env

PAGE = Path(__file__).parents[3] / "docs" / "environments.md"


def blocks(kind: str) -> list[str]:
    """The blocks of the page that are in a language."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_its_commands_run_in_a_fresh_folder(tmp_path: Path) -> None:
    """With the two files as the page has them, under the names it gives; every episode is scored."""
    for name, kind in (("line.py", "python"), ("line.toml", "toml")):
        (content,) = blocks(kind)
        (tmp_path / name).write_text(content, encoding="utf-8")
    (commands,) = blocks("sh")
    for line in commands.splitlines():
        command = [sys.executable, "-m", "hylo_eval", *shlex.split(line.removeprefix("PYTHONPATH=. hylo-eval "))]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={"PYTHONPATH": f"{tmp_path}:{PAGE.parents[1]}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_the_documented_environment_keeps_every_rule() -> None:
    """The example runs as it stands on the page."""
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 - our own page
    task = TaskSpec(
        id="line",
        version="1",
        instruction="go to the origin",
        init=SeedInit(),
        success=Predicate("builtin", "env_success"),
        max_steps=50,
    )
    report = check_env(names["LineEnv"], task, seeds=(1, 2))  # type: ignore[arg-type]
    broken = [finding for finding in report.findings if finding.outcome == "broken"]
    assert broken == []
