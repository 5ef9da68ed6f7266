"""Making environments, agents, scorers and filters from the names and options people type."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from hylo_core.canonical import describe
from hylo_core.errors import describe_error
from hylo_core.refs import parse_ref
from hylo_core.spec import AgentSpec
from hylo_core.trace import AgentInfo
from hylo_eval import plugins
from hylo_eval.benchmarks import read_toml
from hylo_eval.envs.protocol import BENCHMARK_FOLDER
from hylo_eval.errors import AgentError, EvalError
from hylo_eval.evaluation.source_files import source_of
from hylo_eval.families import with_absolute_places
from hylo_eval.options import on_record, read_options, refuse_missing, split_pairs

_GIVEN_BY_HARNESS = (BENCHMARK_FOLDER,)
_MAX_AGENT_FILE_BYTES = 1024 * 1024


@attrs.frozen
class Made:
    """A plug-in made from a name and options, and what the manifest says of it."""

    value: Any
    ref: Mapping[str, Any]
    options: Mapping[str, Any]


def make_env_factory(
    name: str, defaults: Mapping[str, Any], given: Mapping[str, str], *, folder: Path | None = None
) -> Made:
    """The env factory of an alias or reference, with a benchmark's default options under those of the command line.

    Args:
        name: Alias or reference.
        defaults: The benchmark's options.
        given: Options of the command line.
        folder: Where the benchmark file lies. A factory with the option ``benchmark_folder`` gets it; what it reads
            there is identified by digest, so the place is not part of what the manifest says.

    Raises:
        EvalError: No such factory, or an option it does not have.
    """
    factory = plugins.load("envs", name)
    options = {
        **read_options(factory, defaults, what=f"env {name!r}", reserved=_GIVEN_BY_HARNESS),
        **read_options(factory, given, what=f"env {name!r}", reserved=_GIVEN_BY_HARNESS),
    }
    ref_name = plugins.ref_of("envs", name)
    options = with_absolute_places(ref_name, options)
    ref = {"ref": ref_name, "options": on_record(options), **source_of(factory)}
    if folder is not None and BENCHMARK_FOLDER in inspect.signature(factory).parameters:
        options = {BENCHMARK_FOLDER: str(folder), **options}
    return Made(factory, ref, options)


def ref_of_factory(factory: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the manifest says of a factory that was passed as an object: of one of ours, what a command would say.

    So the same evaluation from Python and from the command can be compared. Imports nothing that is not there.

    Args:
        factory: The env factory.
        options: What it is called with.

    Returns:
        Reference and options; empty for somebody else's factory, and where an option is no value that a command could
        give, such as an object.
    """
    home = f"{getattr(factory, '__module__', '')}."
    given = {name: value for name, value in options.items() if name not in _GIVEN_BY_HARNESS}
    if not all(isinstance(value, str | int | float) for value in given.values()):
        return {}
    for plugin in plugins.BUILT_IN["envs"]:
        ref = parse_ref(plugin.ref)
        if home.startswith(f"{ref.module}.") and getattr(sys.modules.get(ref.module), ref.attribute, None) is factory:
            return {"ref": plugin.ref, "options": on_record(with_absolute_places(plugin.ref, given))}
    return {}


def make_agent(name: str, given: Mapping[str, str]) -> Made:
    """The agent of an alias, a reference or an agent file, with options.

    Raises:
        EvalError: No such agent, an option it does not have, or it cannot be made.
    """
    defaults: Mapping[str, Any] = {}
    if name.endswith(".toml"):
        name, defaults = _agent_file(Path(name))
    factory = plugins.load("agents", name)
    what = f"agent {name!r}"
    options = {**read_options(factory, defaults, what=what), **read_options(factory, given, what=what)}
    refuse_missing(factory, options, what=what, flag="--agent-arg ")
    try:
        agent = factory(**options)
    except EvalError:
        raise
    except (Exception, SystemExit) as error:
        raise AgentError(
            f"{what} cannot be made: {describe_error(error)}", fix="mend what it names; --debug shows where it raised"
        ) from error
    missing = [part for part in ("info", "spec", "open_episode", "close") if not hasattr(agent, part)]
    if missing:
        raise AgentError(
            f"{what} is a {type(agent).__name__}, which is no agent: it lacks {', '.join(missing)}",
            fix="give it what it lacks; README.md#libero-meta-world-and-your-own-policy shows one",
        )
    for part, kind in (("info", AgentInfo), ("spec", AgentSpec)):
        if not isinstance(getattr(agent, part), kind):
            raise AgentError(
                f"{what}: its {part} must be an {kind.__name__}, not {describe(getattr(agent, part))}",
                fix=f"{part} = {kind.__name__}(...)",
            )
    ref = {"ref": plugins.ref_of("agents", name), "options": on_record(options), **source_of(factory)}
    return Made(agent, ref, options)


def _agent_file(path: Path) -> tuple[str, Mapping[str, Any]]:
    """An agent file: ``agent = "<alias or reference>"`` and a table ``[options]``."""
    document = read_toml(
        path,
        what="an agent file",
        max_bytes=_MAX_AGENT_FILE_BYTES,
        fix="correct the path, or name an agent that hylo-eval list agents shows",
    )
    unknown = sorted(set(document) - {"agent", "options"})
    if unknown:
        raise EvalError(
            f"{path}: {unknown[0]!r} is no key of an agent file (keys: agent, options)",
            fix="put the agent's own options into the table [options]",
        )
    name, options = document.get("agent"), document.get("options", {})
    if not isinstance(name, str):
        raise EvalError(
            f"{path}: agent: must be the alias or reference of an agent",
            fix='agent = "reach-scripted", or "package.module:Attr"; hylo-eval list agents',
        )
    if not isinstance(options, dict):
        raise EvalError(
            f"{path}: options: must be a table", fix="[options] on a line of its own, with name = value below it"
        )
    return name, cast("dict[str, Any]", options)


def make_scorer(name: str) -> Any:
    """The scorer of an alias or reference.

    Raises:
        EvalError: There is none, or it is no scorer.
    """
    found = plugins.load("scorers", name)
    scorer = found() if isinstance(found, type) else found
    if not hasattr(scorer, "score") or not isinstance(getattr(scorer, "name", None), str):
        raise EvalError(
            f"scorer {name!r} is a {type(scorer).__name__}, which is no scorer: it needs name and score()",
            fix="give it a name and a method score(); hylo-eval list scorers has those that are built in",
        )
    return scorer


def make_safety(names: Sequence[str]) -> list[Any] | None:
    """The filters of ``--safety``: None for the defaults, an empty list for ``none``.

    Raises:
        EvalError: No such filter, or an option it does not have.
    """
    if not names:
        return None
    if "none" in names:
        if len(names) > 1:
            raise EvalError("--safety none stands alone", fix="leave none or the other filters out")
        return []
    return [_safety_filter(name) for name in names]


def _safety_filter(given: str) -> Any:
    """``rate:limit=0.1`` or ``package.module:Attr``, with options after a colon that holds an equals sign."""
    head, separator, tail = given.rpartition(":")
    name, pairs = (head, tail) if separator and "=" in tail else (given, "")
    factory = plugins.load("safety", name)
    options = read_options(factory, split_pairs(_pairs(pairs), "--safety"), what=f"safety filter {name!r}")
    refuse_missing(factory, options, what=f"safety filter {name!r}", flag=f"--safety {name}:")
    try:
        return factory(**options)
    except TypeError as error:
        raise EvalError(f"safety filter {name!r}: {error}", fix="hylo-eval list safety") from error


def _pairs(text: str) -> list[str]:
    """Split at commas outside brackets: ``low=[0,0,0],high=[1,1,1]``."""
    pairs: list[str] = []
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            pairs.append(text[start:position])
            start = position + 1
    return [pair for pair in [*pairs, text[start:]] if pair]
