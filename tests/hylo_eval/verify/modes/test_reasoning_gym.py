"""Mode reasoning-gym."""

import gc
import json
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.bounded_call import close_bounded_calls
from hylo_eval.verify.grade import grade
from hylo_eval.verify.modes import reasoning_gym as mode
from hylo_eval.verify.modes.grader import ResourceTable
from hylo_eval.verify.modes.reasoning_gym import GRADER, grade_reasoning_gym_candidate, markdown_answer
from hylo_eval.verify.specs.answer import ReasoningGymSpec
from hylo_eval.verify.specs.base import EmptyOutput
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Status

if find_spec("reasoning_gym") is None:
    pytest.skip("needs the reasoning-gym extra", allow_module_level=True)

TIMES = "\N{MULTIPLICATION SIGN}"
SPEC = ReasoningGymSpec(dataset="basic_arithmetic")
ENTRY = {"question": "12 + 30?", "answer": "42", "metadata": {"source_dataset": "basic_arithmetic"}}


@pytest.fixture(scope="module", autouse=True)
def imported_library():
    """Import the library once: it leaves a folder listing open, whose warning is not ours to fail on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("reasoning_gym")
        gc.collect()


def entry_of(dataset, answer, **metadata: object):
    return {"answer": answer, "metadata": {"source_dataset": dataset, **metadata}}


def resources(entry, **files: bytes):
    contents = {"entry.json": entry if isinstance(entry, bytes) else json.dumps(entry).encode()}
    return ResourceTable(contents | files)


def file_grade(spec, entry, text, **files: bytes):
    table = resources(entry, **files)
    GRADER.check_spec(spec)
    GRADER.check_task(spec, table)
    return GRADER.grade_output(spec, text, table)


@pytest.mark.parametrize(("text", "reward"), [("42", 1.0), ("work\n## Answer\n**42**\n", 1.0), ("41", 0.0)])
def test_the_data_sets_own_scorer_decides(text, reward):
    """The right answer scores 1.0, bare or under a heading, and a wrong one what the scorer gives it."""
    verdict = file_grade(SPEC, ENTRY, text)
    assert (verdict.status, verdict.reward) == (Status.SCORED, reward)
    assert verdict == grade_reasoning_gym_candidate(SPEC, ENTRY, text)


def test_the_entrys_own_answer_is_scored_once(monkeypatch):
    """The check scores it, so the same answer needs no process after that; another answer does."""
    entry = ENTRY | {"question": "Twelve and thirty?"}
    GRADER.check_task(SPEC, resources(entry))
    monkeypatch.setattr(mode, "call_bounded", lambda *_, **__: pytest.fail("a process was asked"))
    assert GRADER.grade_output(SPEC, "# Answer\n42", resources(entry)).reward == 1.0
    with pytest.raises(pytest.fail.Exception, match="asked"):
        GRADER.grade_output(SPEC, "41", resources(entry))


def test_an_answer_that_the_data_set_rates_low_keeps_that_score():
    """The entry's own answer is no 1.0 by being the entry's: what the scorer gives it is what it earns."""
    spec = ReasoningGymSpec(dataset="countdown")
    entry = entry_of("countdown", "9 + 8", numbers=[9, 8], target=18)
    verdict = file_grade(spec, entry, "9 + 8")
    assert 0.0 < verdict.reward < 1.0
    assert verdict == grade_reasoning_gym_candidate(spec, entry, "9 + 8")


def test_partial_credit_is_kept():
    """An answer of the right form that is wrong earns the little that the scorer gives."""
    spec = ReasoningGymSpec(dataset="prime_factorization")
    entry = entry_of("prime_factorization", f"2 {TIMES} 3", number=6, factors=[2, 3])
    assert file_grade(spec, entry, f"2 {TIMES} 3").reward == 1.0
    assert 0.0 < file_grade(spec, entry, f"2 {TIMES} 5").reward < 1.0


def test_an_answer_that_breaks_the_scorer_is_a_zero():
    """The scorer has scored its own answer, so its exception is the candidate's doing."""
    spec = ReasoningGymSpec(dataset="prime_factorization")
    entry = entry_of("prime_factorization", f"2 {TIMES} 3", number=6, factors=[2, 3])
    verdict = file_grade(spec, entry, "hello")
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)
    assert verdict.detail["reason"] == "scorer_error"


def test_code_in_an_answer_is_not_run(tmp_path):
    """The library evaluates such answers; the grading process takes literals only."""
    spec = ReasoningGymSpec(dataset="spiral_matrix")
    entry = entry_of("spiral_matrix", "1 2")
    planted = tmp_path / "planted"
    for code in (
        f"[str(n) for n in (1, 2) if not open({str(planted)!r}, 'w').close()]",
        f"__import__('pathlib').Path({str(planted)!r}).touch() or ['1', '2']",
    ):
        assert file_grade(spec, entry, code).reward == 0.0
    assert not planted.exists()
    assert file_grade(spec, entry, "['1', '2']").reward == 0.1


def test_an_answer_past_the_deadline_is_a_zero(monkeypatch):
    """A tower of powers ends at the deadline, and the next answer is graded as usual."""
    monkeypatch.setattr(mode, "SCORING_SECONDS", 1.0)
    spec = ReasoningGymSpec(dataset="countdown")
    entry = entry_of("countdown", "9 + 9", numbers=[9, 9, 9, 9], target=18)
    verdict = file_grade(spec, entry, "9**9**9**9")
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)
    assert verdict.detail["reason"] in {"scorer_deadline", "scorer_memory", "scorer_crash", "scorer_error"}
    assert file_grade(SPEC, ENTRY, "42").reward == 1.0


@pytest.mark.parametrize(
    ("entry", "because"),
    [
        (b"{", "JSON"),
        (b"\xff", "JSON"),
        (b'{"answer": "1", "answer": "2"}', "JSON"),
        ([], "object"),
        ({"answer": "42"}, "metadata"),
        (entry_of("chain_sum", "42"), "chain_sum"),
        ({"metadata": {"source_dataset": "basic_arithmetic"}}, "answer"),
        (entry_of("basic_arithmetic", 42), "answer"),
    ],
)
def test_a_broken_entry_is_the_tasks_defect(entry, because):
    """The entry must be one of the data set's, whatever was answered."""
    with pytest.raises(InvalidTask, match=because):
        GRADER.check_task(SPEC, resources(entry))


def test_an_entry_that_cannot_be_scored_is_the_tasks_defect():
    """A data set that cannot score its own answer could score none."""
    spec = ReasoningGymSpec(dataset="prime_factorization")
    with pytest.raises(InvalidTask, match="own answer"):
        GRADER.check_task(spec, resources(entry_of("prime_factorization", "two times three")))


@pytest.mark.parametrize("dataset", ["chain_sum", "spell_backward", "gsm_symbolic", "number_sorting"])
def test_an_entry_whose_answer_is_missing_is_the_tasks_defect(dataset):
    """Null is for data sets that judge an answer by itself; where it is compared, every answer would be wrong."""
    with pytest.raises(InvalidTask, match="null"):
        GRADER.check_task(ReasoningGymSpec(dataset=dataset), resources(entry_of(dataset, None)))


def test_a_data_set_that_needs_no_answer_scores_without_one():
    """Its scorer reads the candidate's answer and the metadata alone; an answer it cannot read is a zero."""
    spec = ReasoningGymSpec(dataset="graph_color")
    puzzle = {"vertices": [0, 1], "edges": [[0, 1]], "color_options": [1, 2], "num_vertices": 2}
    entry = entry_of("graph_color", None, possible_answer={"0": 1, "1": 2}, puzzle=puzzle)
    assert file_grade(spec, entry, '{"0": 1, "1": 2}').reward == 1.0
    assert file_grade(spec, entry, '{"0": 1, "1": 1}').reward < 1.0


@pytest.mark.parametrize("dataset", ["no_such_data_set", "composite", "__class__"])
def test_an_unusable_data_set_is_the_tasks_defect(dataset):
    """Unknown names, and data sets that need a configuration they did not get."""
    spec = ReasoningGymSpec(dataset=dataset)
    with pytest.raises(InvalidTask, match=dataset):
        GRADER.check_task(spec, resources(entry_of(dataset, "42")))


@pytest.mark.parametrize("params", [b"[]", b"{", b'{"no_such": 1}', b'{"min_terms": -1}'])
def test_refused_params_are_the_tasks_defect(params):
    """The params file must be a JSON object that the data set's configuration accepts."""
    spec = ReasoningGymSpec(dataset="basic_arithmetic", params="params.json")
    with pytest.raises(InvalidTask):
        GRADER.check_task(spec, resources(ENTRY, **{"params.json": params}))


def test_params_configure_the_scorer():
    """Accepted params are used, and the direct API demands them exactly when the specification does."""
    spec = ReasoningGymSpec(dataset="basic_arithmetic", params="params.json")
    verdict = file_grade(spec, ENTRY, "42", **{"params.json": b'{"min_terms": 2, "max_terms": 3}'})
    assert verdict.reward == 1.0
    assert grade_reasoning_gym_candidate(spec, ENTRY, "42", params={"min_terms": 2}).reward == 1.0
    with pytest.raises(InvalidTask, match="params"):
        grade_reasoning_gym_candidate(spec, ENTRY, "42")
    with pytest.raises(InvalidTask, match="params"):
        grade_reasoning_gym_candidate(SPEC, ENTRY, "42", params={})


def test_no_answer_is_a_zero():
    """A missing answer scores zero, and a blank one unless the specification has it graded."""
    assert grade_reasoning_gym_candidate(SPEC, ENTRY, None).reward == 0.0
    assert grade_reasoning_gym_candidate(SPEC, ENTRY, " ").detail["reason"] == "no_output"
    graded = ReasoningGymSpec(dataset="basic_arithmetic", empty_output=EmptyOutput.GRADE)
    assert "reason" not in grade_reasoning_gym_candidate(graded, ENTRY, " ").detail


def test_grids_are_compared_as_the_library_made_them():
    """JSON turned the grid's tuples into lists; the right grid still scores 1.0."""
    spec = ReasoningGymSpec(dataset="arc_1d")
    entry = entry_of("arc_1d", "1 2", output=[1, 2])
    assert file_grade(spec, entry, "1 2").reward == 1.0


def test_the_file_grader_reads_entry_and_answer(tmp_path):
    """From files: scored with both there, invalid_task without the entry, a zero without the answer."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "app").mkdir()
    spec = ReasoningGymSpec(dataset="basic_arithmetic")

    def verdict():
        return grade(spec, tests_dir=tmp_path / "tests", workspace=tmp_path / "app")

    assert verdict().status is Status.INVALID_TASK
    (tmp_path / "tests" / "entry.json").write_text(json.dumps(ENTRY))
    assert (verdict().status, verdict().reward) == (Status.SCORED, 0.0)
    (tmp_path / "app" / "answer.txt").write_text("42")
    assert verdict().reward == 1.0


def test_a_missing_library_is_an_infrastructure_failure(tmp_path, monkeypatch):
    """Without the extra there is no verdict, and the text names the command that installs it."""
    (tmp_path / "reasoning_gym.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(str(tmp_path))
    close_bounded_calls()
    with pytest.raises(GradingInfraError, match=r"pip install 'hylo-eval\[reasoning-gym\]'"):
        GRADER.check_task(SPEC, resources(ENTRY | {"question": "What are 12 and 30?"}))  # not checked before
    close_bounded_calls()
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(GradingInfraError, match=r"hylo-eval\[reasoning-gym\]"):
        grade_reasoning_gym_candidate(ReasoningGymSpec(dataset="chain_sum"), entry_of("chain_sum", "1"), "1")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" 42 \n", "42"),
        ("# Answer\n42", "42"),
        ("###### answer \n\n_42_\n# Notes\n7", "42"),
        ("# Answer\n1\n# Answer\n`2`\n---\n3", "2"),
        ("# Answer\n** 42 **", "42"),
        ("# Answer\n***42***", "*42*"),
        ("# Answer\n**", "**"),
        ("# Answers\n42", "# Answers\n42"),
        ("x # Answer\n42", "x # Answer\n42"),
        ("# Answer\n```\n42\n```", "# Answer\n```\n42\n```"),
        ("# Answer\n", "# Answer"),
        ("# Answer\n1\n#2", "1\n#2"),
    ],
)
def test_the_last_answer_section_is_the_answer(text, answer):
    """Headings of any level count, sections end at the next one, and one layer of emphasis goes."""
    assert markdown_answer(text) == answer


@given(st.text(alphabet="#Aanswer \n-`*1"))
def test_the_answer_is_part_of_the_text(text):
    """Extraction never invents anything."""
    assert markdown_answer(text) in text


def test_a_megabyte_of_headings_is_one_pass():
    """Many headings, and long runs of blanks in one, end."""
    assert markdown_answer("# Answer\n" * 100_000 + "42") == "42"
    assert markdown_answer("#" + " " * 1_000_000 + "x").startswith("#")
