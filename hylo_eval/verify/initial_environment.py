"""What the kernel shows of a process's environment: the block it was started with, whatever became of it since.

``/proc/PID/environ`` is readable for every process of the same user, so a variable that is withheld from a command
could be read from its parent's block. There the value is written over; this process's own variables stay.
"""

from __future__ import annotations

import os
import re
from typing import Final

from hylo_eval.credentials import CREDENTIAL_PREFIXES

_ENVIRONMENT_START_FIELD: Final = 47  # env_start of proc(5), counted from the state, which follows the name


def blank_initial_credentials() -> bool:
    """Writes over the values of this process's own credentials in the block that the kernel shows.

    ``os.environ`` keeps them, and so does what C's ``getenv`` finds.

    Returns:
        Whether the block shows none now. It may still: not on Linux, and where ``/proc/self/mem`` cannot be written.
    """
    names = [name for name in os.environ if name.startswith(CREDENTIAL_PREFIXES)]
    if not names:
        return True
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - quick, and pathlib would not help
            block = file.read()
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            # The command's name stands in parentheses and may itself hold blanks and parentheses.
            start = int(file.read().rpartition(b")")[2].split()[_ENVIRONMENT_START_FIELD])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
            for found in re.finditer(_entries(), block):
                memory.seek(start + found.start("value"))
                memory.write(bytes(len(found["value"])))
    except (OSError, ValueError, IndexError):
        return False
    finally:
        # C's variables may still point into the block: each is set anew, which copies it.
        for name in names:
            os.environ[name] = os.environ[name]
    return True


def _entries() -> bytes:
    prefixes = b"|".join(re.escape(prefix.encode()) for prefix in CREDENTIAL_PREFIXES)
    return rb"(?:(?<=\0)|\A)(?:%s)[^=\0]*=(?P<value>[^\0]*)" % prefixes
