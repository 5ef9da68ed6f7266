"""``docs/gate.md`` and the README's examples for CI: they run, and the page names what there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs
import pytest

from hylo_eval.compare.comparability import EXCEPTIONS
from hylo_eval.compare.gate import GatePolicy
from hylo_eval.evaluation.comparing.gate_policy import make_policy, read_policy

REPOSITORY = Path(__file__).parents[3]
TEXT = (REPOSITORY / "docs" / "gate.md").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = TEXT) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def steps() -> dict[str, list[str]]:
    """The shell steps of each example; installing is the test environment's business."""
    yaml = pytest.importorskip("yaml")
    github, gitlab = (yaml.safe_load(block) for block in blocks("yaml", README))
    shell = [step["run"] for step in github["jobs"]["gate"]["steps"] if step.get("name") in ("evaluate", "gate")]
    return {"github": shell, "gitlab": gitlab["gate"]["script"]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with agent files, the documented policy, and ``hylo-eval`` on the path."""
    for name, speed in (("candidate", 0.25), ("parent", 0.08)):
        (tmp_path / f"{name}.toml").write_text(f'agent = "reach-scripted"\n[options]\nspeed = {speed}\n')
    [policy] = blocks("toml")
    (tmp_path / "gate.toml").write_text(policy)
    command = tmp_path / "bin" / "hylo-eval"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hylo_eval "$@"\n')
    command.chmod(0o755)
    return tmp_path


def parsed(path: Path) -> ET.Element:
    """The root of an XML file that we have written."""
    return ET.parse(path).getroot()  # noqa: S314


def shell(project: Path, step: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as a CI runner does."""
    path = os.pathsep.join([str(project / "bin"), os.environ["PATH"]])
    variables = {**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY), **environment}
    return subprocess.run(
        ["bash", "-e", "-c", step], cwd=project, env=variables, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("runner", ["github", "gitlab"])
def test_the_examples_run_as_shell_steps(project: Path, runner: str) -> None:
    """Step by step to an open gate, with the files that the example keeps."""
    variables = {"GITHUB_STEP_SUMMARY": str(project / "summary.md")} if runner == "github" else {}
    for step in steps()[runner]:
        done = shell(project, step, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
    assert parsed(project / "gate.xml").get("failures") == "0"
    assert len(list((project / "runs" / "comparisons").iterdir())) == 1
    page = (project / ("summary.md" if runner == "github" else "gate.md")).read_text(encoding="utf-8")
    assert page.startswith("## hylo-eval gate: pass")


def test_the_python_example_says_the_same(project: Path) -> None:
    """Two lines of evidence, one of policy, and the verdict."""
    *before, _ = steps()["gitlab"]
    for step in before:
        assert shell(project, step).returncode == 0
    [example] = blocks("python")
    (project / "example.py").write_text(example)
    done = shell(project, f"{sys.executable} example.py")
    assert done.stdout.startswith("pass\nthe difference lies in ["), done.stderr


def test_a_worse_candidate_stops_the_job(project: Path) -> None:
    """The same steps with the two agents swapped end with 1."""
    (project / "candidate.toml").rename(project / "kept.toml")
    (project / "parent.toml").rename(project / "candidate.toml")
    (project / "kept.toml").rename(project / "parent.toml")
    *before, gate = steps()["gitlab"]
    for step in before:
        assert shell(project, step).returncode == 0
    assert shell(project, gate).returncode == 1


def test_the_documented_policy_is_the_default_but_for_what_it_says(tmp_path: Path) -> None:
    """Every key it lists exists, and every key is listed."""
    [text] = blocks("toml")
    (tmp_path / "gate.toml").write_text(text)
    assert make_policy(read_policy(tmp_path / "gate.toml")).rule.margin == 0.05
    named = set(re.findall(r"`([a-z_]+)`", TEXT[TEXT.index("Keys are the options") : TEXT.index("An unknown\nkey")]))
    rule = attrs.fields_dict(type(make_policy({"mode": "improve"}).rule))
    assert named - {"_"} == (set(attrs.fields_dict(GatePolicy)) - {"rule"}) | set(rule)
    assert set(tomllib.loads(text)) <= named


def test_every_exception_is_named() -> None:
    """In the table of what is refused, and no other."""
    table = TEXT[TEXT.index("| name | what differs |") : TEXT.index("A pair whose episodes began")]
    rows: Any = re.findall(r"^\| (`.*?`) \|", table, flags=re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"`([a-z-]+)`", row)] == list(EXCEPTIONS)
