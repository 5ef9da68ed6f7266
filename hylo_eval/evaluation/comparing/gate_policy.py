"""A gate's policy from a file and a command line: ``gate.toml`` is the team's, the command line has the last word."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from hylo_core.contract import describe
from hylo_eval.compare.decision import GateRule
from hylo_eval.compare.gate import GatePolicy
from hylo_eval.errors import EvalError, cannot_read
from hylo_eval.suggest import did_you_mean

MEND_POLICY: Final = "mend that line of the policy file; docs/gate.md#policy lists the keys"
MAX_POLICY_BYTES: Final = 1024 * 1024

_RULE: Final[Mapping[str, tuple[type, str]]] = {
    "mode": (str, "text"),
    "margin": (float, "a number"),
    "alpha": (float, "a number"),
    "power": (float, "a number"),
    "min_pairs": (int, "a whole number"),
    "min_coverage": (float, "a number"),
    "agent_errors": (str, "text"),
    "worst_case": (bool, "true or false"),
    "sequential": (bool, "true or false"),
}
_BESIDE: Final[Mapping[str, tuple[type, str]]] = {
    "metric": (str, "text"),
    "safety_must_not_rise": (bool, "true or false"),
    "max_latency_regression": (float, "a number"),
    "allow": (list, "a list of names"),
    "intersect": (bool, "true or false"),
    "log_only": (bool, "true or false"),
}


def make_policy(values: Mapping[str, Any]) -> GatePolicy:
    """The policy of values by name; what is left out has its default.

    Raises:
        EvalError: There is no mode.
        ContractError: A value is outside its range.
    """
    if "mode" not in values:
        raise EvalError(
            "a gate needs --mode", fix="--mode improve, noninferior or no-regression", again=("--mode", "improve")
        )
    rule = GateRule(**{name: value for name, value in values.items() if name in _RULE})
    return GatePolicy(rule=rule, **{name: value for name, value in values.items() if name in _BESIDE})


def read_policy(path: Path) -> dict[str, Any]:
    """The values of a policy file, checked name by name and type by type.

    Raises:
        EvalError: The file cannot be read, is not TOML, or holds a key or value that means nothing.
    """
    try:
        if path.stat().st_size > MAX_POLICY_BYTES:
            raise EvalError(
                f"{path} is too large for a policy file", fix="name a policy file, such as docs/gate.md#policy shows"
            )
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        refusal = cannot_read(f"the policy file {path}", error)
        refusal.fix += "; docs/gate.md#policy shows a policy file, and without --policy the rule is the default"
        raise refusal from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EvalError(f"{path}: is not valid TOML: {error}", fix=MEND_POLICY) from error
    known = {**_RULE, **_BESIDE}
    values: dict[str, Any] = {}
    for name, value in document.items():
        if name not in known:
            hint = did_you_mean(name, known)
            raise EvalError(f"{path}: {name!r} is no key of a policy{hint} (keys: {', '.join(known)})", fix=MEND_POLICY)
        values[name] = _typed(value, *known[name], where=f"{path}: {name}")
    return values


def _typed(value: object, kind: type, words: str, *, where: str) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise EvalError(f"{where}: must be {words}, not {describe(value)}", fix=MEND_POLICY)
    if not isinstance(value, list):
        return value
    names = cast("list[Any]", value)
    if not all(isinstance(item, str) for item in names):
        raise EvalError(f"{where}: must be {words}", fix=MEND_POLICY)
    return tuple(names)
