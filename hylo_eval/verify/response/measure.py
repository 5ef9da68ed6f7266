"""What the sibling scorers of the Trace contract return."""

from __future__ import annotations

from collections.abc import Mapping

import attrs


@attrs.frozen(kw_only=True)
class Measure:
    """One figure of one response.

    Attributes:
        id: The scorer's id with its version.
        value: The figure; None where a failure has no figure.
        reason: What is wrong with the response, as text; None if nothing is.
        metadata: The parameters and counts behind the figure.
    """

    id: str
    value: float | None
    reason: str | None = None
    metadata: Mapping[str, float | str] = attrs.field(factory=dict[str, "float | str"])
