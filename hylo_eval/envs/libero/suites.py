"""The published protocol of the five suites."""

from __future__ import annotations

import re
from typing import Final

from hylo_core.frozen import FrozenMapping
from hylo_eval.errors import EnvError

HORIZONS: Final = FrozenMapping(
    {"libero_spatial": 220, "libero_object": 280, "libero_goal": 300, "libero_10": 520, "libero_90": 400}
)
"""Steps an episode, as OpenVLA, openpi and vla-eval run it (settling not counted)."""

TASK_COUNTS: Final = FrozenMapping(
    {"libero_spatial": 10, "libero_object": 10, "libero_goal": 10, "libero_10": 10, "libero_90": 90}
)

INIT_STATES: Final = 50
"""Recorded initial states of every task."""

CONTROL_HZ: Final = 20
SETTLE_STEPS: Final = 10
SETTLE_ACTION: Final = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)
"""Stand still, gripper open: objects fall the last millimetres onto the table before the policy sees them."""

UPSTREAM_REPOSITORY: Final = "https://github.com/Lifelong-Robot-Learning/LIBERO"
UPSTREAM_COMMIT: Final = "8f1084e3132a39270c3a13ebe37270a43ece2a01"
"""The commit whose 130 BDDL files and initial states were compared with the frozen hashes: all equal."""

_SCENE = re.compile(r"[A-Z][A-Z_]*SCENE\d+_")


def horizon(suite: str) -> int:
    """Steps an episode of a suite.

    Raises:
        EnvError: There is no such suite.
    """
    if suite not in HORIZONS:
        raise EnvError(f"there is no LIBERO suite {suite!r}; there are {', '.join(HORIZONS)}")
    return HORIZONS[suite]


def instruction_from_name(task_name: str) -> str:
    """The instruction public runners send: the words of the file name, without the scene in front.

    It differs from the ``:language`` of the BDDL file (letter case aside) in 29 of the 130 tasks.
    """
    return _SCENE.sub("", task_name, count=1).replace("_", " ")
