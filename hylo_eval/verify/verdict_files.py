"""The files of a verdict: ``verdict.json`` always, Harbor's reward files when it counts, a failure's traceback."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from pathlib import Path
from typing import Final

from hylo_eval.verify.file_ops.removal import remove_folder
from hylo_eval.verify.verdict import Reward, Status, validated

VERDICT_JSON: Final = "verdict.json"
REWARD_JSON: Final = "reward.json"
REWARD_TXT: Final = "reward.txt"
TRACEBACK_TXT: Final = "traceback.txt"


def clear_verdict(logs_dir: Path) -> None:
    """Removes the files of an earlier verdict, so that none of them can be taken for this one's.

    Raises:
        OSError: The folder cannot be made, or a file in it cannot be removed.
    """
    logs_dir.mkdir(parents=True, exist_ok=True)
    folder = os.open(logs_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in (VERDICT_JSON, REWARD_JSON, REWARD_TXT, TRACEBACK_TXT):
            _remove(name, folder)
    finally:
        os.close(folder)


def _remove(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        # A candidate may have put a folder there, nested deeper than a recursion goes.
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            remove_folder(name, parent=folder)
        else:
            os.unlink(name, dir_fd=folder)


def write_verdict(logs_dir: Path, verdict: object) -> Reward:
    """Writes a verdict: the reward files first, ``verdict.json`` last, each complete or not there at all.

    Args:
        logs_dir: The folder; it is made when it does not exist.
        verdict: What the grader returned; a malformed one is written as an ``infra_error``.

    Returns:
        The verdict that was written.

    Raises:
        OSError: A file could not be written. None of the three is left behind.
    """
    reward = validated(verdict)
    record = verdict_json(reward)
    value = _value(reward)
    clear_verdict(logs_dir)
    try:
        if reward.status is Status.SCORED:
            _write_whole(logs_dir / REWARD_JSON, json.dumps({"reward": value}) + "\n")
            _write_whole(logs_dir / REWARD_TXT, f"{value}\n")
        _write_whole(logs_dir / VERDICT_JSON, record + "\n")
    except BaseException:
        with contextlib.suppress(OSError):
            clear_verdict(logs_dir)
        raise
    return reward


def write_traceback(logs_dir: Path, text: str) -> Path | None:
    """Writes where grading failed beside its verdict, which counts without it.

    Returns:
        The file; None where it could not be written.
    """
    path = logs_dir / TRACEBACK_TXT
    try:
        _write_whole(path, text)
    except OSError:
        return None
    return path


def verdict_json(reward: Reward) -> str:
    """A valid verdict as the one JSON line that ``verdict.json`` holds."""
    record = {"reward": _value(reward), "status": reward.status.value, "detail": reward.detail}
    return json.dumps(record, allow_nan=False)


def _value(reward: Reward) -> float:
    return abs(float(reward.reward))  # a script's -0.0 is a zero


def _write_whole(path: Path, text: str) -> None:
    # Not the tempfile module's: with what it imports it costs a tenth of the command.
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
