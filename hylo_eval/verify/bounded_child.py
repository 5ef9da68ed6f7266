"""The child process of :mod:`hylo_eval.verify.bounded_call`: reads requests, calls functions, writes replies.

``python -m hylo_eval.verify.bounded_child MODULE MEMORY_BYTES``
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

GRACE_SECONDS = 2.0
"""After its deadline the child ends itself, should the parent no longer be there to do it."""


def _reply_to(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"value": call()}
    except MemoryError:
        return {"failure": "memory", "message": "the memory limit was reached"}
    except Exception as error:  # noqa: BLE001 - whatever a library raises is the parent's to judge, not ours to die of
        detail = getattr(error, "detail", None)
        return {
            "failure": "error",
            "error_type": type(error).__name__,
            "message": str(error)[:2000],
            "detail": detail if isinstance(detail, dict) else {},
        }


def _encoded(reply: dict[str, Any]) -> bytes:
    try:
        return json.dumps(reply, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        failure = {
            "failure": "error",
            "error_type": type(error).__name__,
            "message": "the result is not JSON",
        }
        return json.dumps(failure).encode() + b"\n"


def main(module_name: str, memory_bytes: int) -> None:
    """Serves requests from standard input until it ends."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    # What a library prints must not be read as a reply, nor may it wait for input.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    module = import_module(module_name)

    def answer(call: Callable[[], Any]) -> None:
        replies.write(_encoded(_reply_to(call)))
        replies.flush()

    answer(module.prepare)
    for line in requests:
        request = json.loads(line)
        function = getattr(module, request["function"])
        signal.setitimer(signal.ITIMER_REAL, request["seconds"] + GRACE_SECONDS)
        answer(lambda function=function, request=request: function(*request["arguments"]))
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
