"""The credentials that the product itself reads from the environment, and keeping them out of what it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

CREDENTIAL_PREFIXES: Final = ("VERIFYIT_JUDGE_", "HYLO_CHAT_API_KEY", "HYLO_VERIFIER_TOKEN")
"""How the variables begin that are withheld from every process that has no need of them."""

SECRET_VARIABLES: Final = ("VERIFYIT_JUDGE_API_KEY", "HYLO_CHAT_API_KEY", "HYLO_VERIFIER_TOKEN")
"""Those of them whose whole value is a secret."""


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets in an environment."""
    return tuple(value for name in SECRET_VARIABLES if (value := environment.get(name, "").strip()))
