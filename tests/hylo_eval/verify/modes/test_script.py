"""Mode ``script``: the task's own grading script and what counts as its report."""

from pathlib import Path

import pytest

from hylo_eval.verify.modes.grader import GradingContext
from hylo_eval.verify.modes.script import grade_script
from hylo_eval.verify.specs.execution import ScriptSpec
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Status


@pytest.fixture
def task(tmp_path):
    """An empty tests directory and an empty workspace."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "app").mkdir()
    return GradingContext(tests_dir=tmp_path / "tests", workspace=tmp_path / "app")


def grade(task, script, *, name="grade.sh", **fields):
    (task.tests_dir / name).write_text(script)
    return grade_script(ScriptSpec(path=name, **fields), task)


VERDICT = '{"status": "scored", "reward": 0.25, "detail": {"why": "close"}}'


def write_verdict(verdict):
    return f"cat > \"$VERIFYIT_LOGS_DIR\"/v.json <<'EOT'\n{verdict}\nEOT\n"


def test_shell_script(task):
    """A shell script grades the workspace it runs in, and knows the tests directory."""
    script = 'grep -qx "$(cat "$VERIFYIT_TESTS_DIR"/expected.txt)" answer.txt && echo 1.0 || echo 0.0\n'
    (task.tests_dir / "expected.txt").write_text("42")
    (task.workspace / "answer.txt").write_text("42\n")
    verdict = grade(task, script)
    assert verdict.reward == 1.0
    assert verdict.detail == {"exit_code": 0, "stderr": "", "channel": "stdout"}
    (task.workspace / "answer.txt").write_text("41\n")
    assert grade(task, script).reward == 0.0


def test_python_script(task):
    """Any other script runs under python3 with its arguments."""
    script = "import sys\nprint('graded')\nprint(float(sys.argv[1]) / 2)\n"
    assert grade(task, script, name="grade.py", args=["0.5"]).reward == 0.25


def test_order_of_channels(task):
    """reward.json decides before reward.txt, which decides before the output."""
    logs = '"$VERIFYIT_LOGS_DIR"'
    text = f"echo 0.5 > {logs}/reward.txt\necho 0.1\n"
    assert grade(task, text).detail["channel"] == "reward.txt"
    table = 'echo \'{"reward": 0.75, "coverage": 3, "note": "x"}\' > ' + f"{logs}/reward.json\n"
    verdict = grade(task, table + text)
    assert verdict.reward == 0.75
    assert verdict.detail["metrics"] == {"reward": 0.75, "coverage": 3.0}


def test_reward_key(task):
    """A named key is read from reward.json and from nowhere else."""
    script = 'echo \'{"score": 0.5}\' > "$VERIFYIT_LOGS_DIR"/reward.json\n'
    assert grade(task, script, reward_key="score").reward == 0.5
    with pytest.raises(GradingInfraError, match=r"reward\.json"):
        grade(task, "echo 0.5\n", reward_key="score")


@pytest.mark.parametrize(
    "content",
    [
        '{"reward": NaN}',
        '{"reward": 1e999}',
        '{"reward": true}',
        '{"reward": 1, "reward": 0}',
        '{"reward": 0.5, "loss": 1e999}',
        "[1]",
        "{}",
        "",
    ],
)
def test_malformed_table(task, content):
    """A malformed reward.json is a failure of the script, and does not fall through to its output."""
    with pytest.raises(GradingInfraError, match=r"reward\.json"):
        grade(task, f"echo '{content}' > \"$VERIFYIT_LOGS_DIR\"/reward.json\necho 1.0\n")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo hello\n", "no reward"),
        ("echo nan\n", "finite"),
        ("echo 1.0\nexit 3\n", "failed"),
        ('echo x > "$VERIFYIT_LOGS_DIR"/reward.txt\necho 1.0\n', r"reward\.txt"),
        ('echo 1 > f; ln -s "$PWD/f" "$VERIFYIT_LOGS_DIR"/reward.txt\n', "not a bounded regular file"),
        ('head -c 1000001 /dev/zero > "$VERIFYIT_LOGS_DIR"/reward.txt\n', "too_large"),
    ],
)
def test_no_reward(task, script, message):
    """A script that fails or reports no finite number abstains: its candidate is not to blame."""
    with pytest.raises(GradingInfraError, match=message):
        grade(task, script)


def test_out_of_range(task):
    """A bare reward outside [0, 1] scores zero and is shown."""
    verdict = grade(task, "echo 7.0\n")
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)
    assert (verdict.detail["reason"], verdict.detail["reported"]) == ("reward_out_of_range", 7.0)


def test_timeout(task):
    """A bare script that runs out of time scores zero, whatever it had reported by then."""
    verdict = grade(task, "echo 1.0\nsleep 60\n", timeout=0.5)
    assert (verdict.reward, verdict.detail["reason"], verdict.detail["exit_code"]) == (0.0, "timeout", None)


def test_declared_verdict(task):
    """A declared verdict is taken over whole, with how the script ran."""
    verdict = grade(task, write_verdict(VERDICT), verdict_file="v.json")
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.25)
    assert verdict.detail == {"why": "close", "script": {"exit_code": 0, "stderr": ""}}
    unscored = '{"status": "invalid_task", "reward": 0.0, "detail": {}}'
    assert grade(task, write_verdict(unscored), verdict_file="v.json").status is Status.INVALID_TASK


@pytest.mark.parametrize(
    "verdict",
    [
        '{"status": "scored", "reward": 1.5, "detail": {}}',
        '{"status": "scored", "reward": NaN, "detail": {}}',
        '{"status": "scored", "reward": true, "detail": {}}',
        '{"status": "scored", "reward": 1, "detail": []}',
        '{"status": "scored", "reward": 1}',
        '{"status": "invalid_task", "reward": 1, "detail": {}}',
        '{"status": "perfect", "reward": 1, "detail": {}}',
        '{"status": ["scored"], "reward": 1, "detail": {}}',
        '{"status": "scored", "reward": 1, "reward": 1, "detail": {}}',
        "[" * 100_000,
        "",
    ],
)
def test_malformed_verdict(task, verdict):
    """A malformed declared verdict abstains, and says how the script ran."""
    with pytest.raises(GradingInfraError) as caught:
        grade(task, write_verdict(verdict), verdict_file="v.json")
    assert caught.value.detail["script"]["exit_code"] == 0


@pytest.mark.parametrize("ending", ["exit 3\n", "sleep 60\n"])
def test_unfinished_verdict(task, ending):
    """A declared verdict counts only when its script ended successfully, in time."""
    with pytest.raises(GradingInfraError):
        grade(task, write_verdict(VERDICT) + ending, verdict_file="v.json", timeout=1.0)


@pytest.mark.parametrize(
    "fields",
    [
        {"timeout": 0.0},
        {"timeout": -1.0},
        {"timeout": float("inf")},
        {"verdict_file": "../v.json"},
        {"verdict_file": "/v.json"},
        {"verdict_file": "."},
        {"verdict_file": ""},
        {"args": ["\0"]},
    ],
)
def test_defects_of_the_task(task, fields):
    """A malformed specification is the task's defect."""
    with pytest.raises(InvalidTask):
        grade(task, "echo 1.0\n", **fields)


@pytest.mark.parametrize("path", ["gone.sh", "../app/grade.sh", "/bin/true", "folder"])
def test_script_stays_in_the_tests_directory(task, path):
    """A script that is missing, no file, or outside the tests directory is the task's defect."""
    (task.workspace / "grade.sh").write_text("echo 1.0\n")
    (task.tests_dir / "folder").mkdir()
    with pytest.raises(InvalidTask):
        grade_script(ScriptSpec(path=path), task)


def test_relative_folders(task, monkeypatch):
    """A script finds its folders also when the grader was given them relative to its own current folder."""
    monkeypatch.chdir(task.tests_dir.parent)
    relative = GradingContext(tests_dir=Path("tests"), workspace=Path("app"))
    script = 'test -f "$VERIFYIT_TESTS_DIR"/grade.sh && test "$VERIFYIT_WORKSPACE" = "$PWD" && echo 1.0\n'
    assert grade(relative, script).reward == 1.0


def test_a_key_on_standard_error(task, monkeypatch):
    """A script is given the credentials; the traceback in which it shows them is recorded without."""
    monkeypatch.setenv("VERIFYIT_JUDGE_API_KEY", "secret-key")
    verdict = grade(task, 'echo "refused: $VERIFYIT_JUDGE_API_KEY" >&2\necho 1.0\n')
    assert verdict.detail["stderr"] == "refused: [key]\n"
