"""Whether an agent and an environment fit by what each declares, and with which options they would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hylo_core.spec import AgentSpec, SpecDifference
from hylo_eval.errors import EvalError
from hylo_eval.families import find_family

if TYPE_CHECKING:
    from gymnasium import Space

_ONLY_OF_ROBOTS: Final = ("control_hz", "action")


def concerning_differences(
    action_space: Space[Any], differences: Sequence[SpecDifference]
) -> tuple[SpecDifference, ...]:
    """The differences without what nobody can declare here: an answer in text has neither a rate nor slices."""
    from gymnasium.spaces import Text

    if not isinstance(action_space, Text):
        return tuple(differences)
    return tuple(item for item in differences if item.severity != "unknown" or item.path not in _ONLY_OF_ROBOTS)


def refuse_mismatch(differences: Sequence[SpecDifference], agent: AgentSpec, env_ref: Mapping[str, Any]) -> None:
    """Refuse an agent that the env does not suit.

    Args:
        differences: Of the two specs.
        agent: What the agent declares.
        env_ref: What the env is made from.

    Raises:
        EvalError: They do not fit; the fix names the options with which the env would show what the agent misses.
    """
    wrong = [difference for difference in differences if difference.severity == "mismatch"]
    if wrong:
        listed = "".join(f"\n  {difference}" for difference in wrong)
        raise EvalError(
            f"agent and environment do not fit; every episode would run and only the numbers would be wrong:{listed}",
            fix=_observing_more(wrong, agent, env_ref)
            or "mend what the agent's spec declares, or run an agent that is made for this environment",
        )


def _observing_more(wrong: Sequence[SpecDifference], agent: AgentSpec, env_ref: Mapping[str, Any]) -> str:
    """The options with which the environment shows what the agent misses; empty where none would, or more is wrong."""
    family = find_family(str(env_ref.get("ref", "")))
    if family is None:
        return ""
    options: Mapping[str, Any] = env_ref.get("options", {})
    shown = {
        "privileged": {f"state.{item.name}" for item in agent.state if item.privileged},
        "cameras": {f"cameras.{item.name}" for item in agent.cameras},
    }
    off = [switch for switch in family.switches if not options.get(switch.option, switch.on)]
    missing = {difference.path for difference in wrong}
    if not missing <= set[str]().union(*(shown[switch.shows] for switch in off)):
        return ""
    return " ".join(f"--env-arg {switch.option}=true" for switch in off if shown[switch.shows] & missing)
