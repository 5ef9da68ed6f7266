"""``hylo-eval view``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hylo_eval.cli.terminal import console


@click.command()
@click.argument("run")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes one that is free.")
@click.option(
    "--run-root",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where runs are looked for by id.",
)
def view(**options: Any) -> int:
    """Show RUN in a browser on this machine, also while it goes on; Ctrl-C ends it."""
    from hylo_eval.report.server import make_server
    from hylo_eval.traces.finding import find_run

    server = make_server(find_run(options["run"], options["run_root"]), options["port"])
    out = console()
    out.print(f"http://{server.server_address[0]}:{server.server_address[1]}/")
    out.print("Ctrl-C ends it; nobody but this machine can open it.")
    out.file.flush()
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        out.print("ended")
    finally:
        server.server_close()
    return 0
