"""Every command that reads runs takes them by folder and by id."""

import shutil

import pytest

from tests.runs import keys, unit, write_run

COMMANDS = [
    ("show", "one"),
    ("status", "one"),
    ("rescore", "one", "--scorer", "steps"),
    ("grade", "one", "--grader", "tests.hylo_eval.cli.test_run_names:Judge"),
    ("export", "one", "--to", "csv", "-o", "{out}/one.csv"),
    ("report", "one", "two", "-o", "{out}/report.html"),
    ("compare", "one", "two"),
    ("diff", "one", "two", "unit/task#0"),
    ("gate", "one", "two", "--mode", "improve"),
    ("leaderboard", "one", "two"),
]


class Judge:
    """Says 1 of everything."""

    name = "judge"
    digest = f"sha256:{'00' * 32}"

    def grade(self, trace, task):
        from hylo_core.trace import GradeEvent

        return GradeEvent(grader=self.name, ref="tests:Judge", digest=self.digest, value=1.0)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs."""
    root = tmp_path_factory.mktemp("named") / "root"
    for name, won in (("one", keys(0, 1)), ("two", keys(0))):
        write_run(root, name, won, bench=unit(3))
    return root


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_run_may_be_named_by_its_id_and_by_its_folder(hylo, runs, tmp_path, command):
    """Both end alike, and neither says that there is no such run."""
    codes = []
    for form in ("id", "folder"):
        root, out = tmp_path / form / "root", tmp_path / form
        shutil.copytree(runs, root)
        given = [part.format(out=out) for part in command[1:]]
        if form == "folder":
            given = [str(root / part) if part in ("one", "two") else part for part in given]
        done = hylo(command[0], *given, "--run-root", root)
        assert "there is no run" not in done.err
        codes.append(done.code)
    assert codes[0] == codes[1]
    assert codes[0] in (0, 3), done.err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_mistyped_run_suggests_a_near_one(hylo, runs, tmp_path, command):
    """With exit code 2, wherever it was typed."""
    given = [part.format(out=tmp_path).replace("one", "onne") for part in command[1:]]
    done = hylo(command[0], *given, "--run-root", runs)
    assert done.code == 2
    assert "'one'" in done.err
