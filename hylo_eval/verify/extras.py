"""Libraries of optional extras: imported where they are used, and named when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hylo_eval.verify.verdict import GradingInfraError


def import_extra(module: str, *, extra: str) -> Any:
    """A module that an extra of the distribution installs.

    Returns:
        The module, typed Any: most of these libraries carry no types.

    Raises:
        GradingInfraError: It is not installed; the text names the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise GradingInfraError(
            f"{module} is not installed. fix: pip install 'hylo-eval[{extra}]'", missing_extra=extra
        ) from error
