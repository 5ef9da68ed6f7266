"""The group: help of every command, near names, exit codes."""

import errno
import os

import click
import pytest

from hylo_core.errors import ContractError
from hylo_eval.cli.group import COMMANDS, cli, exit_code
from hylo_eval.errors import EvalError

LEAVES = [(name,) for name in COMMANDS if name != "benchmark"] + [
    ("benchmark", name) for name in ("show", "validate", "freeze")
]


@pytest.mark.parametrize("path", [(), ("benchmark",), *LEAVES], ids=" ".join)
def test_every_command_has_help(path, hylo):
    """Usage, a sentence, and a text for each option; exit code 0."""
    outcome = hylo(*path, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: {' '.join(['hylo-eval', *path])}")
    command = cli
    for name in path:
        command = command.get_command(None, name)
    assert command.help
    assert all(option.help for option in command.params if isinstance(option, click.Option))


def test_the_help_names_every_command(hylo):
    """With its line from the table."""
    out = " ".join(hylo("--help").out.split())
    assert all(f"{name} {summary}" in out for name, (_, summary) in COMMANDS.items())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("rum",), "run"),
        (("docter",), "doctor"),
        (("chek-env",), "check-env"),
        (("benchmark", "freez"), "freeze"),
        (("benchmark", "show", "reach_fixd"), "reach_fixed"),
        (("check-env", "reach_fixd"), "reach_fixed"),
        (("benchmark", "freeze", "fetch_reech"), "fetch_reach"),
        (("list", "--jsn"), "--json"),
        (("doctor", "--run-rot", "x"), "--run-root"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_mistyped_name_is_suggested(typed, meant, hylo):
    """Commands, subcommands, benchmarks and options: exit code 2, on standard error, without a traceback."""
    outcome = hylo(*typed)
    assert (outcome.code, outcome.out) == (2, "")
    assert meant in outcome.err
    assert "mean" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("run", "reach_fixed", "--agent", "zero", "--episodes", "\uff11\uff12"), "is no number in the digits 0 to 9"),
        (("run", "reach_fixed", "--agent", "zero", "--workers", "1_0"), "is no number in the digits 0 to 9"),
        (("run", "reach_fixed", "--agent", "zero", "--shard", "\u0661/\u0662"), "--shard takes I/N"),
        (
            ("run", "reach_fixed", "--agent", "reach-scripted", "--agent-arg", "speed=\u0660.1"),
            "must be a finite number",
        ),
        (("plan", "--effect", "\u0660.1"), "is no number in the digits 0 to 9"),
    ],
    ids=["integer", "underscore", "shard", "agent", "float"],
)
def test_numbers_are_written_in_plain_digits(typed, says, hylo):
    """Python reads the digits of every script, and underscores between them; a person who typed them slipped."""
    outcome = hylo(*typed)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in " ".join(outcome.err.split())
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("what", ["nothing", "benchmark", "agent"])
def test_an_unknown_listing_names_the_ones_there_are(what, hylo):
    """There are six."""
    outcome = hylo("list", what)
    assert outcome.code == 2
    assert "'benchmarks', 'agents', 'envs', 'scorers', 'safety', 'graders'" in outcome.err


def test_no_command_shows_the_help(hylo):
    """A stranger types the bare name first."""
    outcome = hylo()
    assert "Commands:" in outcome.out + outcome.err


def test_errors_of_ours_are_one_message_and_debug_adds_the_traceback(capfd):
    """``error:``, the sentence, the fix; control characters of untrusted text are spelled out."""
    error = EvalError("a \x1b[31mred name", fix="do this")
    assert exit_code(error, debug=False) == 2
    assert capfd.readouterr().err == "error: a \\x1b[31mred name\n  fix: do this\n"
    exit_code(error, debug=True)
    assert "EvalError" in capfd.readouterr().err


def test_a_fix_in_the_sentence_of_a_contract_stands_on_its_own_line(capfd):
    """The contracts' errors have no member for it."""
    error = ContractError("is required. fix: --margin .05", path="margin")
    assert exit_code(error, debug=False) == 2
    assert capfd.readouterr().err == "error: margin: is required\n  fix: --margin .05\n"


@pytest.mark.parametrize(
    ("typed", "again", "command"),
    [
        (("gate", "a b", "c", "--mode", "improve"), ("--allow", "tasks"), "gate 'a b' c --mode improve --allow tasks"),
        (("--debug", "compare", "a", "c"), ("--intersect",), "compare a c --intersect"),
        (("leaderboard", "a", "c"), ("--intersect",), ""),
        (("benchmark", "show"), ("--allow", "tasks"), ""),
        (("nothing",), ("--allow", "tasks"), ""),
        (("gate", "a", "c"), (), ""),
    ],
)
def test_what_would_pass_is_the_command_that_was_typed_with_more(typed, again, command, capfd):
    """Where the command takes it: it can be pasted as it stands."""
    exit_code(EvalError("no", fix="do", again=again), debug=False, typed=typed)
    lines = capfd.readouterr().err.splitlines()
    assert lines == ["error: no", "  fix: do", *([f"       hylo-eval {command}"] if command else [])]


def test_digests_are_cut_on_screen(capfd):
    """Twelve digits tell two apart; whatever else has so many digits stays."""
    exit_code(EvalError(f"sha256:{'a1' * 32} is not {'0' * 64}, {'b' * 65}"), debug=False)
    assert capfd.readouterr().err == f"error: sha256:{'a1' * 6}… is not {'0' * 12}…, {'b' * 65}\n"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EAGAIN, errno.ENOMEM])
def test_a_limit_of_the_system_is_no_fault_of_ours(number: int, capfd):
    """Too many open files or processes, no memory: what was asked for is too much for this machine."""
    assert exit_code(OSError(number, os.strerror(number)), debug=False) == 2
    said = capfd.readouterr().err
    assert f"a limit of this system is reached: {os.strerror(number)}" in said
    assert "fault in Hylo" not in said
