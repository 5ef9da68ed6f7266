"""The declared order of a run as a file, so that a look at an unfinished run knows which episodes are still missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from hylo_core.canonical import digest
from hylo_eval.errors import EvalError
from hylo_eval.traces.files import write_atomically
from hylo_eval.traces.layout import RunFolder

if TYPE_CHECKING:
    from hylo_eval.evaluation.plan import Plan

MAX_ORDER_BYTES: Final = 256 * 1024 * 1024
"""A larger file is refused unread."""


def write_order(plan: Plan, run: RunFolder) -> None:
    """Write the keys of a plan in declared order, one a line; the manifest holds their digest."""
    keys: Sequence[str] = [instance.key for instance in plan.instances]
    lines = b",\n".join(orjson.dumps(key) for key in keys)
    write_atomically(run.order, b"[\n" + lines + b"\n]\n")


def read_order(run: RunFolder, keys_digest: str) -> tuple[str, ...]:
    """The declared order of a run; empty where none was written.

    Raises:
        EvalError: The file cannot be read, or is not the order whose digest the manifest holds.
    """
    path = run.order
    if not path.exists():
        return ()
    try:
        if path.stat().st_size > MAX_ORDER_BYTES:
            raise EvalError(f"{path} is larger than {MAX_ORDER_BYTES} bytes")
        keys = orjson.loads(path.read_bytes())
    except OSError as error:
        raise EvalError(f"cannot read the declared order {path}: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise EvalError(f"{path}: is not JSON: {error}") from error
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in cast("list[Any]", keys)):
        raise EvalError(f"{path}: must be a list of instance keys")
    order = cast("list[str]", keys)
    if digest(order) != keys_digest:
        raise EvalError(f"{path} is not the order that was declared: the manifest holds another digest of it")
    return tuple(order)
