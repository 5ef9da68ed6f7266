"""``hylo-eval plan``: pairs needed, exactly."""

from __future__ import annotations

from typing import Any

import pytest

from hylo_eval.compare import exact_power


def test_it_says_how_many_pairs(hylo: Any) -> None:
    """The number has the power asked for and one pair fewer has not, by the exact power itself."""
    found = hylo("plan", "--effect", ".10", "--discordant", ".20", "--alpha", ".05", "--power", ".8", "--json").json
    pairs = found["n_pairs"]
    assert exact_power(pairs, effect=0.1, discordant=0.2, alpha=0.05) == found["power_at_n_pairs"] >= 0.8
    assert exact_power(pairs - 1, effect=0.1, discordant=0.2, alpha=0.05) < 0.8
    # Connor's normal approximation (Biometrics 43:207, 1987): (1.645 sqrt(.2) + .842 sqrt(.2 - .01))**2 / .01.
    assert pairs > (1.6449 * 0.2**0.5 + 0.8416 * 0.19**0.5) ** 2 / 0.01
    text = hylo("plan", "--effect", ".10", "--discordant", ".20").out
    assert text.startswith(f"{pairs} pairs: power ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--effect", ".3", "--discordant", ".2"], "effect: a difference of 0.3 needs at least that share"),
        (["--effect", "0", "--discordant", ".2"], "effect: must be above 0"),
        (["--effect", ".1", "--discordant", ".2", "--power", "1"], "power: must lie in (0, 1), got 1.0"),
        (["--effect", ".1"], "Missing option '--discordant'"),
    ],
)
def test_what_cannot_be_planned_ends_with_2(hylo: Any, options: list[str], message: str) -> None:
    """With a sentence that names the option."""
    done = hylo("plan", *options)
    assert done.code == 2
    assert message in done.err
