"""Runs of parts of one selection (``--shard i/n``): what each holds, and whether they are parts of the same whole."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import attrs

from hylo_core.canonical import describe
from hylo_core.frozen import FrozenMapping, thaw
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.activity import Presence, presence, read_activities
from hylo_eval.evaluation.plan import Plan, read_shard_name
from hylo_eval.evaluation.status import refuse_no_run
from hylo_eval.queue import Attempt, Machine, Result, RunQueue
from hylo_eval.queue.configuration import ABSENT, MAX_LINES, Difference, differ_by_release, differences
from hylo_eval.queue.transfer import by_key
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import read_manifest

_SAME_IN_MANIFEST: Final = ("scorers", "versions", "renderer")
"""What the configuration does not hold, and what must be one thing in one result all the same."""

_SHOWN_KEYS: Final = 3


@attrs.frozen(kw_only=True)
class Shard:
    """A run of a part of a selection.

    Attributes:
        run: Its folder.
        manifest: Its manifest.
        config: What it is; anybody may have written it.
        number: Which part, from 1.
        count: Of how many.
        results: Its episodes, in declared order.
        attempts: The attempts that have ended, by key.
        holders: The ids of the processes that hold leases, by key; they are gone.
    """

    run: RunFolder
    manifest: Mapping[str, Any]
    config: Mapping[str, Any]
    number: int
    count: int
    results: Sequence[Result]
    attempts: Mapping[str, tuple[Attempt, ...]]
    holders: Mapping[str, str] = attrs.field(factory=dict[str, str])

    @property
    def name(self) -> str:
        """``2/8``."""
        return f"{self.number}/{self.count}"

    @property
    def whole_config(self) -> dict[str, Any]:
        """The configuration of the run of which this is a part."""
        config = dict(self.config)
        config["selection"] = {name: value for name, value in config["selection"].items() if name != "shard"}
        return config

    @property
    def host(self) -> str:
        """The machine it began on; empty where the manifest does not say."""
        host = self.manifest.get("host")
        name = cast("dict[str, Any]", host).get("name") if isinstance(host, dict) else None
        return name if isinstance(name, str) else ""


def read_shard(run: RunFolder) -> Shard:
    """Read a run of a part.

    Raises:
        EvalError: It is no run, it is a whole one, or somebody works on it.
        QueueError: Its queue cannot be read.
    """
    refuse_no_run(run)
    machine = Machine()
    for activity in read_activities(run)[0]:
        if presence(activity, machine) is Presence.WORKING:
            owner = activity.holder
            raise EvalError(
                f"process {owner.pid} on {owner.host} works on {run.path}", fix="wait for it, or stop it with Ctrl-C"
            )
    manifest = read_manifest(run.manifest)
    with contextlib.closing(RunQueue.open(run.queue)) as queue:
        config = cast("dict[str, Any]", thaw(queue.config))
        selection = config.get("selection")
        shard = cast("dict[str, Any]", selection).get("shard") if isinstance(selection, dict) else None
        if not isinstance(shard, str):
            raise EvalError(f"{run.path} is a run of its own and no part of one", fix="run the parts with --shard I/N")
        number, count = read_shard_name(shard)
        return Shard(
            run=run,
            manifest=manifest,
            config=config,
            number=number,
            count=count,
            results=tuple(queue.results()),
            attempts=by_key(queue.attempts()),
            holders={lease.key: lease.owner for lease in queue.leases()},
        )


def refuse_strangers(shards: Sequence[Shard], *, allow_code_change: bool) -> None:
    """Refuse runs that are not different parts of one selection, run in the same way.

    Args:
        shards: The runs.
        allow_code_change: Accept parts that other states of Hylo's own source have run.

    Raises:
        EvalError: Naming every difference, or the parts that stand twice.
    """
    first = shards[0]
    seen: dict[int, Shard] = {}
    for shard in shards:
        if shard.count != first.count:
            raise EvalError(
                f"{shard.run.path} is part {shard.name} and {first.run.path} part {first.name}: "
                "they divide a run in different ways",
                fix="name parts of one --shard I/N with the same N",
            )
        if shard.number in seen:
            raise EvalError(
                f"part {shard.name} stands twice: {seen[shard.number].run.path} and {shard.run.path}",
                fix="name each part once",
            )
        seen[shard.number] = shard
        found = list(differences(first.whole_config, shard.whole_config))
        if allow_code_change and differ_by_release(found):
            found = []
        only_code = differ_by_release(found)
        found += differences(_kept(first), _kept(shard))
        if found:
            raise EvalError(
                f"{shard.run.path} was not run as {first.run.path} was:\n{_lines(found)}",
                fix="--allow-code-change merges them and records it" if only_code else "",
            )


def refuse_other_instances(shard: Shard, whole: Plan) -> None:
    """Refuse a part whose queue holds other instances than its part of the selection.

    Raises:
        EvalError: Naming some of them.
    """
    declared = {item.key for item in part_of(whole, shard.number, shard.count).declared}
    found = {result.key for result in shard.results}
    for keys, what in ((found - declared, "does not belong to it"), (declared - found, "is missing from its queue")):
        if keys:
            named = ", ".join(describe(key) for key in sorted(keys)[:_SHOWN_KEYS])
            raise EvalError(
                f"{shard.run.path}, part {shard.name}: {named} {what} ({len(keys)} in all)",
                fix="name the benchmark that the parts have run with --benchmark, or run this part again",
            )


def part_of(whole: Plan, number: int, count: int) -> Plan:
    """One part of a selection."""
    return attrs.evolve(whole, selection=FrozenMapping({**whole.selection, "shard": f"{number}/{count}"}))


def describe_shard(shard: Shard) -> dict[str, Any]:
    """What the manifest of the whole says of a part."""
    kept = ("run_id", "created_at", "config_digest", "hylo", "host", "execution", "continued")
    return {"shard": shard.name, **{name: shard.manifest[name] for name in kept if name in shard.manifest}}


def _kept(shard: Shard) -> dict[str, Any]:
    return {name: shard.manifest.get(name) for name in _SAME_IN_MANIFEST}


def _lines(found: Sequence[Difference]) -> str:
    return "\n".join(_line_texts(found))


def _line_texts(found: Sequence[Difference]) -> Iterator[str]:
    for difference in found[:MAX_LINES]:
        one, other = (
            "nothing" if value is ABSENT else describe(value) for value in (difference.stored, difference.given)
        )
        yield f"  {difference.path}: {one} there, {other} here"
    if len(found) > MAX_LINES:
        yield f"  and {len(found) - MAX_LINES} more"
