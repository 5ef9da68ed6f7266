"""Every refusal that a person can meet says how to mend what was refused.

The source is walked: an error that is raised without a fix is one that somebody will meet.
"""

from __future__ import annotations

import ast
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

import hylo_eval
from hylo_eval.errors import EvalError, cannot_read, cannot_write

PACKAGE = Path(hylo_eval.__file__).parent

REFUSALS = {"EvalError", "EnvUnready"}
"""The classes whose text reaches people as a refusal, with a member for the fix."""

OUTCOMES = {"AgentError", "EnvError"}
"""Within an episode these are outcomes; before one they are refusals: in a command, of an option, of what is made."""

ELSEWHERE = ("verify", "envs", "interpreters", "queue", "evallog", "run_index", "response_benchmarks", "sampling")
"""Packages with refusals of their own words: reports of damage, and verdicts."""

WITHIN = {
    "activity", "executor", "limits", "local_processes", "lost_episode", "orphans", "phases", "process", "ray_actors",
    "remote_worker", "seat", "supervisor", "worker",
}  # fmt: skip
"""Modules of `hylo_eval.evaluation` whose errors are between processes of one run."""

COMMANDS_ELSEWHERE = {"elsewhere", "env", "ls", "show"}


def modules() -> list[Path]:
    """The modules whose refusals are walked."""

    def walked(path: Path) -> bool:
        package, name = path.relative_to(PACKAGE).parts[0], path.stem
        return (
            package not in ELSEWHERE
            and not (package == "evaluation" and name in WITHIN)
            and not (package == "cli" and name in COMMANDS_ELSEWHERE)
        )

    return [path for path in sorted(PACKAGE.rglob("*.py")) if walked(path)]


def without_fix(source: str, *, before_episodes: bool = False) -> Iterator[int]:
    """The lines on which a refusal is made without a fix; those with ``**`` say it somewhere else.

    Args:
        source: Of a module.
        before_episodes: Whether what it raises ends a command, also of the classes that are outcomes of episodes.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            given = {keyword.arg for keyword in node.keywords}
            refuses = node.func.id in REFUSALS or (node.func.id in OUTCOMES and (before_episodes or _of_option(node)))
            if refuses and not given & {"fix", None}:
                yield node.lineno


def _of_option(call: ast.Call) -> bool:
    return "option '" in ast.unparse(call).replace('"', "'").replace("\\", "")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_refusal_leaves_a_person_without_a_fix(path: Path) -> None:
    """A new one without it is found here: say what to type, or what to change."""
    before = path.relative_to(PACKAGE).parts[0] == "cli" or path.stem in ("arguments", "fitting", "making", "preflight")
    assert list(without_fix(path.read_text(encoding="utf-8"), before_episodes=before)) == []


def test_the_walk_finds_what_it_looks_for() -> None:
    """With a fix, without one, and an empty one that somebody passes on."""
    source = 'raise EvalError("a", fix="b")\nraise EvalError("a")\nreturn EvalError(text)\nEvalError("a", fix=fix)\n'
    assert list(without_fix(source.replace("return ", ""))) == [2, 3]
    outcomes = """raise AgentError("late")\nraise AgentError(f"option 'speed' is {x}")\n"""
    assert list(without_fix(outcomes)) == [2]
    assert list(without_fix(outcomes, before_episodes=True)) == [1, 2]
    assert len(modules()) > 150


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.ENOSPC, errno.EIO])
def test_a_file_that_cannot_be_used_comes_with_a_fix(number: int) -> None:
    """Also for an error that nobody foresaw; the name of the file stays in the sentence."""
    error = OSError(number, "no luck")
    for refused, what in (
        (cannot_read("the log a.json", error), "read"),
        (cannot_write("the log a.json", error), "write"),
    ):
        assert isinstance(refused, EvalError)
        assert refused.message == f"cannot {what} the log a.json: no luck"
        assert refused.fix
