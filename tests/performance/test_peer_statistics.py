"""Our interval and our test beside those of a package that shares no code with them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hylo_eval.compare import exact_mcnemar, tango_interval

ASK = """
import json, sys
from fieldtrial.stats.paired import mcnemar_exact, tango_interval
found = []
for wins, losses, pairs, level in json.load(sys.stdin):
    test = mcnemar_exact(wins, losses, alternative="greater")
    found.append([*tango_interval(wins, losses, pairs, level=level), test.pvalue])
print(json.dumps(found))
"""

SIZES = (1, 2, 5, 20, 50, 100, 400, 2000)
CASES = [
    (wins, losses, pairs, level)
    for pairs in SIZES
    for wins in sorted({0, 1, pairs // 5, pairs // 2, pairs})
    for losses in sorted({0, 1, pairs // 7, pairs // 2})
    if wins + losses <= pairs
    for level in (0.9, 0.95, 0.99)
]


@pytest.mark.peer
def test_both_find_the_same_interval_and_the_same_p(fieldtrial_python: Path) -> None:
    """Tango's interval to 1e-12 and the exact p-value to a relative 1e-10, from one pair to two thousand."""
    done = subprocess.run(
        [fieldtrial_python, "-c", ASK], input=json.dumps(CASES), capture_output=True, text=True, check=True, timeout=300
    )
    theirs = json.loads(done.stdout)
    assert len(theirs) == len(CASES) > 250
    for (wins, losses, pairs, level), (low, high, p_value) in zip(CASES, theirs, strict=True):
        ours = tango_interval(wins, losses, pairs, level=level)
        assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-12), (wins, losses, pairs, level)
        assert exact_mcnemar(wins, losses).p_value == pytest.approx(p_value, rel=1e-10)
