"""A benchmark from the usual JSONL layout of question sets, so that a user's own set runs without code.

The layout is that of :mod:`hylo_eval.verify.response.jsonl`. Pictures stay where they are: the benchmark names each by
its path relative to the benchmark file and by its SHA-256, so the pictures are part of the benchmark's digest.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from hylo_core.benchmark import Benchmark
from hylo_core.errors import ContractError
from hylo_core.frozen import thaw
from hylo_eval.errors import EvalError, cannot_read
from hylo_eval.response_benchmarks.tasks import VERSION, response_task

if TYPE_CHECKING:
    from hylo_core.task import TaskSpec
    from hylo_eval.envs.response.files import PictureFile
    from hylo_eval.verify.response.jsonl import ResponseRecord
    from hylo_eval.verify.response.truth import ResponseTruth

MAX_FILE_BYTES = 256 * 1024 * 1024
"""A JSONL file larger than this is refused unread."""


@attrs.frozen(kw_only=True)
class ImportOptions:
    """How imported questions are scored.

    Attributes:
        annotation_tau: Least annotation reward that counts as success, in [0, 1].
        coordinate_unit: The unit in which the prompts ask for coordinates; truths are in pixels always.
        coordinate_order: Which axis the prompts ask for first.
        split: The name of the one split.
    """

    annotation_tau: float = 0.5
    coordinate_unit: Literal["pixel", "unit", "per_mille", "percent"] = "pixel"
    coordinate_order: Literal["xy", "yx"] = "xy"
    split: str = "heldout"


def import_responses(
    source: Path, destination: Path, *, benchmark_id: str = "", options: ImportOptions | None = None
) -> Benchmark:
    """The benchmark of a JSONL file; nothing is written.

    Args:
        source: The JSONL file; paths of pictures in it are relative to its folder.
        destination: Where the benchmark file is going to be. Pictures lie in its folder or below, so that folder
            and benchmark can be moved together.
        benchmark_id: The benchmark's id; the stem of the destination unless given.
        options: How the questions are scored.

    Raises:
        EvalError: A file cannot be read, or a picture lies outside the destination's folder.
        ContractError: A line is no record; the error names file, line and field.
    """
    from hylo_eval.verify.response.jsonl import parse_response_records

    chosen = options or ImportOptions()
    name = benchmark_id or destination.stem
    records = parse_response_records(_lines(source), source=str(source))
    pictures = _Pictures(source.parent, destination.parent)
    tasks: list[TaskSpec] = []
    for record in records:
        try:
            tasks.append(_task(record, name, pictures, chosen))
        except ContractError as error:
            raise error.under(f"record {record.id!r}", source=str(source)) from None
        except EvalError as error:
            raise EvalError(f"{source}: record {record.id!r}: {error.message}", fix=error.fix) from error
    return Benchmark(
        id=name,
        version=VERSION,
        tasks=tuple(tasks),
        splits={chosen.split: (0,)},
        metadata={"env": "response", "description": f"{len(tasks)} questions imported from {source.name}."},
    )


def _lines(source: Path) -> Sequence[str]:
    try:
        # Not splitlines(): JSON text may hold U+2028, which ends no line of JSONL.
        return [line.removesuffix("\r") for line in _content(source).decode("utf-8-sig").split("\n")]
    except OSError as error:
        raise cannot_read(str(source), error) from error
    except UnicodeDecodeError as error:
        raise EvalError(
            f"{source}: is not UTF-8 text ({error.reason} at byte {error.start})", fix="save it as UTF-8"
        ) from error


def _content(source: Path) -> bytes:
    """The bytes of a regular file: a device has no end, and a pipe may wait for ever for its beginning."""
    with open(source, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise EvalError(f"{source} is no regular file", fix="save the questions to a file, and name that")
        # Also of a file that grows, or whose size the system does not tell, no more is read.
        content = b"" if status.st_size > MAX_FILE_BYTES else file.read(MAX_FILE_BYTES + 1)
    if max(status.st_size, len(content)) > MAX_FILE_BYTES:
        raise EvalError(f"{source} is larger than {MAX_FILE_BYTES} bytes", fix="import it in parts")
    return content


class _Pictures:
    """Looks each picture up once, however many questions show it."""

    def __init__(self, source_folder: Path, folder: Path) -> None:
        self._source_folder = source_folder
        self._folder = folder
        self._known: dict[str, PictureFile] = {}

    def describe(self, path: str) -> PictureFile:
        """What the benchmark records of a picture, its path as the benchmark writes it."""
        from hylo_eval.envs.response.files import describe_picture

        if path not in self._known:
            # By name, not by resolved link: a link that leads out of the folder is refused when it is read.
            found = Path(os.path.normpath((self._source_folder / path).absolute()))
            folder = Path(os.path.normpath(self._folder.absolute()))
            if not found.is_relative_to(folder):
                raise EvalError(
                    f"the picture {path!r} does not lie in the folder of the benchmark file or below ({self._folder})",
                    fix="write the benchmark file beside the pictures, with -o",
                )
            self._known[path] = describe_picture(folder, found.relative_to(folder).as_posix())
        return self._known[path]


def _task(record: ResponseRecord, name: str, pictures: _Pictures, options: ImportOptions) -> TaskSpec:
    described = [pictures.describe(path) for path in record.images]
    truth = _truth(record, described, options)
    annotation_type = "answer_only" if record.annotation_gt is None else str(record.annotation_gt["type"])
    return response_task(
        task_id=f"{name}/{record.id}",
        prompt=record.prompt,
        truth=truth,
        shown={"images": [picture.to_dict() for picture in described]},
        tags=(str(record.answer_gt["type"]), annotation_type),
    )


def _truth(record: ResponseRecord, pictures: Sequence[PictureFile], options: ImportOptions) -> ResponseTruth:
    from hylo_eval.verify.response.truth import ResponseTruth
    from hylo_eval.verify.response.truth_values import written_by_digits

    scored = record.annotation_gt is not None
    stated = record.image_size
    sizes = {(picture.width, picture.height) for picture in pictures}
    if stated is not None and stated not in sizes:
        found = " and ".join(f"{width} x {height}" for width, height in sorted(sizes))
        raise ContractError(
            f"says {stated[0]:g} x {stated[1]:g}, but {'the picture has' if len(pictures) == 1 else 'pictures have'} "
            f"{found} pixels; coordinates of another size would be scored wrongly",
            path="image_size",
        )
    size: tuple[float, ...] | None = stated if stated is not None else (next(iter(sizes)) if len(sizes) == 1 else None)
    members: dict[str, Any] = {
        "answer": _jsonable(written_by_digits(record.answer_gt)),
        "contract": _jsonable(record.reward_contract),
        "mode": "answer_and_annotation" if scored else "answer",
        "answer_weight": 0.5,
        "annotation_weight": 0.5,
        "image_size": size,
        "coordinate_unit": options.coordinate_unit,
        "coordinate_order": options.coordinate_order,
    }
    if scored:
        members |= {"annotation": _jsonable(record.annotation_gt), "annotation_tau": options.annotation_tau}
    return ResponseTruth(**members)


def _jsonable(value: Any) -> Any:
    """A value as TOML can hold it.

    Raises:
        ContractError: It holds null, which TOML does not have.
    """
    plain = thaw(value)
    if _holds_null(plain):
        raise ContractError("holds null, which a benchmark file cannot write", path="answer")
    return plain


def _holds_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_null(item) for item in value.values())  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return any(_holds_null(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return value is None
