"""What is exported, and where to: nothing is written over."""

from __future__ import annotations

from pathlib import Path

import attrs

from hylo_eval.errors import EvalError, cannot_write
from hylo_eval.evallog.belonging import refuse_foreign
from hylo_eval.evallog.files import read_evallog
from hylo_eval.evallog.v02 import EvalLog, Sample
from hylo_eval.evaluation.rescore_plan import trace_path
from hylo_eval.traces.files import write_once
from hylo_eval.traces.finding import how_to_finish
from hylo_eval.traces.layout import RunFolder


@attrs.frozen(kw_only=True)
class ExportSource:
    """A scoring of a run.

    Attributes:
        run: The run folder.
        path: The log.
        log: What it says.
    """

    run: RunFolder
    path: Path
    log: EvalLog

    def trace(self, sample: Sample) -> Path:
        """Where a sample's trace is.

        Raises:
            EvalError: The log leads out of its run folder.
        """
        return trace_path(self.run, sample)


def load_source(run: RunFolder, scoring: str | None = None) -> ExportSource:
    """Read the log of a run, or one of its later scorings.

    Raises:
        EvalError: There is none, it cannot be read, or it is of another run.
    """
    if scoring is not None:
        path = run.scores(scoring)
        if not path.is_file():
            known = ", ".join(sorted(item.stem for item in path.parent.glob("*.json"))) or "none"
            raise EvalError(
                f"{run.path} has no scoring {scoring!r} (scorings: {known})",
                fix="leave --scoring out for the run's own log",
            )
    else:
        path = run.evallog if run.evallog.is_file() else run.partial_evallog
        if not path.is_file():
            raise EvalError(f"{run.path} holds no log", fix=how_to_finish(run))
    log = read_evallog(path)
    refuse_foreign(log, run, path)
    return ExportSource(run=run, path=path, log=log)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet.

    Raises:
        EvalError: It exists, or cannot be written.
    """
    try:
        write_once(path, data)
    except FileExistsError as error:
        raise EvalError(f"{path} exists already; nothing is written over", fix="choose another -o") from error
    except OSError as error:
        raise cannot_write(str(path), error) from error
