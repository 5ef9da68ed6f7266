"""The environment that docs/environments.md writes keeps every rule."""

from __future__ import annotations

import re
from pathlib import Path

from hylo_core import Predicate, SeedInit, TaskSpec
from hylo_eval.envs.conformance import check_env

PAGE = Path(__file__).parents[3] / "docs" / "environments.md"


def test_the_documented_environment_keeps_every_rule() -> None:
    """The example runs as it stands on the page."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
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
