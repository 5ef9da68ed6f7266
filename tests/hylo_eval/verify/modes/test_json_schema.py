"""Mode json-schema."""

import json
import subprocess
import sys

import pytest

from hylo_eval.verify import bounded_call
from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.modes import json_schema
from hylo_eval.verify.verdict import InvalidTask, Status

POSE = {
    "type": "object",
    "required": ["pose", "grip"],
    "properties": {
        "pose": {"type": "array", "items": {"type": "number"}, "minItems": 3},
        "grip": {"enum": ["open", "closed"]},
    },
}


def graded(document, schema, **parameters: object):
    content = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    return grade_candidate(candidate_spec("json-schema", parameters), document, {"schema.json": content})


@pytest.fixture
def short_deadline(monkeypatch):
    """Two seconds instead of ten, in a child of its own."""
    monkeypatch.setattr(json_schema, "DEADLINE_SECONDS", 2.0)
    yield
    bounded_call.close_bounded_calls()


@pytest.mark.parametrize(
    ("notation", "document"),
    [
        ("json", '{"pose": [0.1, 0, 0.3], "grip": "open"}'),
        ("json", 'as asked:\n```json\n{"pose": [0.1, 0, 0.3], "grip": "open"}\n```\n'),
        ("yaml", "pose: [0.1, 0, 0.3]\ngrip: open\n"),
        ("toml", 'pose = [0.5, 1.5, 2.5]\ngrip = "closed"\n'),
    ],
)
def test_a_valid_document_scores_one(notation, document):
    """Each notation is read as such, alone or in a fence."""
    verdict = graded(document, POSE, format=notation)
    assert (verdict.reward, verdict.detail) == (1.0, {"reason": "valid"})


@pytest.mark.parametrize(
    ("notation", "document", "asks_a_child"),
    [
        ("yaml", "pose: [0.1, 0, 0.3]\ngrip: open\n", False),
        ("yaml", "pose: [0.1, 0, 0.3]\ngrip: open\n" + "#" * 4096, True),
        ("yaml", "pose: &p [0.1, 0, 0.3]\ngrip: open\n", True),
        ("yaml", "pose: [0.1, 0, 0.3]\ngrip: !!str open\n", True),
        ("toml", 'pose = [0.5, 1.5, 2.5]\ngrip = "closed"\n', False),
        ("toml", 'pose = [0.5, 1.5, 2.5]\ngrip = "closed"\n' + "#" * 4096, True),
        ("json", '{"pose": [0.1, 0, 0.3], "grip": "open", "a": %s}' % ("[" * 99 + "]" * 99), False),
        ("json", '{"pose": [0.1, 0, 0.3], "grip": "open", "a": %s}' % ("[" * 100 + "]" * 100), True),
        ("yaml", "pose: [0.1, 0, 0.3]\ngrip: open\na: " + "[" * 99 + "]" * 99, False),
        ("yaml", "pose: [0.1, 0, 0.3]\ngrip: open\na: " + "[" * 100 + "]" * 100, True),
        ("yaml", "pose: [0.1, 0, 0.3]\ngrip: open\na:\n" + "- " * 24 + "1", False),
        ("yaml", "pose: [0.1, 0, 0.3]\ngrip: open\na:\n" + "- " * 25 + "1", True),
        ("yaml", "pose: [0.1, 0, 0.3]\rgrip: open\ra:\r" + "- " * 25 + "1", True),
    ],
)
def test_only_short_plain_documents_are_judged_in_process(monkeypatch, notation, document, asks_a_child):
    """What may grow, or is long enough to keep a parser busy, is left to the child with the deadline."""
    asked = []
    monkeypatch.setattr(json_schema, "call_bounded", lambda *call, **_limits: asked.append(call) or (1.0, {}))
    assert graded(document, POSE, format=notation).reward == 1.0
    assert bool(asked) is asks_a_child


@pytest.mark.parametrize("unit", ["- ", "[", "{a: ", "? ", "[{a: ", "1:", "'", "- ? ", "|\n", "0b_", "a: b\n", "\x00"])
def test_a_short_hostile_document_is_judged_all_the_same(unit):
    """Nesting and repetition up to the bound end neither the grader nor its verdict."""
    verdict = graded((unit * 4096)[:4096], {"type": "object"}, format="yaml")
    assert verdict.status is Status.SCORED


SMALL_STACK = """
import sys, threading
from hylo_eval.verify.candidate import candidate_spec, grade_candidate
documents = [
    ("json", "[" * 9000), ("json", '{"a":' * 9000), ("yaml", "[" * 900), ("yaml", "- " * 1800 + "1"),
    ("yaml", "? " * 1800), ("yaml", "{a: " * 800), ("yaml", chr(10).join(" " * n + "a:" for n in range(80))),
    ("toml", "a = " + "[" * 900), ("json", "1"),
]
schemas = [b'{"type": "number"}', b'{"allOf":[' * 300 + b"{}" + b"]}" * 300, b'{"const":' + b"[" * 9000]
def grade_all():
    for schema in schemas:
        for notation, document in documents:
            spec = candidate_spec("json-schema", {"format": notation})
            verdict = grade_candidate(spec, document, {"schema.json": schema})
            print(verdict.status, verdict.reward)
threading.stack_size(192 << 10)
thread = threading.Thread(target=grade_all)
thread.start()
thread.join()
"""


def test_a_small_stack_is_not_overrun():
    """Neither a document nor a schema that nests without end ends a program that grades in a small thread."""
    graded_all = subprocess.run(
        [sys.executable, "-c", SMALL_STACK], capture_output=True, text=True, timeout=120, check=False
    )
    assert graded_all.returncode == 0, graded_all.stderr
    lines = graded_all.stdout.splitlines()
    assert lines[:9] == ["scored 0.0"] * 8 + ["scored 1.0"]
    assert lines[18:] == ["invalid_task 0.0"] * 9
    assert len(lines) == 27


def test_a_violation_scores_zero_and_says_where():
    """The detail names the first violation by its path."""
    verdict = graded('{"pose": [0.1, 0], "grip": "open"}', POSE)
    assert verdict.reward == 0.0
    assert (verdict.detail["reason"], verdict.detail["errors"], verdict.detail["path"]) == (
        "schema_violation",
        1,
        "pose",
    )


@pytest.mark.parametrize(
    ("document", "notation", "reason"),
    [
        ("{", "json", "parse_error"),
        ("a: [", "yaml", "parse_error"),
        ("", "yaml", "empty_output"),
        ("# nothing", "yaml", "parse_error"),
        ("a: 1\n---\nb: 2", "yaml", "parse_error"),
        ("!!python/object/apply:os.getpid []", "yaml", "parse_error"),
        ("a = ", "toml", "parse_error"),
        ("NaN", "json", "nonfinite_number"),
        ("[1e400]", "json", "nonfinite_number"),
        ("[.inf]", "yaml", "nonfinite_number"),
        ("a = nan", "toml", "nonfinite_number"),
        ("[" * 100_000, "json", "candidate_nesting_limit"),
        ("&a [*a]", "yaml", "candidate_nesting_limit"),
        ("9" * 5000, "json", "parse_error"),
    ],
)
def test_a_document_that_cannot_be_read_scores_zero(document, notation, reason):
    """What is no finite document of the notation is a failed attempt with a reason."""
    verdict = graded(document, {}, format=notation)
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (Status.SCORED, 0.0, reason)


def test_endless_nesting_in_yaml_scores_zero():
    """libyaml refuses it as a parse error, the pure parser runs into the recursion limit."""
    verdict = graded("[" * 5_000, {}, format="yaml")
    assert verdict.reward == 0.0
    assert verdict.detail["reason"] in ("parse_error", "candidate_nesting_limit")


def test_aliases_that_multiply_are_bounded():
    """Nine levels of nine aliases stand for hundreds of millions of values, which are never written out."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    verdict = graded("\n".join(lines), {"type": "object"}, format="yaml")
    assert (verdict.reward, verdict.detail["reason"]) == (0.0, "parse_error")


def test_dates_are_texts():
    """A schema that asks for a string accepts a date of YAML or TOML as its ISO text."""
    schema = {"properties": {"day": {"const": "2020-02-01"}}}
    assert graded("day: 2020-02-01", schema, format="yaml").reward == 1.0
    assert graded("day = 2020-02-01", schema, format="toml").reward == 1.0


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "thing"},
        b"true",
        b"[]",
        b"\xff",
        b"{",
        b'{"minimum": NaN}',
        b'{"items":' * 50_000,
        {"pattern": "("},
        {"$schema": 1},
        {"$schema": ["draft"]},
        {"$schema": {}},
        {"$schema": "http://["},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#"}}},
    ],
)
def test_a_schema_that_is_none_is_the_tasks_fault(schema):
    """Whatever the answer: a schema must be an object, valid, resolvable without a network, and end."""
    for document in ("[1]", ""):
        assert graded(document, schema).status is Status.INVALID_TASK


def test_a_missing_schema_is_reported_before_an_empty_answer():
    """Task defects come first."""
    verdict = grade_candidate(candidate_spec("json-schema", {}), "", {})
    assert verdict.status is Status.INVALID_TASK


@pytest.mark.parametrize("path", ["", "/etc/schema.json", "../schema.json", "a/../../schema.json", "a\0b"])
def test_a_schema_outside_the_tests_directory_is_invalid(path):
    """Its path is relative and stays inside."""
    with pytest.raises(InvalidTask):
        candidate_spec("json-schema", {"schema": path})


def test_recursive_schemas_are_resolved():
    """A tree is described by a schema that refers to itself."""
    tree = {
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
        "additionalProperties": False,
    }
    assert graded('{"left": {"right": {}}}', tree).reward == 1.0
    assert graded('{"left": {"middle": {}}}', tree).reward == 0.0
    draft7 = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"n": {"type": "number"}},
        "$ref": "#/definitions/n",
    }
    assert graded("1", draft7).reward == 1.0


@pytest.mark.usefixtures("short_deadline")
@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ({"type": "string", "pattern": "^(a+)+$"}, json.dumps("a" * 60 + "b")),
        ({"uniqueItems": True}, json.dumps([{"a": index} for index in range(20_000)])),
    ],
)
def test_a_document_that_takes_for_ever_ends_at_the_deadline(schema, document):
    """Backtracking and the comparison of all pairs are cut off, as a failed attempt."""
    verdict = graded(document, schema)
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (
        Status.SCORED,
        0.0,
        "candidate_deadline",
    )


def test_numbers_beyond_a_float_score_zero():
    """An integer of four hundred digits is no multiple that can be tested."""
    verdict = graded("1" + "0" * 400, {"multipleOf": 0.1})
    assert (verdict.reward, verdict.detail["reason"]) == (0.0, "unsupported_value")


def test_a_decoded_value_is_judged_directly():
    """Callers that decoded the document pass it without a detour over text."""
    content = json.dumps(POSE).encode()
    assert json_schema.grade_json_value_candidate(content, {"pose": [1, 2, 3], "grip": "open"}).reward == 1.0
    assert json_schema.grade_json_value_candidate(content, {"pose": [], "grip": "open"}).reward == 0.0
    with pytest.raises(InvalidTask, match="deadline"):
        json_schema.grade_json_value_candidate(b'{"pattern": "a"}', "a")
