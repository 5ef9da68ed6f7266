"""Being connected to a Ray cluster that somebody has started."""

from __future__ import annotations

import socket
from typing import Any, Final, cast

from hylo_eval.errors import EvalError

_CONNECT_SECONDS: Final = 10.0


def connected(address: str | None) -> tuple[Any, bool]:
    """Ray, connected to an existing cluster, and whether it was connected just now.

    Raises:
        EvalError: It is not installed, or no cluster answers.
    """
    try:
        import ray
    except ImportError as error:
        raise EvalError("Ray is not installed here", fix="python -m pip install 'hylo-eval[ray]'") from error
    module = cast("Any", ray)
    connects = not module.is_initialized()
    if connects:
        _refuse_silence(address)
        try:
            module.init(address=address or "auto", log_to_driver=False, logging_level="error")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise EvalError(
                f"no Ray cluster answers at {address or 'auto'}: {error}",
                fix="ray start --head, or --ray-address HOST:PORT",
            ) from error
    return module, connects


def _refuse_silence(address: str | None) -> None:
    """Refuse an address that nobody listens at: Ray itself would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise EvalError(
            f"no Ray cluster answers at {address}: {error}", fix="ray start --head, or --ray-address HOST:PORT"
        ) from error
