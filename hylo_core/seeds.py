"""Seeds of all random streams except the simulator's own, which gets ``instance.seed``."""

from __future__ import annotations

import hashlib

SEED_LIMIT = 2**31
"""Seeds lie in ``[0, 2**31)``: every generator in use accepts them."""


def derive_seed(key: str, stream: str) -> int:
    """The seed of one named random stream of one task instance.

    The first 31 bits of sha256 of ``hylo.seed/v1|<key>|<stream>``: a function of the instance key alone, so neither
    the attempt, nor the order of episodes, nor a corrected typo in the task changes it.

    Args:
        key: The instance key, ``<task id>#<seed>``.
        stream: What the numbers are for: ``agent``, ``noise``, ``fixtures``, ...
    """
    head = hashlib.sha256(f"hylo.seed/v1|{key}|{stream}".encode()).digest()[:4]
    return int.from_bytes(head, "big") >> 1
