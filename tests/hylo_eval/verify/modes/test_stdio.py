"""Mode ``stdio``: programs on hidden cases, all or nothing."""

import shlex
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.execution.hiding import is_possible
from hylo_eval.verify.modes.grader import GradingContext
from hylo_eval.verify.modes.stdio import grade_stdio, grade_stdio_candidate, load_cases
from hylo_eval.verify.specs.execution import StdioSpec
from hylo_eval.verify.verdict import InvalidTask, Status

PYTHON = shlex.quote(sys.executable)
ADD = "import sys\nprint(sum(int(token) for token in sys.stdin.read().split()))\n"


@pytest.fixture
def task(tmp_path):
    """Two hidden cases of addition and an empty workspace."""
    cases = tmp_path / "tests/cases"
    cases.mkdir(parents=True)
    (tmp_path / "app").mkdir()
    for number, (given_text, expected) in {"1": ("1 2\n", "3\n"), "10": ("4 5 6\r\n", "15\n")}.items():
        (cases / f"input_{number}.txt").write_bytes(given_text.encode())
        (cases / f"output_{number}.txt").write_text(expected)
    return GradingContext(tests_dir=tmp_path / "tests", workspace=tmp_path / "app")


def grade(task, program=ADD, **fields):
    (task.workspace / "main.py").write_text(program)
    return grade_stdio(StdioSpec(**{"command": f"{PYTHON} main.py", **fields}), task)


def test_right_program(task):
    """A program that is right on every case scores one."""
    verdict = grade(task)
    assert (verdict.reward, verdict.detail) == (1.0, {"passed": 2, "total": 2})


def test_wrong_program(task):
    """A program that is wrong on one case scores zero and is told the case."""
    verdict = grade(task, "print(3)\n")
    assert verdict.reward == 0.0
    assert verdict.detail == {"passed": 1, "total": 2, "first_failure": "10"}


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("print(3)\nraise SystemExit(2)\n", "runtime_error"),
        ("import time\ntime.sleep(60)\n", "timeout"),
        ("while True: print('3' * 100000)\n", "output_too_large"),
    ],
)
def test_failing_program(task, program, reason):
    """A program that fails, hangs or floods scores zero with the reason, and the grader does not hang."""
    timeout = 1.0 if reason == "timeout" else 30.0
    verdict = grade(task, program, per_case_timeout=timeout)
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (Status.SCORED, 0.0, reason)


def test_missing_program(task):
    """A program that is not there scores zero: writing it was the task."""
    verdict = grade(task, command="./main")
    assert (verdict.status, verdict.detail["reason"]) == (Status.SCORED, "command_failed")


def test_build(task):
    """The build command runs before the cases, and its failure scores zero."""
    assert grade(task, build="cp main.py built.py", command=f"{PYTHON} built.py").reward == 1.0
    assert grade(task, build="exit 4").detail["reason"] == "build_failed"


def test_special_judge(task):
    """A judge of the task decides by the last line it prints, and a judge that fails rejects."""
    judge = task.tests_dir / "judge.py"
    judge.write_text(
        "import sys\n"
        "expected, got = (open(path).read().strip() for path in sys.argv[2:4])\n"
        "print('compared')\nprint(int(expected == got.lstrip('0')))\n"
    )
    zeros = ADD.replace("print(", "print('000', end=''); print(")
    assert grade(task, zeros).reward == 0.0
    assert grade(task, zeros, special_judge="judge.py").reward == 1.0
    assert grade(task, "print(7)\n", special_judge="judge.py").reward == 0.0
    judge.write_text("print(1)\nraise SystemExit(1)\n")
    assert grade(task, special_judge="judge.py").reward == 0.0


@pytest.mark.skipif(not is_possible(), reason="this process may not make mount namespaces")
@pytest.mark.parametrize("stage", ["build", "run"])
def test_cases_are_hidden(task, stage):
    """Neither the program nor its build can copy the expected outputs out of the cases folder."""
    if stage == "build":
        program = "print(open('stolen').read())"
        verdict = grade(task, program, build="cat ../tests/cases/output_1.txt > stolen || true")
    else:
        verdict = grade(task, "print(open('../tests/cases/output_1.txt').read())")
    assert verdict.reward == 0.0
    assert verdict.detail["passed"] == 0


def test_expected_outputs_are_read_first(task):
    """A program that overwrites the expected outputs while it runs changes nothing."""
    program = (
        "import glob\nfor path in glob.glob('../tests/cases/output_*.txt'):\n    open(path, 'w').write('7')\nprint(7)"
    )
    verdict = grade(task, program)
    assert (verdict.reward, verdict.detail["passed"]) == (0.0, 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"min_cases": 3},
        {"min_cases": -1},
        {"min_cases": 0, "cases": "none"},
        {"cases": "gone"},
        {"cases": "../app"},
        {"cases": "/etc"},
        {"per_case_timeout": 0.0},
        {"per_case_timeout": float("nan")},
        {"per_case_timeout": float("inf")},
        {"float_tolerance": -1.0, "compare": "float"},
        {"special_judge": "gone.py"},
        {"special_judge": "../app/main.py"},
        {"command": ""},
        {"command": "python 'unclosed"},
    ],
)
def test_defects_of_the_task(task, fields):
    """A malformed specification is the task's defect, whatever the candidate wrote."""
    (task.tests_dir / "none").mkdir()
    with pytest.raises(InvalidTask):
        grade(task, **fields)


def test_case_without_output(task):
    """A case that lacks its output is the task's defect."""
    (task.tests_dir / "cases/output_10.txt").unlink()
    with pytest.raises(InvalidTask, match="output_10"):
        grade(task)


def test_places_and_order_of_cases(tmp_path):
    """Outputs are found beside the input, in ``outputs/`` or in the folder; cases run in numeric order."""
    cases = tmp_path / "cases"
    for folder in ("inputs", "outputs"):
        (cases / folder).mkdir(parents=True)
    for number in ("10", "9", "b", "09"):
        (cases / f"inputs/input_{number}.txt").write_text(number)
    (cases / "inputs/output_10.txt").write_text("beside")
    (cases / "outputs/output_9.txt").write_text("outputs")
    (cases / "output_b.txt").write_text("root")
    (cases / "output_09.txt").write_text("root")
    loaded = load_cases(tmp_path, "cases")
    assert [(case.number, case.expected) for case in loaded] == [
        ("09", "root"),
        ("9", "outputs"),
        ("10", "beside"),
        ("b", "root"),
    ]


def compare(output, expected, **fields):
    return grade_stdio_candidate(StdioSpec(command="x", **fields), output, expected).reward


@pytest.mark.parametrize(
    ("policy", "output", "expected", "reward"),
    [
        ("tokens", " 1\n\n2 ", "1 2", 1.0),
        ("tokens", "1 2 3", "1 2", 0.0),
        ("exact", "\n a  b \n\n", " a  b", 1.0),
        ("exact", "a b", "a  b", 0.0),
        ("float", "1.0000001 x", "1 x", 1.0),
        ("float", "1.1 x", "1 x", 0.0),
        ("float", "nan", "3", 0.0),
        ("float", "inf", "inf", 1.0),
        ("float", "1e999999", "3", 0.0),
        ("decimal_lines", "3.00\nab  c", "3\nab  c", 1.0),
        ("decimal_lines", "3.01", "3", 0.0),
        ("decimal_lines", "1e999999999", "3", 0.0),
        ("decimal_lines", "nan", "3", 0.0),
        ("decimal_lines", "1 2", "1\n2", 0.0),
    ],
)
def test_comparisons(policy, output, expected, reward):
    """Each policy accepts what differs only where it may differ."""
    assert compare(output, expected, compare=policy) == reward


def test_tolerance_is_inclusive():
    """The float tolerance is absolute or relative, the boundary included."""
    assert compare("1.5", "1.0", compare="float", float_tolerance=0.5) == 1.0
    assert compare("96", "64", compare="float", float_tolerance=0.5) == 1.0
    assert compare("97", "64", compare="float", float_tolerance=0.5) == 0.0


@given(st.text(), st.sampled_from(["tokens", "exact", "float", "decimal_lines"]))
def test_any_output_is_scored(output, policy):
    """Whatever a program prints is scored, and the expected output itself always passes."""
    assert compare(output, "3", compare=policy) in (0.0, 1.0)
    assert compare("3", "3", compare=policy) == 1.0


def test_direct_grader_refuses_what_it_cannot_do():
    """A captured output is not given to a special judge, and anything but text scores zero."""
    with pytest.raises(InvalidTask):
        grade_stdio_candidate(StdioSpec(command="x", special_judge="j.py"), "3", "3")
    assert grade_stdio_candidate(StdioSpec(command="x"), 3, "3").detail == {"reason": "invalid_stdout"}
