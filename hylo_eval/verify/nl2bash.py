"""Compare the output of two shell commands record by record, without regard to order.

A record is a line or a NUL-terminated name. Colour codes, the run's own folder and a trailing size unit are
presentation, not content, and are taken off both sides.
"""

from __future__ import annotations

import re
from collections import Counter

_COLOUR_CODE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_ERROR = re.compile(r"\b(?:error|failed|failure|no such file|not found|permission denied|traceback)\b", re.IGNORECASE)
# What stands before a path that is relative to the working folder, at the start of a word.
_FOLDER_PREFIXES = (re.compile(r"(?<!\S)/workspace/"), re.compile(r"(?<!\S)\./"))
_SIZE_UNIT = re.compile(r" (?:bytes?|kb|kib|mb|mib|gb|gib) ?\Z", re.IGNORECASE)

_SHOWN_RECORDS = 5
_SHOWN_CHARACTERS = 200


def score_capture(actual: str, expected: str) -> tuple[int, list[str]]:
    """Score captured output: every expected record must be there, as often as expected.

    Further records are allowed unless they report an error; where nothing is expected, nothing may be there.

    Args:
        actual: What the candidate's command wrote.
        expected: What the reference command wrote.

    Returns:
        1 or 0, and notes that say why it is 0.
    """
    expected_records = Counter(_records(expected))
    actual_records = Counter(_records(actual))
    if not expected_records:
        return (0, ["expected empty output"]) if actual_records else (1, [])
    if missing := expected_records - actual_records:
        return 0, [f"missing expected records: {_shown(missing)}"]
    errors = Counter({record: n for record, n in (actual_records - expected_records).items() if _ERROR.search(record)})
    if errors:
        return 0, [f"unexpected error records: {_shown(errors)}"]
    return 1, []


def _records(text: str) -> list[str]:
    lines = text.replace("\0", "\n").splitlines()
    return [record for line in lines if (record := _record(line))]


def _record(line: str) -> str:
    # Blanks are collapsed first: patterns over long runs of blanks would take quadratic time.
    record = _collapsed(_COLOUR_CODE.sub("", line))
    for prefix in _FOLDER_PREFIXES:
        record = prefix.sub("", record)
    return _collapsed(_SIZE_UNIT.sub("", record))


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _shown(records: Counter[str]) -> str:
    shown = {record[:_SHOWN_CHARACTERS]: count for record, count in records.most_common(_SHOWN_RECORDS)}
    more = len(records) - len(shown)
    return f"{shown}" + (f" and {more} more" if more > 0 else "")
