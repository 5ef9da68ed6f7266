"""What a worker process is told, as JSON: names and options, never objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from hylo_core.contract import Record
from hylo_core.spec import AgentSpec, EnvSpec
from hylo_core.trace import AgentInfo, BenchmarkRef


@attrs.frozen(kw_only=True)
class Recipe(Record):
    """How a worker makes what it runs episodes with.

    Attributes:
        benchmark: What the traces say they are from.
        env: Alias or reference of the env factory.
        env_defaults: The benchmark's own options.
        env_options: Options as text, from the command line.
        folder: Where the benchmark file lies, for factories that read what is beside it.
        agent: Alias, reference or agent file.
        agent_options: Options as text.
        safety: Filters as the command line names them; empty for the defaults.
        run: The run folder.
        max_attempts: Tries of an episode whose infrastructure fails.
        fsync: Force each trace to disk.
        video: Which episodes are kept as video.
        replicate: Which repetition of the same instances this is, from 1.
    """

    benchmark: BenchmarkRef
    env: str
    env_defaults: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    env_options: Mapping[str, str] = attrs.field(factory=dict[str, str])
    folder: str | None = None
    agent: str
    agent_options: Mapping[str, str] = attrs.field(factory=dict[str, str])
    safety: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    run: str
    max_attempts: int = 3
    fsync: bool = False
    video: Literal["none", "failures", "all"] = "none"
    replicate: int = 1


@attrs.frozen(kw_only=True)
class RunSetup(Record):
    """What a run consists of beside its plan.

    Attributes:
        agent: The agent manifest.
        agent_spec: What the agent expects.
        agent_ref: The reference and options the agent was made from; empty for an object passed in.
        env_spec: What the environment offers.
        env_ref: The reference and options the environment is made from; empty for a factory passed in.
        safety: Each filter's own description.
        versions: The simulator's packages.
        renderer: What draws the pictures.
        max_attempts: Tries of an episode whose infrastructure fails.
        replicate: Which repetition of the same instances this is, from 1.
        interpreter: What the episodes run on: executable, version of Python, packages.
    """

    agent: AgentInfo
    agent_spec: AgentSpec
    agent_ref: Mapping[str, Any]
    env_spec: EnvSpec
    env_ref: Mapping[str, Any]
    safety: tuple[Mapping[str, Any], ...] = attrs.field(converter=tuple)
    versions: Mapping[str, str]
    renderer: str
    max_attempts: int
    replicate: int = 1
    interpreter: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
