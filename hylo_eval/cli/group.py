"""The command group: commands by name, loaded when called, and the one place that turns exceptions into exit codes.

Exit codes: 0 done; 1 gate closed; 2 usage, configuration, bad input file or refused evidence; 3 incomplete or
inconclusive; 130 stopped by SIGINT or SIGTERM.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import os
import shlex
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from io import StringIO
from typing import Any, Final, NoReturn

import click

from hylo_eval.cli.required import listing_of
from hylo_eval.numerals import is_plain_number

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "run": ("hylo_eval.cli.run:run", "Run an agent on a benchmark and write a run folder."),
    "status": ("hylo_eval.cli.status:status", "Say how far a run is, who works on it, and what was lost."),
    "merge": ("hylo_eval.cli.merge:merge", "Join the runs of parts of a benchmark into one."),
    "rescore": ("hylo_eval.cli.rescore:rescore", "Score the traces of finished runs again, without a simulator."),
    "index": ("hylo_eval.cli.index:index", "Bring the index of the runs up to date (SQLite)."),
    "ls": ("hylo_eval.cli.ls:ls", "List the runs of a run root."),
    "show": ("hylo_eval.cli.show:show", "Show a run or an episode."),
    "export": ("hylo_eval.cli.export:export", "Write a run's log in a form that other tools read."),
    "import": ("hylo_eval.cli.import_:import_", "Make a run of another tool's log."),
    "compare": ("hylo_eval.cli.compare:compare", "Compare two runs, pair by pair, for people."),
    "diff": ("hylo_eval.cli.diff:diff", "Say where one episode parts between two runs."),
    "gate": ("hylo_eval.cli.gate:gate", "Decide whether a candidate may replace its parent, for CI."),
    "race": ("hylo_eval.cli.race:race", "Run two agents in turn until it is clear which is better."),
    "select": ("hylo_eval.cli.select:select", "Choose among several runs on a validation split."),
    "leaderboard": (
        "hylo_eval.cli.leaderboard:leaderboard",
        "Rank several runs, with groups that cannot be told apart.",
    ),
    "trend": ("hylo_eval.cli.trend:trend", "Show success over the versions of an agent."),
    "grade": ("hylo_eval.cli.grade:grade", "Judge the episodes of a finished run: a rubric, a person, a model."),
    "plan": ("hylo_eval.cli.plan:plan", "Say how many pairs an effect needs."),
    "report": ("hylo_eval.cli.report:report", "Write one self-contained page about runs."),
    "view": ("hylo_eval.cli.view:view", "Show a run in a browser on this machine, also while it goes on."),
    "video": ("hylo_eval.cli.video:video", "List the videos of a run, or make a contact sheet and a wall of them."),
    "list": ("hylo_eval.cli.list:list_", "List benchmarks, agents, envs, scorers or safety filters."),
    "benchmark": ("hylo_eval.cli.benchmark:benchmark", "Show, validate, freeze, sample or import a benchmark."),
    "check-env": ("hylo_eval.cli.check_env:check_env", "Check an environment against the contract."),
    "env": ("hylo_eval.cli.env:env", "Say which interpreter the environments of a family run in."),
    "doctor": (
        "hylo_eval.cli.doctor:doctor",
        "Say what is installed here, what works, and how to fix what does not.",
    ),
    "verify": ("hylo_eval.cli.verify:verify", "Grade the task of a verifier.toml."),
    "verify-candidate": ("hylo_eval.cli.verify:verify_candidate", "Grade an answer that was extracted already."),
}
"""Name, reference and one line of every command."""

EXIT_CLOSED: Final = 1
EXIT_USAGE: Final = 2
EXIT_INCOMPLETE: Final = 3
EXIT_INTERRUPTED: Final = 130

THREAD_SECONDS: Final = 10.0
"""How long threads that something left behind may go on after a command is done."""

_SYSTEM_LIMITS: Final = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
"""Open files, processes, memory."""

_OUTPUT_ERRORS: Final = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EBADF)


def with_plain_numbers(command: click.Command) -> click.Command:
    """Have the numeric options of a command refuse what Python takes for numbers and nobody means.

    That is other scripts' digits, and underscores between them.
    """
    for parameter in command.params:
        kind: Any = parameter.type
        is_number = isinstance(kind, (click.types.IntParamType, click.types.FloatParamType))
        if is_number and "convert" not in vars(kind):
            # A copy: one type stands for the options of many commands, also of other programs in this process.
            parameter.type = kind = copy.copy(kind)
            vars(kind)["convert"] = partial(_plain_number, kind.convert, kind)
    return command


def _plain_number(
    convert: Callable[..., Any],
    kind: Any,
    value: Any,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> Any:
    if isinstance(value, str) and not is_plain_number(value):
        kind.fail(f"{value!r} is no number in the digits 0 to 9.", param, ctx)
    return convert(value, param, ctx)


class SuggestingGroup(click.Group):
    """A group that suggests a near name for a command it does not have."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command, whose numbers are written in plain digits."""
        command = super().get_command(ctx, cmd_name)
        return None if command is None else with_plain_numbers(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest one."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            from hylo_eval.suggest import did_you_mean, quoted

            ctx.fail(f"no such command {quoted(args[0])}{did_you_mean(args[0], known)}")
        return super().resolve_command(ctx, args)


class LazyGroup(SuggestingGroup):
    """A group that knows its commands' names and summaries without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        # Not by load_ref: it suggests near names for what somebody wrote, and that costs every command its import.
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return with_plain_numbers(getattr(import_module(module), name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands from the literals."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="hylo-eval", prog_name="hylo-eval")
@click.option("--debug", is_flag=True, help="Show the traceback of an error (also after the command).")
def cli(*, debug: bool) -> None:
    """Evaluate robot policies: episodes in, evidence out.

    Exit codes: 0 done, 1 gate closed, 2 usage or refused input, 3 incomplete or inconclusive, 130 interrupted.
    """


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    given = sys.argv[1:] if arguments is None else arguments
    typed = tuple(given)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    _claim_closed_streams()
    try:
        # What was typed is kept: a command may have to be run again elsewhere.
        code: Any = cli.main(given, prog_name="hylo-eval", standalone_mode=False, obj=typed)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the one place where exceptions become exit codes
        code = exit_code(error, debug=debug, typed=typed)
    _end_with_threads(code := code if isinstance(code, int) else 0)
    sys.exit(code)


def _claim_closed_streams() -> None:
    """Open closed standard descriptors, before a trace gets one of their numbers and what simulators print with it."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # The lowest free number is the closed one: they are claimed in order.
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115, PTH123


def _end_with_threads(code: int) -> None:
    """End the process in a while even if an agent or simulator left threads running, for which Python would wait."""
    if all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate()):
        return

    def end() -> None:
        left = [thread.name for thread in threading.enumerate() if not thread.daemon]
        _say(f"warning: ended although threads are still running: {', '.join(left)}")
        os._exit(code)

    # Idle pools end by themselves when Python tells them to.
    timer = threading.Timer(THREAD_SECONDS, end)
    timer.daemon = True
    timer.start()


def exit_code(error: BaseException, *, debug: bool, typed: Sequence[str] = ()) -> int:
    """The exit code of an exception, after saying on standard error what is wrong.

    Args:
        error: What ended the command.
        debug: Whether to show its traceback.
        typed: The arguments of the command line, for a fix that is the same command with more of them.
    """
    from hylo_core.errors import HyloError

    if isinstance(error, SystemExit):
        # Ours is raised after this. An agent or simulator that exits with 0 has not made the command succeed.
        _say(f"error: something that was loaded ended the process: sys.exit({error.code!r})")
        return EXIT_USAGE
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        _say(str(error) or "interrupted")
        return EXIT_INTERRUPTED
    if isinstance(error, OSError) and error.errno in _OUTPUT_ERRORS and error.filename is None:
        # The disk that our output goes to is full: not even at exit can more be said there.
        # The result was not delivered, so this is never 0, which is an open gate.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _say(f"error: cannot write to standard output: {error.strerror}")
        return EXIT_INCOMPLETE
    if debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, click.ClickException):
        shown = StringIO()
        error.show(file=shown)
        lists = listing_of(error)
        _say(shown.getvalue().rstrip("\n") + (f"\n  fix: name one that {lists} shows" if lists else ""))
        return EXIT_USAGE
    return _refused(error, typed) if isinstance(error, HyloError) else _unforeseen(error)


def _refused(error: BaseException, typed: Sequence[str]) -> int:
    from hylo_eval.compare.words import short_digests
    from hylo_eval.errors import EnvUnready, EvalError

    # The errors of hylo_core have no member for a fix and say it in their sentence.
    text = short_digests(str(error)).replace(". fix: ", "\n  fix: ")
    if isinstance(error, EvalError) and (command := _typed_again(typed, error.again)):
        text += f"\n       {command}"
    _say(f"error: {text}")
    return EXIT_INCOMPLETE if isinstance(error, EnvUnready) else EXIT_USAGE


def _typed_again(typed: Sequence[str], more: Sequence[str]) -> str:
    """The command that was typed with more arguments; empty where it does not take them."""
    words = [word for word in typed if word != "--debug"]
    if not more or not words or words[0] not in COMMANDS:
        return ""
    command = cli.get_command(click.Context(cli), words[0])
    known = {name for parameter in command.params for name in parameter.opts} if command else set[str]()
    if not {flag for flag in more if flag.startswith("--")} <= known:
        return ""
    return shlex.join(["hylo-eval", *words, *more])


def _unforeseen(error: BaseException) -> int:
    from hylo_core.errors import describe_error

    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        # Wherever such a path is first looked at: only what was typed or is on file can be so long.
        _say(f"error: {error.strerror}: {error.filename!s:.200}\n  fix: a shorter one")
    elif isinstance(error, OSError) and error.errno in _SYSTEM_LIMITS:
        _say(
            f"error: a limit of this system is reached: {error.strerror}\n"
            "  fix: raise it (ulimit -a shows the limits), or ask for less at a time, as with fewer --workers"
        )
    else:
        _say(f"error: {describe_error(error)}\n  this is a fault in Hylo; --debug shows where")
    return EXIT_USAGE


def _say(text: str) -> None:
    from hylo_eval.cli.terminal import console, printable

    text = printable(text)
    # Where there is no room for a word, the exit code still says it.
    with contextlib.suppress(OSError):
        # A program that reads it need not wait for what only a terminal needs.
        if sys.stderr.isatty():
            console(stderr=True).print(text)
        else:
            print(text, file=sys.stderr)  # noqa: T201 - this is the command line
