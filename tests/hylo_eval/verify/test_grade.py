"""Grading a task from its files."""

import ast
import os
from importlib import import_module
from pathlib import PurePosixPath

import pytest

from hylo_eval.verify.grade import grade, grade_file, load_spec, read_answer
from hylo_eval.verify.specs.answer import JsonSchemaSpec
from hylo_eval.verify.specs.short_answer import ExactSpec, McqSpec
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Reward, Status, scored

grade_module = import_module("hylo_eval.verify.grade")  # the package's attribute is the function


@pytest.fixture
def task(tmp_path):
    """A tests directory and a workspace."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "app").mkdir()
    return tmp_path


def graded(task, spec, answer=None):
    if answer is not None:
        (task / "app" / "answer.txt").write_text(answer)
    return grade(spec, tests_dir=task / "tests", workspace=task / "app")


def test_a_right_and_a_wrong_answer_are_told_apart(task):
    """The answer file of the contract's default path is read from the workspace."""
    assert graded(task, McqSpec(expected="C"), "Answer: C").reward == 1.0
    assert graded(task, McqSpec(expected="C"), "Answer: B").reward == 0.0


def test_folders_may_be_given_as_texts(task):
    """A path as a string is the same path."""
    (task / "app" / "answer.txt").write_text("C")
    assert grade(McqSpec(expected="C"), str(task / "tests"), str(task / "app")).reward == 1.0


def test_output_paths_are_taken_as_the_contract_says(task, monkeypatch):
    """Below /app from the workspace, absolute ones as they are, relative ones from the current folder."""
    (task / "app" / "out").mkdir()
    (task / "app" / "out" / "final.txt").write_text("C")
    (task / "elsewhere.txt").write_text("C")
    monkeypatch.chdir(task)
    for output in ("/app/out/final.txt", "/app/out/../out/./final.txt", str(task / "elsewhere.txt"), "elsewhere.txt"):
        assert graded(task, McqSpec(expected="C", output=output)).reward == 1.0


@pytest.mark.parametrize(
    ("output", "fixed"),
    [
        ("../x.txt", "/app/x.txt"),
        ("out/../../x.txt", "/app/x.txt"),
        ("./a/x.txt", "/app/a/x.txt"),
        ("..", "/app/answer.txt"),
        ("d/" * 100 + "x.txt", "/app/answer.txt"),
    ],
)
def test_the_fix_of_an_output_outside_the_workspace_names_one_that_is_read(task, monkeypatch, output, fixed):
    """As shown, it is a file of the workspace: with the answer there, the task is graded."""
    monkeypatch.chdir(task / "tests")
    shown = graded(task, McqSpec(expected="C", output=output)).detail["advice"].partition("fix: output = ")[2]
    path = ast.literal_eval(shown.partition(" for ")[0])
    assert path == fixed
    answer = task / "app" / PurePosixPath(path).relative_to("/app")
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text("C")
    assert graded(task, McqSpec(expected="C", output=path)).reward == 1.0


def test_a_missing_relative_output_scores_zero_and_says_where_it_was_looked_for(task, monkeypatch):
    """A missing file is a zero wherever it was to be; outside the workspace the path is most likely a slip."""
    spec = McqSpec(expected="C", output="answer.txt")
    (task / "app" / "answer.txt").write_text("C")
    monkeypatch.chdir(task)
    verdict = graded(task, spec)
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (Status.SCORED, 0.0, "no_output")
    assert "fix: output = '/app/answer.txt'" in verdict.detail["advice"]
    monkeypatch.chdir(task / "app")
    assert graded(task, spec).reward == 1.0
    (task / "app" / "answer.txt").unlink()
    assert graded(task, spec).detail == {"reason": "no_output"}


@pytest.mark.parametrize("policy", ["zero", "grade"])
def test_a_missing_answer_scores_zero_under_either_policy(task, policy):
    """What is not there is never an answer: no file, a folder, a fifo, a dangling link."""
    spec = ExactSpec(expected="", empty_output=policy)
    answer = task / "app" / "answer.txt"
    assert graded(task, spec).detail == {"reason": "no_output"}
    answer.mkdir()
    assert graded(task, spec).detail == {"reason": "no_output"}
    answer.rmdir()
    os.mkfifo(answer)
    assert graded(task, spec).detail == {"reason": "no_output"}
    answer.unlink()
    answer.symlink_to(task / "gone")
    assert graded(task, spec).detail == {"reason": "no_output"}


def test_a_blank_answer_scores_zero_unless_it_is_to_be_graded(task):
    """empty_output decides about a file that is there."""
    assert graded(task, ExactSpec(expected=""), " \n").detail == {"reason": "no_output"}
    assert graded(task, ExactSpec(expected="", empty_output="grade"), "").reward == 1.0


def test_an_answer_is_not_read_through_a_link(task):
    """A link to the reference, as the file or as a folder on its way, earns nothing."""
    (task / "tests" / "key.txt").write_text("secret")
    (task / "app" / "answer.txt").symlink_to(task / "tests" / "key.txt")
    (task / "app" / "out").symlink_to(task / "tests")
    assert graded(task, ExactSpec(expected="secret")).reward == 0.0
    assert graded(task, ExactSpec(expected="secret", output="/app/out/key.txt")).reward == 0.0


def test_an_oversized_answer_scores_zero(task, monkeypatch):
    """The cap is checked before the content is looked at."""
    monkeypatch.setattr(grade_module, "MAX_ANSWER_BYTES", 10)
    assert graded(task, ExactSpec(expected="x" * 10), "x" * 10).reward == 1.0
    verdict = graded(task, ExactSpec(expected="x" * 11), "x" * 11)
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (
        Status.SCORED,
        0.0,
        "output_too_large",
    )


def test_bytes_that_are_no_text_are_replaced(task):
    """An answer is decoded whatever it holds, and its lines end alike."""
    (task / "app" / "answer.txt").write_bytes(b"caf\xff\r\nx\ry")
    assert read_answer("/app/answer.txt", task / "app") == "caf\ufffd\nx\ny"


@pytest.mark.parametrize("output", ["", "/app/../secret", "a\0b"])
def test_an_output_that_is_no_path_of_the_workspace_is_the_tasks_fault(task, output):
    """The specification, not the candidate, names the file."""
    assert graded(task, ExactSpec(expected="a", output=output)).status is Status.INVALID_TASK


def test_task_defects_are_reported_before_the_answer_is_looked_at(task):
    """A missing schema and an impossible key are no zero of whoever did not answer."""
    assert graded(task, JsonSchemaSpec()).status is Status.INVALID_TASK
    assert graded(task, McqSpec(expected="Z")).status is Status.INVALID_TASK


def test_a_resource_is_not_read_from_outside_the_tests_directory(task):
    """Neither through its path nor through a link."""
    (task / "schema.json").write_text("{}")
    (task / "tests" / "link.json").symlink_to(task / "schema.json")
    for path in ("../schema.json", str(task / "schema.json"), "link.json"):
        assert graded(task, JsonSchemaSpec(schema=path), "1").status is Status.INVALID_TASK


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"mode = ",
        b"mode = 'teleport'",
        b"\xff",
        b"mode = 'exact'\nexpected = " + b"[" * 100_000,
        b"mode = 'mcq'",
    ],
)
def test_a_file_that_is_no_specification_is_an_invalid_task(task, content):
    """Whatever is wrong with it, there is a verdict."""
    path = task / "tests" / "verifier.toml"
    path.write_bytes(content)
    assert grade_file(path, task / "app").status is Status.INVALID_TASK
    with pytest.raises(InvalidTask, match=r"verifier\.toml"):
        load_spec(path)


def test_a_missing_specification_is_an_invalid_task(task):
    """So is a folder in its place."""
    assert grade_file(task / "gone.toml", task / "app").status is Status.INVALID_TASK
    assert grade_file(task / "tests", task / "app").status is Status.INVALID_TASK


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (GradingInfraError("the judge is down", attempts=2), "the judge is down"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
)
def test_a_failing_grader_is_an_infrastructure_error(task, monkeypatch, raised, text):
    """The library lets the exception out, the file grader turns it into a verdict."""
    (task / "tests" / "verifier.toml").write_text("mode = 'mcq'\nexpected = 'C'")

    def fail(*_arguments: object):
        raise raised

    monkeypatch.setattr(grade_module, "_grade", fail)
    with pytest.raises(type(raised)):
        grade(McqSpec(expected="C"), tests_dir=task / "tests", workspace=task / "app")
    verdict = grade_file(task / "tests" / "verifier.toml", task / "app")
    assert (verdict.status, verdict.reward, verdict.detail["error"]) == (Status.INFRA_ERROR, 0.0, text)


def test_a_grader_that_returns_no_verdict_is_an_infrastructure_error(task, monkeypatch):
    """A number is not a verdict, and neither is a reward of seven."""
    (task / "tests" / "verifier.toml").write_text("mode = 'mcq'\nexpected = 'C'")
    for returned in (1.0, Reward(7.0)):
        monkeypatch.setattr(grade_module, "_grade", lambda *_arguments, value=returned: value)
        assert grade_file(task / "tests" / "verifier.toml", task / "app").status is Status.INFRA_ERROR
    monkeypatch.setattr(grade_module, "_grade", lambda *_arguments: scored(1.0))
    assert grade_file(task / "tests" / "verifier.toml", task / "app").reward == 1.0


def test_a_mark_of_the_encoding_is_no_part_of_an_answer(task):
    """Editors that write UTF-8 with a byte order mark at the beginning change no verdict; inside, it is text."""
    path = task / "app" / "answer.txt"
    path.write_bytes(b"\xef\xbb\xbfC\r\n")
    assert read_answer("/app/answer.txt", task / "app") == "C\n"
    path.write_bytes(b"C\xef\xbb\xbf")
    assert read_answer("/app/answer.txt", task / "app") == "C\ufeff"
    path.write_bytes(b"\xef\xbb\xbf")
    assert graded(task, McqSpec(expected="C")).detail["reason"] == "no_output"


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ('mode = "mcq"\nexpected = "C"', "C"),
        ('mode = "exact"\nexpected = "wet"', "wet"),
        ('mode = "structured_exact"\nexpected = "[1]"', "[1]"),
        ('mode = "json-schema"', "[1]"),
        ('mode = "json-schema"\nformat = "toml"', "a = 1"),
        ('mode = "json-schema"\nformat = "yaml"', "a: 1"),
        ('mode = "csv-columns"\nrequired = ["id"]', "id,x\n1,2\n"),
        (
            'mode = "predicted_action"\nexpected_calls = [{name = "a", arguments = "{}"}]',
            '[{"name": "a", "arguments": {}}]',
        ),
    ],
)
def test_answers_of_an_editor_that_marks_the_encoding(task, spec, answer):
    """The right answer is right with the mark as without."""
    (task / "tests" / "schema.json").write_text("{}")
    (task / "tests" / "verifier.toml").write_text(spec)
    (task / "app" / "answer.txt").write_bytes(b"\xef\xbb\xbf" + answer.encode())
    assert grade_file(task / "tests" / "verifier.toml", task / "app").reward == 1.0
