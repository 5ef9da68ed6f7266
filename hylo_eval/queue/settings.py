"""What a queue was created with: its rules and its configuration."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import attrs

from hylo_core.canonical import canonical_json, describe, digest_bytes
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping, freeze
from hylo_eval.errors import QueueError
from hylo_eval.queue import checks
from hylo_eval.queue.configuration import Difference, describe_differences, differ_by_release, differences

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence


class AnotherConfiguration(QueueError):
    """A run was begun with another configuration than it is to be continued with.

    Attributes:
        found: Where they differ.
    """

    def __init__(self, message: str, *, fix: str, found: Sequence[Difference]) -> None:
        self.found = tuple(found)
        super().__init__(message, fix=fix)


MOST_LOSSES = 10
"""Lost leases after which an item is abstained; as many as failures are allowed, where those are more."""


def max_losses(max_attempts: int) -> int:
    """Lost leases after which an item is abstained.

    More than failures: whoever kills a run, on purpose or by a batch system, loses every item that is under way, and
    none of them is to blame. But one that takes its machine down with it shall not do so for ever.
    """
    return max(max_attempts, MOST_LOSSES)


@attrs.frozen(kw_only=True)
class Rules:
    """When a lease ends and when an item is given up.

    Attributes:
        max_attempts: Failures of the infrastructure after which an item is abstained, at least 1. Lost leases are
            counted apart.
        lease_seconds: How long a lease lasts unless it is renewed.
    """

    max_attempts: int = attrs.field(validator=checks.whole_number(1))
    lease_seconds: float = attrs.field(validator=checks.finite)

    def __attrs_post_init__(self) -> None:
        if self.lease_seconds <= 0:
            raise QueueError(f"lease_seconds must be more than 0, not {self.lease_seconds!r}")

    @property
    def max_losses(self) -> int:
        """Lost leases after which an item is abstained."""
        return max_losses(self.max_attempts)


@attrs.frozen(kw_only=True)
class CodeChange:
    """A run was continued with other code than before, on purpose.

    Attributes:
        changed_at: When, in seconds since 1970.
        before: The digest of the configuration before.
        after: The digest of the configuration from then on.
    """

    changed_at: float
    before: str
    after: str


@attrs.frozen(kw_only=True)
class Settings:
    """What a queue file holds beside its items.

    Attributes:
        rules: When a lease ends and when an item is given up.
        config: The configuration in force.
        config_digest: Its digest.
        code_changes: Changes of Hylo's code since creation, in order.
    """

    rules: Rules
    config: FrozenMapping[Any]
    config_digest: str
    code_changes: tuple[CodeChange, ...]


def encode_config(config: Mapping[str, Any]) -> tuple[str, str]:
    """The canonical text of a configuration and its digest.

    Raises:
        QueueError: It holds what is no JSON.
    """
    try:
        encoded = canonical_json(config)
    except ContractError as error:
        raise QueueError(f"the configuration cannot be stored: {error}") from error
    return encoded.decode(), digest_bytes(encoded)


def read_settings(connection: sqlite3.Connection) -> Settings:
    """The settings of an opened queue.

    Raises:
        QueueError: One of them is missing or not what Hylo writes.
    """
    meta = dict(connection.execute("SELECT name, value FROM meta LIMIT 100"))
    stored = connection.execute("SELECT stored_at, config, digest FROM configs ORDER BY id").fetchall()
    try:
        rules = Rules(max_attempts=json.loads(meta["max_attempts"]), lease_seconds=json.loads(meta["lease_seconds"]))
        _, text, digest = stored[-1]
        if digest_bytes(text.encode()) != digest:
            raise QueueError("the stored configuration does not have its digest")
        config = freeze(json.loads(text))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, ContractError) as error:
        raise QueueError("its settings are damaged: rules or configuration are missing or no JSON") from error
    if not isinstance(config, FrozenMapping):
        raise QueueError(f"the stored configuration must be a mapping, not {describe(config)}")
    changes = tuple(
        CodeChange(changed_at=after[0], before=before[2], after=after[2]) for before, after in pairwise(stored)
    )
    return Settings(rules=rules, config=cast("FrozenMapping[Any]", config), config_digest=digest, code_changes=changes)


def differs_in_code(settings: Settings, config: Mapping[str, Any], *, allow_code_change: bool) -> bool:
    """Whether a configuration is the stored one but for Hylo's own code, and that is allowed.

    Raises:
        AnotherConfiguration: It is another one; the text has a line a difference.
    """
    _, digest = encode_config(config)
    if digest == settings.config_digest:
        return False
    found = list(differences(settings.config, config))
    only_code = differ_by_release(found)
    if only_code and allow_code_change:
        return True
    what, fix = "with another configuration", "leave out what differs, or choose another --run-id, without --resume"
    if only_code:
        what, fix = "with other code of Hylo", "--allow-code-change continues it and records the change"
    raise AnotherConfiguration(f"the run was begun {what}:\n{describe_differences(found)}", fix=fix, found=found)
