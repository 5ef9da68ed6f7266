"""The page about writing a verifier.toml says what is so: its tables are those of the code, its examples run."""

import json
import re
import shlex
import tomllib
from enum import StrEnum
from importlib import import_module
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

from hylo_eval.cli.group import cli
from hylo_eval.verify import grade, parse_spec
from hylo_eval.verify.modes import Mode, grader_of, spec_type
from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.specs.base import AnswerSpec
from hylo_eval.verify.specs.execution import ExecutionSpec

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "verifier_modes.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sh\n(.*?)```.*?```json\n(.*?)```", PAGE, re.DOTALL)
SPECIFICATIONS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
RIGHT_ANSWERS = [
    '{"target": null, "grasped": true}',
    '[{"name": "release", "arguments": {}}, {"name": "move_to", "arguments": {"x": 0.501, "y": -0.25}}]',
    "The cup stands on the plate.",
]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def table(*header):
    """The rows of the one table with these column names, each a tuple of its cells' texts."""
    head = "| " + " | ".join(header) + " |\n"
    assert PAGE.count(head) == 1, header
    block = PAGE.partition(head)[2].partition("\n\n")[0]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in block.splitlines()[1:]]
    assert all(len(row) == len(header) for row in rows), header
    return rows


MODES = {
    row[0].strip("`"): row[1:] for row in table("mode", "reads", "required", "optional", "extra", "what it judges")
}
COMMON = {"answer": AnswerSpec, "workspace": ExecutionSpec}


def as_toml(default):
    """A default as a TOML value decodes; None for a field that is left out unless it is wanted."""
    return list(default) if isinstance(default, tuple) else default


def stated_defaults(cell):
    """The optional fields of a cell with their defaults: ``name = value``, or ``name`` (none)."""
    stated = {}
    for code, none in re.findall(r"`([^`]+)`( \(none\))?", cell):
        if none:
            stated[code] = None
        else:
            stated.update(tomllib.loads(code))
    return stated


def defaults_of(kind):
    """The optional fields of a specification with their defaults."""
    return {field.name: as_toml(field.default) for field in attrs.fields(kind) if field.default is not attrs.NOTHING}


def choices_of(kind):
    """The fields of a specification whose annotation names an enumeration, with that enumeration."""
    for field in attrs.fields(kind):
        found = {getattr(import_module(base.__module__), str(field.type), None) for base in kind.__mro__}
        for enumeration in found - {None}:
            if isinstance(enumeration, type) and issubclass(enumeration, StrEnum):
                yield field.name, enumeration


def test_the_table_has_every_mode_once():
    """The table of the code and that of the page name the same modes."""
    rows = table("mode", "reads", "required", "optional", "extra", "what it judges")
    assert sorted(row[0].strip("`") for row in rows) == sorted(Mode)


@pytest.mark.parametrize("mode", Mode)
def test_a_row_has_the_fields_of_its_mode(mode):
    """Required and optional fields with their defaults, and none besides."""
    reads, required, optional, extra, judges = MODES[mode]
    kind = spec_type(mode)
    assert issubclass(kind, COMMON[reads])
    assert isinstance(grader_of(mode), AnswerGrader) == (reads == "answer")
    assert re.findall(r"`([^`]+)`", required) == [
        field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING
    ]
    assert {**defaults_of(COMMON[reads]), **stated_defaults(optional)} == defaults_of(kind)
    assert not extra or extra.strip("`") in EXTRAS
    assert judges


def test_the_common_fields_are_stated_with_their_defaults():
    """Once, before the table."""
    for reads, kind in COMMON.items():
        paragraph = re.search(rf"A mode that reads [a-z ]*\*\*{reads}\*\*.*?(?=\nA mode|\n\n)", PAGE, re.DOTALL)
        assert paragraph is not None
        stated = stated_defaults(" ".join(re.findall(r"`\w+ = [^`]+`", paragraph[0])))
        assert stated == defaults_of(kind)


def test_the_values_of_every_choice_are_listed():
    """Each field of an enumeration, with its values in their order; of two modes where they differ."""
    listed = {
        tuple(re.findall(r"`([^`]+)`", field)): re.findall(r"`([^`]+)`", values)
        for field, values in table("field", "values")
    }
    met = set()
    for mode in Mode:
        for name, kind in choices_of(spec_type(mode)):
            key = (name,) if (name,) in listed else (name, str(mode))
            assert listed[key] == [*kind], key
            met.add(key)
    assert met == listed.keys()


def test_there_are_two_examples():
    """One for a letter, one for a number; the pattern that finds them finds them all."""
    assert len(EXAMPLES) == 2
    assert PAGE.count("```sh") == PAGE.count("```json") == 2


@pytest.mark.parametrize(("lines", "verdict"), EXAMPLES)
def test_an_example_gives_the_verdict_that_is_shown(lines, verdict, tmp_path, monkeypatch):
    """The files are written as the shell would, the command is run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    document = re.compile(r"cat > (\S+) <<'END'\n(.*?)END\n", re.DOTALL)
    for name, content in document.findall(lines):
        Path(name).write_text(content, encoding="utf-8")
    program, *arguments = shlex.split(document.sub("", lines))
    assert program == "hylo-eval"
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert Path("logs", "verdict.json").read_text(encoding="utf-8").strip() == verdict.strip()
    assert json.loads(verdict)["reward"] == 1.0


@pytest.mark.parametrize("row", table("mode", "answer file", "taken", "detail"), ids=lambda row: row[1])
def test_what_is_taken_from_an_answer_file(row, tmp_path):
    """The rows about the answer line, under a specification that makes the taken answer right."""
    mode, text, taken, reason = (cell.strip("`") for cell in row)
    expected = {"mcq": "C", "numeric": taken if not reason else "1"}[mode]
    tolerances = "tolerance_abs = 0\ntolerance_rel = 0\n" if mode == "numeric" else ""
    (tmp_path / "answer.txt").write_text(text, encoding="utf-8")
    verdict = grade(parse_spec(f'mode = "{mode}"\nexpected = "{expected}"\n{tolerances}'), tmp_path, tmp_path)
    assert verdict.status == "scored"
    if reason:
        assert (verdict.reward, verdict.detail["reason"]) == (0.0, reason)
        assert taken.startswith("nothing")
    else:
        assert (verdict.reward, verdict.detail["extracted"]) == (1.0, taken)


def test_where_an_answer_file_is_looked_for(tmp_path, monkeypatch):
    """By default and below ``/app`` in the workspace, a relative path in the current folder."""
    workspace, here = tmp_path / "workspace", tmp_path / "here"
    for folder in (workspace, here):
        folder.mkdir()
    (workspace / "answer.txt").write_text("C", encoding="utf-8")
    (here / "mine.txt").write_text("C", encoding="utf-8")
    monkeypatch.chdir(here)

    def outcome(*output):
        fields = [f"output = '{path}'" for path in output]
        verdict = grade(parse_spec("\n".join(['mode = "mcq"', 'expected = "C"', *fields])), tmp_path, workspace)
        return str(verdict.status), verdict.reward, verdict.detail.get("reason")

    right = ("scored", 1.0, None)
    assert outcome() == outcome("/app/answer.txt") == right
    assert outcome("mine.txt") == outcome(here / "mine.txt") == right
    assert outcome("/app/other.txt") == outcome(here / "other.txt") == ("scored", 0.0, "no_output")
    assert outcome("answer.txt") == ("scored", 0.0, "no_output")
    (workspace / "inner").mkdir()
    assert outcome("/app/inner/../answer.txt") == right
    assert outcome("/app/../here/mine.txt")[0] == outcome("/app/inner/../../here/mine.txt")[0] == "invalid_task"


@pytest.mark.parametrize(("blank", "reward", "reason"), [("zero", 0.0, "no_output"), ("grade", 1.0, None)])
def test_what_a_blank_answer_means(blank, reward, reason, tmp_path):
    """A constraint that forbids something holds for a blank text, if it is asked."""
    (tmp_path / "answer.txt").write_text(" \n", encoding="utf-8")
    spec = parse_spec(f'mode = "ifeval"\nempty_output = "{blank}"\nconstraints = [{{name = "punctuation:no_comma"}}]\n')
    verdict = grade(spec, tmp_path, tmp_path)
    assert (verdict.reward, verdict.detail.get("reason")) == (reward, reason)


@pytest.mark.parametrize(
    ("text", "answer"),
    [*zip(SPECIFICATIONS, RIGHT_ANSWERS, strict=True)],
)
def test_a_specification_with_tables_is_met_by_a_right_answer(text, answer, tmp_path):
    """Embedded JSON, function calls and constraints are written as the page shows."""
    (tmp_path / "answer.txt").write_text(answer, encoding="utf-8")
    verdict = grade(parse_spec(text), tmp_path, tmp_path)
    assert (verdict.status, verdict.reward) == ("scored", 1.0)
