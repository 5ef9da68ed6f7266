"""What an environment returned, bit for bit, for the rules that compare it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from typing import Any

import numpy as np


def disturb_global_generators() -> None:
    """Seed Python's and numpy's global generators from the system, so that what is drawn from them shows."""
    entropy = random.SystemRandom().getrandbits(32)
    random.seed(entropy)
    # The legacy global generator is the one that simulators draw from behind one's back.
    np.random.seed(entropy)  # noqa: NPY002


def absorb(sha: Any, observation: Mapping[str, Any]) -> None:
    """Add an observation to a running hash, key by key, bit for bit."""
    for name in sorted(observation):
        value = observation[name]
        sha.update(name.encode())
        sha.update(value.encode() if isinstance(value, str) else np.ascontiguousarray(value).tobytes())


def digest_of(observation: Mapping[str, Any]) -> str:
    """Digest of one observation, bit for bit."""
    sha = hashlib.sha256()
    absorb(sha, observation)
    return sha.hexdigest()


def freeze_arrays(observation: Mapping[str, Any]) -> None:
    """Make the arrays of an observation read-only, as the harness shows them to an agent."""
    for value in observation.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
