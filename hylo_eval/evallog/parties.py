"""Who was evaluated on what, as logs of every version say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from hylo_core.contract import Record, boolean, text
from hylo_core.frozen import freeze_mapping


@attrs.frozen(kw_only=True)
class LoggedBenchmark(Record):
    """Which benchmark and split were run."""

    id: str = attrs.field(validator=text(empty=False))
    version: str = attrs.field(validator=text(empty=False))
    digest: str = attrs.field(validator=text(empty=False))
    split: str = attrs.field(validator=text(empty=False))
    requires_privileged: bool = attrs.field(validator=boolean)


@attrs.frozen(kw_only=True)
class LoggedAgent(Record):
    """Which agent was evaluated."""

    name: str = attrs.field(validator=text(empty=False))
    version: str = attrs.field(validator=text(empty=False))
    components: Mapping[str, Any] = attrs.field(converter=freeze_mapping("components"))
