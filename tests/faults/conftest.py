"""Disturbed runs whose processes are gone when a test ends, whatever it came to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.disturbed import Disturbed


@pytest.fixture
def disturbed(tmp_path: Path) -> Iterator[Callable[..., Disturbed]]:
    """Make a benchmark of faulty tasks."""
    made: list[Disturbed] = []

    def make(*tasks: str, **options: Any) -> Disturbed:
        made.append(Disturbed(tmp_path / str(len(made)), *tasks, **options))
        return made[-1]

    yield make
    for run in made:
        run.sweep()
