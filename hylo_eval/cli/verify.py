"""``hylo-eval verify`` and ``hylo-eval verify-candidate``: the grader contract from the command line."""

from __future__ import annotations

from pathlib import Path

import click

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("spec", type=_PATH)
@click.option("--logs-dir", type=_PATH, help="Where to write.  [default: /logs/verifier, where there is a /logs]")
@click.option("--workspace", type=_PATH, default=Path("/app"), show_default=True, help="The candidate's folder.")
@click.pass_context
def verify(context: click.Context, spec: Path, logs_dir: Path | None, workspace: Path) -> int:
    """Grade the task of SPEC, a verifier.toml, and write verdict.json.

    Without --logs-dir, on a machine that has no /logs, the verdict is printed and no file is written; where grading
    failed, --debug shows then. Otherwise traceback.txt beside the verdict does.

    Ends with 0 for all three statuses of a verdict, with 2 when none could be written, with 130 when a signal
    ended it before that. The console script hylo-verify takes the same arguments, and makes /logs/verifier
    wherever it runs.
    """
    from hylo_eval.verify.commands import DEFAULT_LOGS_DIR, main_show, record_verdict

    if logs_dir is None and not DEFAULT_LOGS_DIR.parent.is_dir():
        return main_show(spec, workspace, debug="--debug" in (context.obj or ()))
    return record_verdict(spec, logs_dir=logs_dir or DEFAULT_LOGS_DIR, workspace=workspace)


@click.command("verify-candidate")
@click.option("--spec", type=_PATH, required=True, help="The specification, TOML.")
@click.option("--answer", required=True, help="The answer file; below /app it is read from the workspace.")
@click.option("--workspace", type=_PATH, required=True, help="The candidate's folder.")
@click.option("--logs-dir", type=_PATH, required=True, help="Where to write.")
@click.option("--resources-manifest", type=_PATH, required=True, help="A JSON list of the task's files.")
def verify_candidate(spec: Path, answer: str, workspace: Path, logs_dir: Path, resources_manifest: Path) -> int:
    """Grade the whole text of an answer file as an answer that was extracted already.

    Ends with 0 for all three statuses of a verdict, with 2 when none could be written, with 130 when a signal
    ended it before that.
    """
    from hylo_eval.verify.commands import main_candidate

    options = {
        "--spec": spec,
        "--answer": answer,
        "--workspace": workspace,
        "--logs-dir": logs_dir,
        "--resources-manifest": resources_manifest,
    }
    return main_candidate([f"{name}={value}" for name, value in options.items()])
