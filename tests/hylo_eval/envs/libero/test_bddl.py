"""Reading goals out of BDDL files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_core.expression import canonical_expression
from hylo_eval.envs.libero.bddl import MAX_BYTES, MAX_DEPTH, parse_problem, read_problem
from hylo_eval.errors import EnvError

PROBLEM = """
(define (problem LIBERO_Kitchen_Tabletop_Manipulation)
  (:domain robosuite)  ; a comment with ( brackets
  (:language put the bowl in the drawer)
  (:regions
    (bottom_region
        (:target white_cabinet_1)
        (:ranges ((-0.01 0.29 0.01 0.31)))
    )
  )
  (:init (Open white_cabinet_1_bottom_region))
  (:goal
    (And (Close white_cabinet_1_bottom_region) (In akita_black_bowl_1 white_cabinet_1_bottom_region))
  )
)
"""
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,12}", fullmatch=True)


def test_goal_is_canonical_and_in_lower_case():
    """LIBERO folds a file to lower case, so the goal of ``(And (Close X))`` is ``(and (close x))``."""
    problem = parse_problem(PROBLEM)
    assert problem.goal == (
        "(and (close white_cabinet_1_bottom_region) (in akita_black_bowl_1 white_cabinet_1_bottom_region))"
    )
    assert problem.name == "libero_kitchen_tabletop_manipulation"


def test_language_is_kept_as_written():
    """The file's own instruction is frozen beside ours, letter case included."""
    assert parse_problem(PROBLEM.replace("put the bowl", "Put the Bowl")).language == "Put the Bowl in the drawer"


@given(st.lists(st.tuples(NAMES, st.lists(NAMES, min_size=1, max_size=2)), min_size=1, max_size=4))
def test_every_conjunction_of_relations_is_read_back(relations):
    """Whatever relations a goal joins, the canonical text is the file's text with single spaces, lower case."""
    reserved = {"and", "or", "not"}
    relations = [(f"r{name}" if name.lower() in reserved else name, arguments) for name, arguments in relations]
    members = " ".join(f"({name} {' '.join(arguments)})" for name, arguments in relations)
    text = f"(define (problem P)(:language l)(:goal\n (And   {members}\n)))"
    assert parse_problem(text).goal == canonical_expression(f"(and {members})".lower())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must be one bracketed"),
        ("(define (problem p)", "lacks a closing bracket"),
        ("(define))", "never opened"),
        ("(domain (problem p))", "must begin with (define"),
        ("(define (problem p)(:goal (on a b)))", ":language: is missing"),
        ("(define (problem p)(:language l))", ":goal: must hold one"),
        ("(define (problem p)(:language l)(:goal (on a b) (on c d)))", ":goal: must hold one"),
        ("(define (problem p)(:language l)(:goal (and)))", ":goal: has an empty 'and'"),
        ("(define (problem p q)(:language l)(:goal (on a b)))", "problem: must be one word"),
        ("(define (problem p)(:language (l))(:goal (on a b)))", ":language: must hold words"),
        ("(define (problem p)(:language l)(:goal (on a __import__('os'))))", ":goal"),
        ("(" * (MAX_DEPTH + 2), f"deeper than {MAX_DEPTH}"),
    ],
)
def test_what_is_no_problem_is_refused_with_its_place(text, reason):
    """Each defect names where it is; nothing in the file is ever evaluated."""
    with pytest.raises(ContractError) as caught:
        parse_problem(text)
    assert reason in str(caught.value)


def test_files_are_bounded_and_named_in_errors(tmp_path):
    """A missing, oversized or binary file ends with a sentence that names it."""
    large, binary = tmp_path / "large.bddl", tmp_path / "binary.bddl"
    large.write_bytes(b"(" * (MAX_BYTES + 1))
    binary.write_bytes(b"\xff\xfe")
    for path, reason in ((large, "larger than"), (binary, "UTF-8"), (tmp_path / "none.bddl", "No such file")):
        with pytest.raises(EnvError) as caught:
            read_problem(path)
        assert reason in str(caught.value)
        assert path.name in str(caught.value)
