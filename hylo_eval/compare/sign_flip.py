"""The sign-flip test: if nothing changed, each difference is as likely to be its own negative.

Exact where the flips can be counted: for whole numbers by the distribution of subset sums, for up to
`ENUMERATED_LIMIT` real numbers by listing all flips. Above that, flips are drawn from a generator seeded by
the caller, and the p-value counts the observed assignment as one draw, which keeps it valid (Phipson & Smyth
2010, "Permutation P-values Should Never Be Zero", Statistical Applications in Genetics and Molecular Biology
9:39).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import attrs

from hylo_eval.compare.checks import require_count, require_finite
from hylo_eval.compare.numeric import numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

ENUMERATED_LIMIT = 20
"""Up to this many non-zero real differences all 2**n flips are listed (8 MB of sums)."""

_INTEGER_BITS = 20_000_000
"""Size of the generating function up to which subset sums are counted in integers."""

_FLOAT_STEPS = 1_000_000_000
"""Additions up to which subset sums are counted in doubles: every term is positive, so none cancels."""

_CHUNK_CELLS = 4_000_000
_TIE_TOLERANCE = 1e-12
_SMALLEST_P = 2.2250738585072014e-308

Method = Literal["exact", "sampled"]


@attrs.frozen(kw_only=True)
class SignFlipTest:
    """A one-sided sign-flip test of the sum of paired differences, in both directions.

    Attributes:
        p_value: P(flipped sum >= observed sum): evidence that differences are positive.
        reverse_p_value: P(flipped sum <= observed sum): evidence that they are negative.
        n_nonzero: Differences that are not zero; the others move nothing.
        method: "exact" where all flips were counted, "sampled" where some were drawn.
        draws: Flips drawn; 0 where the test is exact.
    """

    p_value: float
    reverse_p_value: float
    n_nonzero: int
    method: Method
    draws: int


def sign_flip_test(differences: Sequence[float], *, draws: int = 20_000, seed: int = 0) -> SignFlipTest:
    """Test whether paired differences lean to one side.

    Args:
        differences: One difference a pair or a cluster; their order is irrelevant.
        draws: Flips to draw where they cannot all be counted, at least 1.
        seed: Seed of those draws: equal arguments give an equal result.

    Raises:
        ContractError: A difference is not finite, or `draws` or `seed` is no valid count.
    """
    require_count(draws, "draws", at_least=1)
    require_count(seed, "seed")
    values = sorted(require_finite(value, f"differences[{i}]") for i, value in enumerate(differences))
    nonzero = [value for value in values if value != 0]
    drawn = 0
    if all(value.is_integer() for value in nonzero) and _subset_sums_fit(nonzero):
        whole = [int(value) for value in nonzero]
        p_value = _subset_sum_tail([abs(value) for value in whole], sum(value for value in whole if value > 0))
        reverse = _subset_sum_tail([abs(value) for value in whole], -sum(value for value in whole if value < 0))
    elif len(nonzero) <= ENUMERATED_LIMIT:
        p_value, reverse = _enumerated_tails(nonzero)
    else:
        p_value, reverse = _sampled_tails(nonzero, draws, seed)
        drawn = draws
    return SignFlipTest(
        p_value=p_value,
        reverse_p_value=reverse,
        n_nonzero=len(nonzero),
        method="sampled" if drawn else "exact",
        draws=drawn,
    )


def _subset_sums_fit(values: Sequence[float]) -> bool:
    return len(values) * math.fsum(abs(value) for value in values) <= _FLOAT_STEPS


def _subset_sum_tail(magnitudes: Sequence[int], threshold: int) -> float:
    """P(sum of a random subset >= threshold): the positive part of a random flip is a random subset."""
    count, total = len(magnitudes), sum(magnitudes)
    if (count + 1) * (total + 1) <= _INTEGER_BITS:
        # The product of (1 + x**m) as one integer: slot s, `width` bits wide, counts the subsets with sum s.
        width = count + 1
        generating = 1
        for magnitude in magnitudes:
            generating += generating << (magnitude * width)
        # Modulo 2**width - 1 every slot weighs 1, so the remainder is the number of subsets at or above.
        subsets = (generating >> (threshold * width)) % ((1 << width) - 1) if count else 1
        return subsets / (1 << count)
    np = numpy()
    share = np.zeros(total + 1)
    share[0] = 1.0
    reached = 0
    for magnitude in sorted(magnitudes):
        share[magnitude : reached + magnitude + 1] += share[: reached + 1].copy()
        reached += magnitude
        share[: reached + 1] *= 0.5
    # Far in the tail the shares underflow; the smallest normal double is an upper bound there.
    return min(1.0, max(float(np.sum(share[threshold:])), _SMALLEST_P))


def _enumerated_tails(values: Sequence[float]) -> tuple[float, float]:
    np = numpy()
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    above, below = _beyond(sums, values)
    return above / sums.size, below / sums.size


def _sampled_tails(values: Sequence[float], draws: int, seed: int) -> tuple[float, float]:
    np = numpy()
    generator = np.random.Generator(np.random.PCG64(seed))
    doubled = 2.0 * np.asarray(values)
    total = float(np.sum(values))
    rows = max(1, _CHUNK_CELLS // len(values))
    above = below = 1
    for start in range(0, draws, rows):
        kept = generator.integers(0, 2, size=(min(rows, draws - start), len(values)), dtype=np.uint8)
        chunk_above, chunk_below = _beyond(kept @ doubled - total, values)
        above += chunk_above
        below += chunk_below
    return above / (draws + 1), below / (draws + 1)


def _beyond(sums: Any, values: Sequence[float]) -> tuple[int, int]:
    """How many sums are at least, and at most, the observed one, up to rounding."""
    np = numpy()
    observed = math.fsum(values)
    slack = _TIE_TOLERANCE * math.fsum(abs(value) for value in values)
    return int(np.count_nonzero(sums >= observed - slack)), int(np.count_nonzero(sums <= observed + slack))
