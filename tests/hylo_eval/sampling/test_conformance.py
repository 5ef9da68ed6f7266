"""Every provider we ship keeps its rules, and each rule is broken by a provider that does not."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hylo_core.task import TaskSpec
from hylo_eval import plugins
from hylo_eval.plugins import BUILT_IN
from hylo_eval.sampling.conformance import RULES, check_provider
from tests.episodes import task


@pytest.mark.parametrize("plugin", BUILT_IN["providers"], ids=lambda plugin: plugin.name)
def test_what_we_ship_keeps_every_rule(plugin: plugins.Plugin) -> None:
    """With its default options."""
    report = check_provider(plugins.load("providers", plugin.name))
    report.require()
    assert [finding.rule for finding in report.findings] == [rule.name for rule in RULES]


class Good:
    id, version, env = "good", "1", "reach"
    splits: Any = ("one", "two")

    def tasks(self, split: str, count: int, seed: int) -> Any:
        return tuple(self.spec(split, number, seed) for number in range(count))

    def spec(self, split: str, number: int, seed: int) -> TaskSpec:
        return task(f"{split}/{seed}-{number}", params={"number": number, "seed": seed})


class Nameless(Good):
    env = ""


class Splitless(Good):
    splits: Any = ["one"]  # noqa: RUF012


class Listing(Good):
    def tasks(self, split: str, count: int, seed: int) -> Any:
        return list(super().tasks(split, count, seed))


class Repeating(Good):
    def spec(self, split: str, number: int, seed: int) -> TaskSpec:
        return super().spec(split, min(number, 3), seed)


class Counting(Good):
    def tasks(self, split: str, count: int, seed: int) -> Any:
        return tuple(self.spec(split, count - number, seed) for number in range(count))


class Hidden(Good):
    def spec(self, split: str, number: int, seed: int) -> TaskSpec:
        return task(f"{split}/{number}", params={"seed": seed, "drawn": random.random()})


class Seedless(Good):
    def spec(self, split: str, number: int, seed: int) -> TaskSpec:
        return super().spec(split, number, 0)


@pytest.mark.parametrize(
    ("provider", "broken"),
    [
        (Good, set()),
        (Nameless, {"members"}),
        (Splitless, {"members"}),
        (Listing, {"count"}),
        (Repeating, {"different"}),
        (Counting, {"prefix"}),
        (Hidden, {"pure", "prefix"}),
        (Seedless, {"seeds"}),
    ],
)
def test_a_rule_is_broken_by_who_breaks_it(provider: type[Any], broken: set[str]) -> None:
    """And by nobody else."""
    assert {finding.rule for finding in check_provider(provider).broken} == broken


def test_few_tasks_say_nothing_of_seeds() -> None:
    """They may be the same by chance."""
    outcomes = {finding.rule: finding.outcome for finding in check_provider(Seedless, count=2).findings}
    assert outcomes["seeds"] == "not_applicable"
