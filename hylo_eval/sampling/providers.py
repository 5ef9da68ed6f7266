"""Benchmarks of tasks that a provider draws from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from hylo_core.benchmark import Benchmark, TaskProvider, provide
from hylo_core.canonical import canonical_json, describe
from hylo_core.errors import describe_error
from hylo_core.seeds import SEED_LIMIT
from hylo_eval import plugins
from hylo_eval.benchmarks import ENV
from hylo_eval.errors import EvalError
from hylo_eval.options import on_record, read_options, refuse_missing
from hylo_eval.suggest import did_you_mean

_MEMBERS: Final = ("id", "version", "env", "splits", "tasks")


@attrs.frozen
class MadeProvider:
    """A provider made from a name and options.

    Attributes:
        value: The provider. Beside the protocol's members it has ``env`` (alias or reference of the env factory the
            tasks are for), ``splits`` (names of its splits, the default first) and may have ``metadata`` (texts).
        ref: Its reference.
        options: What it was made with, as it may be written down.
    """

    value: Any
    ref: str
    options: Mapping[str, Any]


def make_provider(name: str, given: Mapping[str, str]) -> MadeProvider:
    """The provider of an alias or reference, with options.

    Raises:
        EvalError: There is none, an option it does not have, or it cannot be made.
    """
    factory = plugins.load("providers", name)
    what = f"provider {name!r}"
    options = read_options(factory, given, what=what)
    refuse_missing(factory, options, what=what, flag="--arg ")
    try:
        provider = factory(**options)
    except EvalError:
        raise
    except (Exception, SystemExit) as error:
        raise EvalError(f"{what} cannot be made: {describe_error(error)}") from error
    missing = [member for member in _MEMBERS if not hasattr(provider, member)]
    if missing or not isinstance(provider, TaskProvider):
        raise EvalError(f"{what} is {describe(provider)}, which is no provider: it lacks {', '.join(missing)}")
    return MadeProvider(provider, plugins.ref_of("providers", name), on_record(options))


def sample_benchmark(
    made: MadeProvider, *, benchmark_id: str, split: str | None, count: int, seed: int, episodes: int = 1
) -> Benchmark:
    """A benchmark of the tasks that a provider draws; how they were drawn is part of its metadata and digest.

    Args:
        made: The provider.
        benchmark_id: The benchmark's name.
        split: A split of the provider; None is its first. The benchmark's one split has the same name.
        count: How many tasks.
        seed: What they are drawn from.
        episodes: Seeds a task: 0 and on.

    Raises:
        EvalError: There is no such split, or not so many different tasks.
        ContractError: What the provider draws breaks a contract.
    """
    provider = made.value
    if split is None:
        split = str(provider.splits[0])
    if split not in provider.splits:
        hint = did_you_mean(split, provider.splits)
        raise EvalError(f"{provider.id!r} has no split {split!r}{hint} (splits: {', '.join(provider.splits)})")
    if not 0 <= seed < SEED_LIMIT:
        raise EvalError(f"--seed must lie from 0 to {SEED_LIMIT - 1}, not {seed}")
    drawn = provide(provider, splits={split: tuple(range(episodes))}, split=split, count=count, seed=seed)
    metadata = {
        **drawn.metadata,
        **getattr(provider, "metadata", {}),
        "provider.ref": made.ref,
        "provider.options": canonical_json(made.options).decode(),
        ENV: provider.env,
    }
    return attrs.evolve(drawn, id=benchmark_id, metadata=metadata)
