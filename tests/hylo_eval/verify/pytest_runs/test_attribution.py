"""A failure is the candidate's only if all of it comes from files that the candidate may edit."""

import pytest

from hylo_eval.verify.modes.grader import GradingContext
from hylo_eval.verify.pytest_runs.attribution import Attribution, missing_test_dependencies, trusted_files
from hylo_eval.verify.pytest_runs.messages import Failure, FailureKind
from hylo_eval.verify.specs.suites import PytestSpec


def failure(kind="error", filename="", missing="", module=""):
    return Failure(
        kind=FailureKind(kind),
        filename=str(filename),
        node_id="n",
        module_file=str(module),
        missing_module=missing,
    )


@pytest.fixture
def workspace(tmp_path):
    """A workspace with an editable module and package, and a trusted test and package."""
    for path in ("plan.py", "arm/__init__.py", "tools/__init__.py", "t/test_plan.py"):
        (tmp_path / "app" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "app" / path).write_text("")
    (tmp_path / "outside.py").write_text("")
    (tmp_path / "app/t/loop.py").symlink_to("loop.py")
    return tmp_path / "app"


@pytest.fixture
def attribution(workspace):
    """The attribution of that workspace, in which ``arm.grip`` was asked for."""
    return Attribution(
        workspace=workspace,
        trusted=frozenset({workspace / "t/test_plan.py", workspace / "tools/__init__.py"}),
        candidate_modules=("arm.grip",),
    )


def test_editable_files(workspace, attribution):
    """Errors in editable files are blamed on them, by absolute and by relative name."""
    failures = [failure(filename=workspace / "plan.py"), failure(filename="arm/__init__.py")]
    assert attribution.candidate_files(failures) == ["arm/__init__.py", "plan.py"]


@pytest.mark.parametrize(
    "other",
    [
        failure(filename="t/test_plan.py"),
        failure(filename="../outside.py"),
        failure(filename="/usr/lib/python3/json.py"),
        failure(filename="gone.py"),
        failure(),
        failure(filename="null\0byte.py"),
        failure("interrupt", filename="t/loop.py"),
        failure(filename="x" * 10_000),
        failure("interrupt", filename="plan.py"),
        failure("dependency", missing="numpyy"),
        failure("dependency", missing="tools.wrench"),
        failure("import", filename="/usr/lib/python3/json.py", missing="json"),
    ],
)
def test_one_foreign_failure_is_enough(attribution, other):
    """A single failure of trusted files, dependencies or nobody keeps the candidate from being blamed."""
    assert attribution.candidate_files([failure(filename="plan.py"), other]) == []


def test_requested_modules(attribution):
    """A requested module, its parent and its children count as the candidate's."""
    for missing in ("arm.grip", "arm", "arm.grip.force"):
        assert attribution.candidate_files([failure("dependency", missing=missing)]) == ["arm/grip"]
    assert attribution.candidate_files([failure("dependency", missing="armature")]) == []


def test_incomplete_package(attribution):
    """A submodule that an editable package lacks is the candidate's omission."""
    assert attribution.candidate_files([failure("dependency", missing="arm.lift")]) == ["arm/__init__.py"]


def test_missing_name(workspace, attribution):
    """A name that an editable module lacks is the candidate's omission, a trusted file's is not."""
    assert attribution.candidate_files([failure("import", filename=workspace / "plan.py", missing="plan")])
    assert not attribution.candidate_files([failure("import", filename="tools/__init__.py", missing="tools")])


def test_missing_attribute(workspace, attribution):
    """An attribute that an editable module lacks is blamed on it, though a trusted test asked."""
    asked = failure(filename="t/test_plan.py", module=workspace / "plan.py")
    assert attribution.candidate_files([asked]) == ["plan.py"]


def test_linked_module(tmp_path, workspace, attribution):
    """A module that the candidate replaced by a link out of the workspace stays the candidate's."""
    (workspace / "linked.py").symlink_to(tmp_path / "outside.py")
    assert attribution.candidate_files([failure(filename=workspace / "linked.py")]) == ["linked.py"]


def test_trusted_files(tmp_path, workspace):
    """Restored files and folders and the manifests' files and folders are trusted."""
    tests_dir = tmp_path / "tests"
    (tests_dir / "t/inner").mkdir(parents=True)
    for name in ("t/test_plan.py", "t/inner/data.json", "single.py"):
        (tests_dir / name).write_text("")
    (tests_dir / "protected.txt").write_text("arm\n\nplan.py\n")
    spec = PytestSpec(restore=["t", "single.py"], protected_paths_files=["protected.txt"])
    trusted = trusted_files(spec, GradingContext(tests_dir=tests_dir, workspace=workspace))
    names = ("t/test_plan.py", "t/inner/data.json", "single.py", "arm/__init__.py", "plan.py")
    assert trusted == {workspace / name for name in names}


def test_missing_test_dependencies(workspace):
    """Only absent modules that the test files themselves import make the task invalid."""
    own = failure("dependency", filename=workspace / "t/test_plan.py", missing="numpyy")
    candidates = failure("dependency", filename="plan.py", missing="numpyy")
    assert missing_test_dependencies([own], ["t/test_plan.py"], workspace) == ["numpyy"]
    assert missing_test_dependencies([own, candidates], ["t/test_plan.py"], workspace) == []
    assert missing_test_dependencies([own, failure()], ["t/test_plan.py"], workspace) == []


def test_conftests_that_would_reach_trusted_files(workspace, attribution):
    """Those beside and above trusted files, up to the workspace, unless they are trusted themselves."""
    places = {workspace / "conftest.py", workspace / "t/conftest.py", workspace / "tools/conftest.py"}
    assert set(attribution.untrusted_conftests()) == places
    listed = Attribution(workspace=workspace, trusted=frozenset({workspace / "t/conftest.py"}), candidate_modules=())
    assert set(listed.untrusted_conftests()) == {workspace / "conftest.py"}
