"""The process of :mod:`.plugin_process`: reads tasks from one pipe, calls the plugin's function, answers in another.

``python -m hylo_eval.verify.verifiers.plugin_child REQUESTS REPLIES`` with the numbers of the two descriptors. Standard
input and output are the plugin's own to use.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hylo_core.errors import describe_error
from hylo_core.verifier import VerifierRef
from hylo_eval.errors import VerificationError
from hylo_eval.verify.verifiers.plugin import PluginVerifier

GRACE_SECONDS: Final = 2.0
"""After its deadline the process ends itself, should the parent no longer be there to do it."""

REASON_CHARACTERS: Final = 4000


def main(requests_descriptor: int, replies_descriptor: int) -> None:
    """Serves requests until there are no more."""
    for descriptor in (requests_descriptor, replies_descriptor):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - positional only
    # A parent that was killed reads no answer, and still what was made for it is removed.
    with suppress(BrokenPipeError):
        _serve(requests_descriptor, replies_descriptor)
    with suppress(OSError):
        Path(tempfile.gettempdir()).rmdir()
    # Threads and exit handlers of the plugin have no say in when this process ends.
    os._exit(0)


def _serve(requests_descriptor: int, replies_descriptor: int) -> None:
    own = os.getpid()
    with os.fdopen(requests_descriptor, "rb") as requests:
        setup = json.loads(requests.readline())
        verifier = PluginVerifier(VerifierRef.from_dict(setup["ref"]), Path(setup["folder"]), pinned=setup["pinned"])
        for line in requests:
            request = json.loads(line)
            signal.setitimer(signal.ITIMER_REAL, request["seconds"] + GRACE_SECONDS)
            reply = _answer(verifier, request, replies_descriptor)
            if os.getpid() != own:
                os._exit(0)  # a copy that the plugin made of this process has nothing to say
            signal.setitimer(signal.ITIMER_REAL, 0)
            _send(replies_descriptor, reply)


def _answer(verifier: PluginVerifier, request: dict[str, Any], replies_descriptor: int) -> dict[str, Any]:
    loaded = False
    try:
        verifier.load()
        loaded = True
        _send(replies_descriptor, {"loaded": True})
        found = verifier.verify(request["task"], request["trajectory"])
    except VerificationError as error:
        reason = error.reason
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt too are the plugin's
        reason = describe_error(error)
    else:
        return {"reward": found.reward, "metadata": dict(found.metadata)}
    return {"failure": reason[:REASON_CHARACTERS], "loaded": loaded}


def _send(descriptor: int, message: dict[str, Any]) -> None:
    line = memoryview(json.dumps(message, allow_nan=False).encode("ascii") + b"\n")
    while line:
        line = line[os.write(descriptor, line) :]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
