"""The command line. One thin module a command; none is imported before it is called."""

from __future__ import annotations


def main() -> None:
    """The console script ``hylo-eval``."""
    import signal

    try:
        # SIGTERM ends like SIGINT, with 130; a run that has begun has its own handler.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        # Whoever started us may ignore it, and then nobody is told how a process of ours ended.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        from hylo_eval.cli.group import run
        from hylo_eval.cli.streams import let_readers_leave

        let_readers_leave()
    except KeyboardInterrupt:
        # Pressed before there was anything to stop.
        raise SystemExit(130) from None
    run()
