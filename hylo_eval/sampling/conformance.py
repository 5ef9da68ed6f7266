"""Whether a provider keeps to its contract, rule by rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from hylo_core.benchmark import TaskProvider
from hylo_core.task import TaskSpec
from hylo_eval.conformance import Broken, ConformanceReport, NotApplicable, Rule, run_rules

Drawn = tuple[TaskSpec, ...]


@attrs.frozen
class _Subject:
    """A provider and how it is made anew.

    Attributes:
        factory: Makes the provider.
        options: For the factory.
        count: How many tasks are drawn.
    """

    factory: Callable[..., Any]
    options: dict[str, Any]
    count: int

    @property
    def provider(self) -> Any:
        """A new one, so that nothing is left over from a draw before."""
        return self.factory(**self.options)

    def draw(self, split: str, count: int | None = None, seed: int = 1) -> Drawn:
        """What a new provider draws."""
        return self.provider.tasks(split, self.count if count is None else count, seed)


def check_provider(factory: Callable[..., Any], /, *, count: int = 10, **options: Any) -> ConformanceReport:
    """Check a provider against its contract (:mod:`hylo_eval.sampling.providers`).

    Args:
        factory: Makes the provider.
        count: How many tasks to draw; every split must hold so many.
        options: For the factory.

    Returns:
        A report of every rule; ``require()`` raises where one is broken.
    """
    name = str(getattr(factory, "__name__", factory))
    return run_rules(name, _Subject(factory, dict(options), count), RULES)


def _members(subject: _Subject) -> None:
    provider = subject.provider
    if not isinstance(provider, TaskProvider):
        raise Broken("it lacks id, version or tasks")
    for member in ("id", "version", "env"):
        value: Any = getattr(provider, member, None)
        if not isinstance(value, str) or not value:
            raise Broken(f"its {member} is {value!r}")
    splits: Any = getattr(provider, "splits", None)
    if not isinstance(splits, tuple) or not splits:
        raise Broken(f"its splits are {splits!r}")


def _count(subject: _Subject) -> None:
    for split in subject.provider.splits:
        for count in (1, subject.count):
            drawn = subject.draw(split, count)
            if not isinstance(drawn, tuple) or len(drawn) != count:
                raise Broken(f"asked for {count} tasks of {split!r}, it gave {len(drawn)} in a {type(drawn).__name__}")


def _different(subject: _Subject) -> None:
    for split in subject.provider.splits:
        drawn = subject.draw(split)
        for what, found in (("id", {task.id for task in drawn}), ("digest", {task.digest() for task in drawn})):
            if len(found) != len(drawn):
                raise Broken(f"{len(drawn)} tasks of {split!r} have {len(found)} different {what}s")


def _pure(subject: _Subject) -> None:
    import random

    import numpy as np

    split = subject.provider.splits[0]
    first = _digests(subject.draw(split))
    # What a hidden draw from a global generator would see.
    random.random()  # noqa: S311 - nothing secret is drawn
    np.random.random()  # noqa: NPY002 - the legacy generator is the one that would be drawn from
    provider = subject.provider
    provider.tasks(split, 1, 2)
    if _digests(provider.tasks(split, subject.count, 1)) != first:
        raise Broken("drawn again, after another draw, the list is another one")


def _prefix(subject: _Subject) -> None:
    for split in subject.provider.splits:
        longer = _digests(subject.draw(split))
        if _digests(subject.draw(split, subject.count // 2)) != longer[: subject.count // 2]:
            raise Broken(f"{subject.count // 2} tasks of {split!r} are not the first of {subject.count}")


def _seeds(subject: _Subject) -> None:
    if subject.count < 5:
        raise NotApplicable("so few tasks may be the same by chance")
    split = subject.provider.splits[0]
    if len({_digests(subject.draw(split, seed=seed)) for seed in range(3)}) == 1:
        raise Broken("seeds 0, 1 and 2 give one list")


def _digests(tasks: Drawn) -> tuple[str, ...]:
    return tuple(task.digest() for task in tasks)


RULES: Final[tuple[Rule[_Subject], ...]] = (
    Rule("members", "It has texts id, version and env, and a tuple of splits, the default first.", _members),
    Rule("count", "A list is a tuple of as many tasks as were asked for.", _count),
    Rule("different", "No two tasks of a list have the same id or the same digest.", _different),
    Rule("pure", "A list depends on split, count and seed alone.", _pure),
    Rule("prefix", "A shorter list is the beginning of a longer one.", _prefix),
    Rule("seeds", "Other seeds give other lists.", _seeds),
)
"""What every provider must keep to."""
