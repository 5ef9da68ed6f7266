"""Examines one family in the interpreter that runs this, for a doctor in another one.

``python -m hylo_eval.doctor.family_examination FAMILY DESCRIPTOR``: the findings go, as JSON, to a descriptor of their
own, where nothing that a library prints can stand among them.
"""

from __future__ import annotations

import json
import os
import sys

import attrs

from hylo_eval.doctor.examination import examine_family


def main(name: str, answer: int) -> None:
    """Examine a family in this interpreter and write the findings."""
    findings = examine_family(name, os.environ)
    with os.fdopen(answer, "wb") as stream:
        stream.write(json.dumps([attrs.asdict(finding) for finding in findings]).encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
