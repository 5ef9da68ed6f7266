"""By what episodes are shown together: by task, or, where a task has too few of them to say anything, by tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import attrs

from hylo_eval.numerals import counted

FEW_EPISODES: Final = 2
"""Up to so many, a rate with its interval says next to nothing: of two episodes, at best 34 % to 100 %."""
_MOST_NAMED: Final = 60


@attrs.frozen(kw_only=True)
class Grouping:
    """What stands in the rows of a table or as the bars of a chart.

    Attributes:
        by: What the rows are; ``nothing`` where no group is large enough, and only the whole has a rate.
        names: Of the rows, in their order.
    """

    by: Literal["task", "tag", "nothing"]
    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """Why rows are no tasks; empty where they are."""
        few = f"No task has more than {counted(FEW_EPISODES, 'episode')}"
        if self.by == "tag":
            return f"{few}: grouped by the tags of the tasks; an episode counts under each of its tags."
        return f"{few}, too few for a rate of its own." if self.by == "nothing" else ""


def choose_grouping(episodes: Iterable[tuple[str, str, Sequence[str]]]) -> Grouping:
    """Choose by what episodes are shown.

    Args:
        episodes: Instance key, task and tags of each; of several runs on the same instances a key stands several
            times, and counts once.

    Returns:
        By task where there is one task, or one with more than :data:`FEW_EPISODES`. Otherwise by the tags that hold
        more than these and not all, the largest first; of tags on the same episodes the one that is named first.
    """
    tasks: dict[str, set[str]] = {}
    tags: dict[str, set[str]] = {}
    for key, task, named in episodes:
        tasks.setdefault(task, set()).add(key)
        for tag in named:
            tags.setdefault(tag, set()).add(key)
    if len(tasks) <= 1 or max(map(len, tasks.values())) > FEW_EPISODES:
        return Grouping(by="task", names=tuple(tasks))
    everything = sum(map(len, tasks.values()))
    distinct: dict[frozenset[str], str] = {}
    for tag, keys in tags.items():
        if FEW_EPISODES < len(keys) < everything:
            distinct.setdefault(frozenset(keys), tag)
    if len(distinct) <= 1:
        return Grouping(by="nothing", names=())
    return Grouping(by="tag", names=tuple(distinct[keys] for keys in sorted(distinct, key=len, reverse=True)))


def short_names(keys: Sequence[str]) -> Mapping[str, str]:
    """Instance keys as they are listed beside each other: without the folder that all of them share.

    Of a task that stands there once, the seed is left out, too.
    """
    tasks = [key.rpartition("#")[0] for key in keys]
    folders = {task.rpartition("/")[0] for task in tasks}
    shared = f"{folders.pop()}/" if len(folders) == 1 else ""
    times = Counter(tasks)
    return {
        key: (task if task and times[task] == 1 else key).removeprefix(shared)
        for key, task in zip(keys, tasks, strict=True)
    }


def listed(names: Sequence[str]) -> tuple[Sequence[str], int]:
    """The names that are shown, and how many more there are."""
    return names[:_MOST_NAMED], max(0, len(names) - _MOST_NAMED)
