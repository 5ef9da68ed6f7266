"""``hylo-eval export``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.terminal import console, printable_line
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from hylo_eval.exchange.source import ExportSource

FORMS = ("evallog-v0.1", "inspect-robots", "csv", "parquet", "junit", "lerobot")


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="In which form.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="A file, or the folder of a dataset."
)
@click.option(
    "--scoring", default=None, metavar="NAME", help="A later scoring, scores/NAME.json.  [default: the run's]"
)
@click.option("--fps", type=float, default=None, metavar="HZ", help="Of a lerobot dataset, where no rate is declared.")
@run_root_option
def export(**options: Any) -> int:
    """Write the log of RUN (a folder, or an id under the run root) in a form that other tools read.

    Nothing is written over.
    """
    from hylo_eval.exchange.source import load_source, write_new
    from hylo_eval.numerals import counted
    from hylo_eval.traces.finding import find_run

    form, output = options["form"], options["output"]
    if options["fps"] is not None and (form != "lerobot" or options["fps"] <= 0):
        raise EvalError("--fps is the positive rate of a lerobot dataset", fix="leave it out")
    source = load_source(find_run(options["run"], options["run_root"]), options["scoring"])
    if form == "lerobot":
        _export_lerobot(source, output, options["fps"])
        return 0
    write_new(output, _encode(source, form, output))
    console().print(f"{printable_line(str(output))}: {counted(len(source.log.samples), 'episode')}")
    return 0


def _encode(source: ExportSource, form: str, output: Path) -> bytes:
    if form == "evallog-v0.1":
        from hylo_eval.evallog import v01

        return v01.encode_evallog(v01.flatten(source.log))
    if form == "inspect-robots":
        from hylo_eval.exchange.inspect_robots import encode_inspect_robots
        from hylo_eval.exchange.inspect_robots_frames import write_frames
        from hylo_eval.exchange.outline import outline

        if output.exists():
            raise EvalError(f"{output} exists already; nothing is written over", fix="choose another -o")
        shown = write_frames(source, output.parent / "frames" / output.stem)
        return encode_inspect_robots(
            source.log,
            lambda sample: outline(source.trace(sample)),
            transcripts=shown,
            frames_dir=f"frames/{output.stem}" if shown else None,
        )
    if form == "junit":
        from hylo_eval.exchange.junit import encode_junit

        return encode_junit(source.log)
    from hylo_eval.exchange.tables import encode_csv, encode_parquet

    return encode_csv(source.log) if form == "csv" else encode_parquet(source.log)


def _export_lerobot(source: ExportSource, output: Path, fps: float | None) -> None:
    from hylo_eval.exchange.lerobot import export_lerobot
    from hylo_eval.numerals import counted

    done = export_lerobot(source, output, fps=fps)
    out = console()
    out.print(f"{printable_line(str(output))}: {counted(done.episodes, 'episode')}, {counted(done.frames, 'frame')}")
    if done.without_video:
        out.print(f"numbers only, no pictures: {done.without_video}")
    else:
        out.print(f"videos: {printable_line(', '.join(done.cameras))}")
    for reason, count in Counter(done.left_out.values()).items():
        out.print(f"left out: {counted(count, 'episode')}: {printable_line(reason)}")
