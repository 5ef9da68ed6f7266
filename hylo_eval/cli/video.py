"""``hylo-eval video``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hylo_eval.cli.counts import Count
from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.tables import print_table
from hylo_eval.cli.terminal import console, printable_line
from hylo_eval.errors import EvalError, cannot_write
from hylo_eval.numerals import counted

if TYPE_CHECKING:
    from hylo_eval.report.run_record import EpisodeRecord, RunRecord
    from hylo_eval.video.reading import VideoFile

    Recorded = tuple[EpisodeRecord, VideoFile]

_TRACE_CHANGED: Final = "trace changed"
"""What stands for the outcome of an episode whose trace is not the one on record."""
_VIDEO_CHANGED: Final = "video changed"
"""What stands for it beside a video that is not the one on record."""


@click.command()
@click.argument("run")
@click.option("--grid", is_flag=True, help="Make a contact sheet (PNG) and a wall (MP4) for each camera.")
@click.option("--camera", default=None, metavar="NAME", help="Only this camera.")
@click.option("--failures", is_flag=True, help="Only episodes without success.")
@click.option("--max-episodes", type=Count(most=100), default=25, show_default=True, help="The first so many.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FOLDER",
    help="Where the sheet and the wall go. Default: the run's folder.",
)
@run_root_option
def video(**options: Any) -> int:
    """List the videos of RUN, or make them one picture and one film.

    Ends with 0 when that is done, with 2 when there is no video or one cannot be read.
    """
    from hylo_eval.report.run_record import read_run
    from hylo_eval.traces.finding import find_run

    if options["output"] is not None and not options["grid"]:
        raise EvalError("--output changes nothing without --grid", fix="leave it out, or say --grid")
    record = read_run(find_run(options["run"], options["run_root"]))
    found = _videos(record, options)
    doubts = _doubts(found)
    if not options["grid"]:
        rows = [
            (item.key, doubts.get(file.path) or _outcome(item), file.camera, str(file.path)) for item, file in found
        ]
        print_table(console(), ("episode", "outcome", "camera", "file"), rows)
        return 0
    found = [(item, file) for item, file in found if file.path not in doubts]
    if not found:
        raise EvalError(
            f"none of these videos is shown: of {record.run_id} neither trace nor video is the one that was recorded",
            fix="hylo-eval rescore says what was changed; restore the run folder from where it was copied",
        )
    for camera in sorted({file.camera for _, file in found}):
        _write(record, camera, [pair for pair in found if pair[1].camera == camera], options["output"])
    return 0


def _videos(record: RunRecord, options: dict[str, Any]) -> Sequence[Recorded]:
    from hylo_eval.video.reading import find_videos

    recorded = find_videos(record.folder)
    episodes = [item for item in record.episodes if item.episode_id in recorded]
    if options["failures"]:
        episodes = [item for item in episodes if _outcome(item) != "success"]
    found = [
        (item, file)
        for item in episodes[: options["max_episodes"]]
        for file in recorded[item.episode_id]
        if options["camera"] in (None, file.camera)
    ]
    if found:
        return found
    cameras = sorted({file.camera for files in recorded.values() for file in files})
    if options["camera"] is not None and cameras and options["camera"] not in cameras:
        raise EvalError(
            f"no video shows a camera {options['camera']!r}; the cameras are {', '.join(cameras)}",
            fix=f"--camera {cameras[0]}",
        )
    what = "video of an episode without success" if options["failures"] and recorded else "video"
    raise EvalError(f"the run {record.run_id} has no {what}", fix="record some: hylo-eval run … --video all")


def _doubts(found: Sequence[Recorded]) -> Mapping[Path, str]:
    """What stands in place of an outcome beside videos that nothing vouches for; why is said on standard error."""
    from hylo_eval.report.recorded import read_believed
    from hylo_eval.video.films import FilmCheck, films_on_record

    doubts: dict[Path, str] = {}
    check, err = FilmCheck(), console(stderr=True)
    for key, pairs in groupby(found, lambda pair: pair[0].key):
        recorded = [*pairs]
        trace, why = read_believed(recorded[0][0])
        if trace is None:
            err.print(printable_line(f"{key}: nothing vouches for its videos: {why}"))
            doubts |= {file.path: _TRACE_CHANGED for _, file in recorded}
            continue
        for _, file in recorded:
            if why := check.doubt(file.path, films_on_record(trace)):
                err.print(printable_line(f"{key}: not the video that was recorded: {why}"))
                doubts[file.path] = _VIDEO_CHANGED
    return doubts


def _outcome(episode: EpisodeRecord) -> str:
    score = episode.scores.get("success")
    return episode.status if score is None else "success" if score else "failure"


def _write(record: RunRecord, camera: str, found: Sequence[Recorded], output: Path | None) -> None:
    from hylo_eval.report.wall import Tile, write_contact_sheet, write_wall

    folder = record.folder.path if output is None else output
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(f"the folder {folder}", error) from error
    tiles = [Tile(label=item.key, outcome=_outcome(item), path=file.path) for item, file in found]
    sheet, wall = folder / f"contact-sheet.{camera}.png", folder / f"wall.{camera}.mp4"
    write_contact_sheet(tiles, sheet)
    write_wall(tiles, wall)
    out = console()
    out.print(f"{counted(len(tiles), 'episode')}, camera {camera}")
    out.print(f"contact sheet: {printable_line(str(sheet))}")
    out.print(f"wall: {printable_line(str(wall))}")
