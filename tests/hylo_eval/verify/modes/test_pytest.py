"""Mode ``pytest``: real runs of pytest over candidates that succeed, fail, break and attack."""

import sys

import pytest

from hylo_eval.verify.modes.grader import GradingContext
from hylo_eval.verify.modes.pytest import grade_pytest, match_unique_prefixes
from hylo_eval.verify.specs.suites import PytestSpec
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Status

TESTS = (
    "from plan import clip\n\n"
    "def test_low():\n    assert clip(-3, 0, 5) == 0\n\n"
    "def test_high():\n    assert clip(9, 0, 5) == 5\n"
)
RIGHT = "def clip(value, low, high):\n    return max(low, min(high, value))\n"
WRONG = "def clip(value, low, high):\n    return max(low, value)\n"
PATH = "t/test_plan.py"

slow = pytest.mark.slow


@pytest.fixture
def task(tmp_path):
    """A tests directory that holds the test file, and a workspace named ``app`` with a copy of it."""
    for folder in ("tests/t", "app/t"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "test_plan.py").write_text(TESTS)
    return GradingContext(tests_dir=tmp_path / "tests", workspace=tmp_path / "app")


def grade(task, plan=RIGHT, **fields):
    """Grades a candidate that wrote ``plan.py`` (None for an empty submission)."""
    if plan is not None:
        (task.workspace / "plan.py").write_text(plan)
    # The plug-ins of this environment cost a second a run and are no part of what is tested.
    arguments = ["-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:randomly"]
    return grade_pytest(PytestSpec(**{"python": sys.executable, "paths": [PATH], "args": arguments, **fields}), task)


def test_right_candidate(task):
    """A suite whose tests all pass scores one."""
    verdict = grade(task)
    assert (verdict.reward, verdict.detail) == (1.0, {"passed": 2, "total": 2, "exit_code": 0})


def test_wrong_candidate(task):
    """A failing test scores zero and is named, with the end of pytest's output."""
    verdict = grade(task, WRONG)
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)
    assert (verdict.detail["passed"], verdict.detail["first_failure"]) == (1, f"{PATH}::test_high")
    assert "assert 9 == 5" in verdict.detail["output"]


@slow
def test_required_ids(task):
    """Only required ids count when there are any, and one that was not reported has failed."""
    assert grade(task, WRONG, must_pass=[f"{PATH}::test_low"]).reward == 1.0
    verdict = grade(task, RIGHT, must_pass=[f"{PATH}::test_low"], must_not_break=[f"{PATH}::test_gone"])
    assert (verdict.reward, verdict.detail["first_failure"]) == (0.0, f"{PATH}::test_gone")


@pytest.mark.parametrize(
    ("plan", "blamed"),
    [
        ("def clip(:\n", "plan.py"),
        pytest.param("raise ValueError('no')\n", "plan.py", marks=slow),
        pytest.param("def other():\n    pass\n", "plan.py", marks=slow),
    ],
    ids=["syntax", "raise", "name missing"],
)
def test_broken_candidate(task, plan, blamed):
    """Tests that cannot be collected because of an editable file are a failed attempt."""
    verdict = grade(task, plan, restore=[PATH])
    assert (verdict.status, verdict.detail["reason"]) == (Status.SCORED, "collection_error")
    assert (verdict.detail["category"], verdict.detail["files"]) == ("agent", [blamed])


def test_empty_submission(task):
    """A missing module is a failed attempt if the candidate was asked for it, else the task's defect."""
    verdict = grade(task, None, candidate_modules=["plan"])
    assert (verdict.status, verdict.detail["reason"]) == (Status.SCORED, "collection_error")
    with pytest.raises(InvalidTask, match="plan"):
        grade(task, None)


def test_startup_failure(task):
    """A module of the candidate that keeps pytest itself from starting is a failed attempt."""
    (task.workspace / "calendar.py").write_text("raise RuntimeError('shadow')\n")
    (task.workspace / "conftest.py").write_text("import calendar, sys\nsys.modules.pop('calendar')\nimport calendar\n")
    verdict = grade(task)
    assert (verdict.status, verdict.detail["reason"]) == (Status.SCORED, "startup_error")
    assert verdict.detail["files"] == ["calendar.py"]


def test_broken_image(task, tmp_path):
    """An interpreter without a working pytest is nobody's failed attempt, even under a broken candidate."""
    broken = tmp_path / "python"
    broken.write_text(f'#!/bin/bash\nexec {sys.executable} -I -S "$@"\n')
    broken.chmod(0o755)
    with pytest.raises(GradingInfraError):
        grade(task, "def clip(:\n", python=str(broken))
    with pytest.raises(GradingInfraError, match="cannot be started"):
        grade(task, python="no-such-python")


@slow
@pytest.mark.parametrize(
    "plan", ["raise KeyboardInterrupt\n", "raise SystemExit(0)\n", "import os; os.kill(os.getpid(), 9)\n"]
)
def test_interruption(task, plan):
    """An interrupted run abstains."""
    with pytest.raises(GradingInfraError):
        grade(task, plan)


@slow
def test_errors_of_trusted_files(task):
    """What a restored or protected file, or an absent dependency, does is not the candidate's failure."""
    (task.tests_dir / "t/test_plan.py").write_text("def test_low(:\n")
    with pytest.raises(GradingInfraError, match="not the candidate's"):
        grade(task, restore=[PATH])
    (task.workspace / PATH).write_text(TESTS)
    (task.tests_dir / "protected.txt").write_text("plan.py\n\n")
    with pytest.raises(GradingInfraError, match="not the candidate's"):
        grade(task, "raise ValueError\n", protected_paths_files=["protected.txt"])
    with pytest.raises(GradingInfraError, match="not the candidate's"):
        grade(task, "import no_such_dependency\n")


@slow
def test_qualified_package(task):
    """A candidate's package named after the workspace is importable by that name."""
    (task.workspace / "__init__.py").write_text("")
    (task.workspace / PATH).write_text(TESTS.replace("from plan", "from app.plan"))
    assert grade(task, candidate_modules=["app.plan"]).reward == 1.0
    (task.workspace / "plan.py").unlink()
    verdict = grade(task, None, candidate_modules=["app.plan"])
    assert (verdict.reward, verdict.detail["files"]) == (0.0, ["plan"])


@slow
def test_batches(task):
    """All batches run: a candidate's failure in the first does not hide a broken task in the second."""
    (task.workspace / "t/test_more.py").write_text("import no_such_dependency\n")
    paths = [PATH, "t/test_more.py"]
    with pytest.raises(InvalidTask, match="no_such_dependency"):
        grade(task, "def clip(:\n", paths=paths, batch_size=1, candidate_modules=["plan"])
    (task.workspace / "t/test_more.py").write_text("def test_more():\n    assert True\n")
    verdict = grade(task, WRONG, paths=paths, batch_size=1)
    assert (verdict.detail["passed"], verdict.detail["total"]) == (2, 3)


@slow
def test_outcomes(task):
    """An unexpected pass passes; skipped tests and expected failures neither pass nor fail."""
    (task.workspace / PATH).write_text(
        "import pytest\n\ndef test_a():\n    pass\n\n"
        "@pytest.mark.xfail\ndef test_b():\n    pass\n\n"
        "@pytest.mark.xfail\ndef test_c():\n    assert False\n\n"
        "@pytest.mark.skip\ndef test_d():\n    pass\n"
    )
    verdict = grade(task)
    assert (verdict.reward, verdict.detail["total"]) == (1.0, 2)
    assert grade(task, must_pass=[f"{PATH}::test_d"]).reward == 0.0


@slow
def test_no_tests(task):
    """A folder without tests scores zero."""
    (task.workspace / "t/none").mkdir()
    verdict = grade(task, paths=["t/none"])
    assert (verdict.reward, verdict.detail["reason"], verdict.detail["exit_code"]) == (0.0, "no_tests", 5)


@slow
def test_timeout(task):
    """A suite that hangs is ended at its deadline and scores zero."""
    verdict = grade(task, "import time\ntime.sleep(60)\n", timeout=3.0)
    assert (verdict.status, verdict.detail["reason"]) == (Status.SCORED, "timeout")


@slow
def test_setup(task):
    """A failing setup scores zero, or abstains if the task says that it is infrastructure."""
    assert grade(task, setup="exit 3").detail["reason"] == "setup_failed"
    with pytest.raises(GradingInfraError, match="exit code 3"):
        grade(task, setup="exit 3", setup_failure_is_infra=True)


CHEATS = {
    "exit early": "import os\nos._exit(0)\n",
    "forged report": "import json, sys\njson.dump({}, open('report.json', 'w'))\n"
    "import atexit, os\natexit.register(os._exit, 0)\n" + WRONG,
    "junk on descriptors": "import os\nfor number in range(3, 64):\n"
    '    try: os.write(number, b\'{"type": "test", "outcome": "passed"}\\n\')\n'
    "    except OSError: pass\n" + WRONG,
}


@slow
@pytest.mark.parametrize("cheat", CHEATS)
def test_cheats_earn_nothing(task, cheat):
    """A candidate that fakes a report or leaves early never scores more than zero."""
    try:
        verdict = grade(task, CHEATS[cheat], restore=[PATH])
    except GradingInfraError:
        return
    assert verdict.reward == 0.0


MAKES_GREEN = (
    "import pytest\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n"
    "    outcome = yield\n    outcome.get_result().outcome = 'passed'\n"
)


@slow
@pytest.mark.parametrize("place", ["conftest.py", "t/conftest.py"])
def test_planted_conftest(task, place):
    """A conftest.py above or beside the trusted tests that turns every failure into a pass is not loaded, and told."""
    (task.workspace / place).write_text(MAKES_GREEN)
    verdict = grade(task, WRONG, restore=[PATH])
    assert (verdict.reward, verdict.detail["conftests_not_loaded"]) == (0.0, [place])
    assert grade(task, RIGHT, restore=[PATH]).reward == 1.0


@slow
def test_listed_conftest(task):
    """A conftest.py among the task's files is loaded, whatever the candidate put in its place."""
    (task.tests_dir / "t/conftest.py").write_text("import pytest\n\n@pytest.fixture\ndef high():\n    return 5\n")
    (task.workspace / "t/conftest.py").write_text(MAKES_GREEN)
    test = "from plan import clip\n\ndef test_high(high):\n    assert clip(9, 0, 5) == high\n"
    (task.tests_dir / PATH).write_text(test)
    assert grade(task, RIGHT, restore=["t"]).reward == 1.0
    assert grade(task, WRONG, restore=["t"]).reward == 0.0


@slow
@pytest.mark.parametrize(
    "plan",
    [
        "import pytest\npytest.exit('x', returncode=0)\n",
        "import pytest\npytest.fail('x')\n",
        "import json\njson.loads('x')\n",
        "exec('raise ValueError')\n",
    ],
)
def test_failure_inside_a_library(task, plan):
    """What a library raises because the candidate called it is the candidate's failure."""
    verdict = grade(task, plan, restore=[PATH])
    assert (verdict.status, verdict.reward, verdict.detail["files"]) == (Status.SCORED, 0.0, ["plan.py"])


@slow
@pytest.mark.parametrize("returncode", ["0", "None"])
def test_session_that_is_ended_early(task, returncode):
    """The tests that passed before the candidate ended the session earn nothing; a task that does so abstains."""
    leave = f"import pytest\ndef clip(value, low, high):\n    pytest.exit('x', returncode={returncode})\n"
    test = "from plan import clip\n\ndef test_nothing():\n    pass\n\ndef test_low():\n    assert clip(-3, 0, 5) == 0\n"
    (task.tests_dir / PATH).write_text(test)
    verdict = grade(task, leave, restore=[PATH])
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (Status.SCORED, 0.0, "ended_early")
    (task.tests_dir / PATH).write_text(leave + "\ndef test_low():\n    clip(0, 0, 0)\n")
    with pytest.raises(GradingInfraError, match="ended early"):
        grade(task, RIGHT, restore=[PATH])


@slow
def test_removed_workspace(task):
    """A candidate that removes its workspace has not made the tests pass, and does not abstain."""
    verdict = grade(task, "import os, shutil\nshutil.rmtree(os.getcwd())\n", restore=[PATH])
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)


@slow
def test_planted_bytecode(task):
    """Compiled code that the candidate put beside a restored helper is not what the tests run."""
    helper = "def expected():\n    return 5\n"
    (task.tests_dir / "helper.py").write_text(helper)
    (task.workspace / "helper.py").write_text("def expected():\n    return 9\n")
    import py_compile

    target = task.workspace / f"__pycache__/helper.{sys.implementation.cache_tag}.pyc"
    py_compile.compile(
        str(task.workspace / "helper.py"),
        str(target),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    test = (
        "from plan import clip\nfrom helper import expected\n\n"
        "def test_high():\n    assert clip(9, 0, 5) == expected()\n"
    )
    (task.tests_dir / PATH).write_text(test)
    assert grade(task, RIGHT, restore=[PATH, "helper.py"]).reward == 1.0
    assert grade(task, WRONG, restore=[PATH, "helper.py"]).reward == 0.0


def test_prefix_matching():
    """A required id cut off inside its parameters stands for the one test that begins with it."""
    outcomes = {"t::a[left-1]": True, "t::a[right-1]": False, "t::b[\\u20ac]": True}
    reported = set(outcomes)

    def passes(*required):
        matched = match_unique_prefixes(outcomes, reported, required)
        return [matched[test_id] for test_id in required]

    assert passes("t::a[left") == [True]
    assert passes("t::a[right") == [False]
    assert passes("t::a[") == [False]
    assert passes("t::a") == [False]
    assert passes("t::b[€]") == [True]
    assert passes("t::a[left", "t::a[left-1]") == [False, False]


@pytest.mark.parametrize(
    "fields",
    [
        {"timeout": 0.0},
        {"timeout": float("nan")},
        {"batch_size": -1},
        {"python": ""},
        {"restore": ["gone.py"]},
        {"restore": ["../app/plan.py"]},
        {"protected_paths_files": ["gone.txt"]},
        {"protected_paths_files": ["outside.txt"]},
        {"args": ["\0"]},
    ],
)
def test_defects_of_the_task(task, fields):
    """A malformed specification is the task's defect, before anything runs."""
    (task.tests_dir / "outside.txt").write_text("../../etc/passwd\n")
    with pytest.raises(InvalidTask):
        grade(task, **fields)
