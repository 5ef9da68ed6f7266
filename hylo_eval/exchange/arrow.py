"""Apache Arrow, where it is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import attrs

from hylo_eval.errors import EvalError


@attrs.frozen
class Arrow:
    """The two modules of pyarrow that are used; both are untyped."""

    core: Any
    parquet: Any


def arrow(purpose: str) -> Arrow:
    """Import pyarrow.

    Args:
        purpose: What needs it, for the error.

    Raises:
        EvalError: It is not installed.
    """
    try:
        return Arrow(import_module("pyarrow"), import_module("pyarrow.parquet"))
    except ImportError as error:
        raise EvalError(f"{purpose} needs pyarrow", fix="python -m pip install 'hylo-eval[parquet]'") from error
