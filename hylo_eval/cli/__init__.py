"""The command line. One thin module a command; none is imported before it is called."""

from __future__ import annotations


def main() -> None:
    """The console script ``hylo-eval``."""
    try:
        from hylo_eval.cli.group import run
    except KeyboardInterrupt:
        # Pressed before there was anything to stop.
        raise SystemExit(130) from None
    run()
