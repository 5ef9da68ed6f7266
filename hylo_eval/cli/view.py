"""``hylo-eval view``."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import click

from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.terminal import console, printable_line


@click.command()
@click.argument("run")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes one that is free.")
@run_root_option
def view(**options: Any) -> int:
    """Show RUN in a browser on this machine, also while it goes on; Ctrl-C or SIGTERM ends it."""
    from hylo_eval.report.server import make_server
    from hylo_eval.traces.finding import find_run

    warnings = console(stderr=True)
    server = make_server(
        find_run(options["run"], options["run_root"]),
        options["port"],
        say=lambda sentence: warnings.print(f"warning: {printable_line(sentence)}"),
    )
    out = console()
    out.print(f"http://{server.server_address[0]}:{server.server_address[1]}/")
    out.print("Ctrl-C or SIGTERM ends it; nobody but this machine can open it.")
    out.file.flush()
    try:
        with _ended_by_signals():
            server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt as interrupt:
        out.print(f"ended by {interrupt or 'SIGINT'}")
    finally:
        server.server_close()
    return 0


@contextlib.contextmanager
def _ended_by_signals() -> Generator[None, None, None]:
    """Raise KeyboardInterrupt at SIGINT and SIGTERM; what a script starts with ``&`` ignores SIGINT unless told."""
    import signal

    def end(number: int, _: object) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
