"""Benchmark files as people write them."""

from __future__ import annotations

from collections.abc import Sequence


def reach_file(env: str, *, benchmark_id: str, seeds: Sequence[int] = (7, 8), max_steps: int = 20) -> str:
    """The TOML text of one reaching task, for an environment like ``reach``."""
    return f"""
id = "{benchmark_id}"
version = "1"
env = "{env}"
[splits]
heldout = {list(seeds)}
[[tasks]]
id = "t/one"
version = "1"
instruction = "reach the fixed goal"
max_steps = {max_steps}
init = {{kind = "seed"}}
success = {{kind = "builtin", name = "env_success"}}
params = {{goal_m = [0.3, 0.0, 0.4], tolerance_m = 0.02}}
"""
