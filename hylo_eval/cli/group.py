"""The command group: commands by name, loaded when called, and the one place that turns exceptions into exit codes.

Exit codes: 0 done; 1 gate closed; 2 usage, configuration, bad input file or refused evidence; 3 incomplete or
inconclusive; 130 stopped by SIGINT or SIGTERM.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final, NoReturn

import click

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "run": ("hylo_eval.cli.run:run", "Run an agent on a benchmark and write a run folder."),
    "rescore": ("hylo_eval.cli.rescore:rescore", "Score the traces of finished runs again, without a simulator."),
    "compare": ("hylo_eval.cli.compare:compare", "Compare two runs, pair by pair, for people."),
    "gate": ("hylo_eval.cli.gate:gate", "Decide whether a candidate may replace its parent, for CI."),
    "plan": ("hylo_eval.cli.plan:plan", "Say how many pairs an effect needs."),
    "list": ("hylo_eval.cli.list:list_", "List benchmarks, agents, envs, scorers or safety filters."),
    "benchmark": ("hylo_eval.cli.benchmark:benchmark", "Show, validate or freeze a benchmark."),
    "check-env": ("hylo_eval.cli.check_env:check_env", "Check an environment against the contract."),
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


class SuggestingGroup(click.Group):
    """A group that suggests a near name for a command it does not have."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest one."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            from hylo_eval.suggest import did_you_mean

            ctx.fail(f"no such command {args[0]!r}{did_you_mean(args[0], known)}")
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
        from hylo_core.refs import load_ref

        return load_ref(COMMANDS[cmd_name][0])

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
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        code: Any = cli.main(given, prog_name="hylo-eval", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001 - the one place where exceptions become exit codes
        code = exit_code(error, debug=debug)
    sys.stdout.flush()
    sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: BaseException, *, debug: bool) -> int:
    """The exit code of an exception, after saying on standard error what is wrong."""
    from hylo_core.errors import HyloError

    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else EXIT_USAGE
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        _say(str(error) or "interrupted")
        return EXIT_INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has left; nothing more can be said, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, click.ClickException):
        error.show()
        return EXIT_USAGE
    if isinstance(error, HyloError):
        _say(f"error: {error}")
        return EXIT_USAGE
    _say(f"error: {type(error).__name__}: {error}\n  this is a fault in Hylo; --debug shows where")
    return EXIT_USAGE


def _say(text: str) -> None:
    from hylo_eval.cli.terminal import printable

    print(printable(text), file=sys.stderr)  # noqa: T201 - this is the command line
