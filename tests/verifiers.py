"""Verifiers for tests: plugin folders, rubric folders, and a judge that says what it is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hylo_core.verifier import VerifierRef
from hylo_eval.verify.verifiers.contract import Verification
from hylo_eval.verify.verifiers.plugin_tree import PluginTree
from hylo_eval.verify.verifiers.rubric import RubricQuestion

ARITHMETIC = """\
from typing import Any, Mapping

def score_arithmetic(task: Mapping[str, Any], trajectory: Any) -> float:
    expected = str(task.get("reference", "")).strip()
    answer = str(trajectory).strip().split()[-1] if trajectory else ""
    return 1.0 if answer == expected else 0.0
"""

RUBRIC = VerifierRef("rubric", "alice/arithmetic-correctness")
PLUGIN = VerifierRef("plugin", "verify:score_arithmetic")


def write_plugin(folder: Path, source: str = ARITHMETIC, *, kind: str = "environment", **files: str) -> Path:
    """A plugin whose ``verify.py`` holds ``source``; ``files`` are further modules."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"verify": source, **files}.items():
        (folder / f"{name}.py").write_text(text)
    declare(folder, kind=kind)
    return folder


def declare(folder: Path, *, kind: str = "environment", digest: str | None = None) -> None:
    """Write the manifest of the files as they are."""
    manifest = {"name": "arithmetic", "kind": kind, "verifier": {"kind": "plugin", "ref": "verify:score_arithmetic"}}
    manifest["digest"] = digest or PluginTree.read(folder).content_digest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def write_rubric(root: Path, text: str = "The sum must be right.", *, version: str = "1", suffix: str = ".md") -> Path:
    """A version of the rubric that :data:`RUBRIC` names."""
    path = root / RUBRIC.ref / f"{version}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return root


class SayingJudge:
    """Keeps what it is asked and answers with what a function says."""

    identity: Mapping[str, Any] = {"model": "saying"}

    def __init__(self, answer: Callable[[RubricQuestion], float] = lambda question: 1.0) -> None:
        self.answer = answer
        self.asked: list[RubricQuestion] = []

    def judge(self, question: RubricQuestion) -> Verification:
        self.asked.append(question)
        return Verification(reward=self.answer(question), explanation="because", metadata={"model": "saying"})
