"""Steps held by column: most readers of a trace want one short member of every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

StepT = TypeVar("StepT")


class ColumnSteps(Sequence[StepT]):
    """A sequence of steps that holds their short members as columns, and reads the whole steps on first use.

    Args:
        columns: Member of a step -> its value at every step, in order; all of one length, at least one column.
        read: Returns all steps, whole. Called at most once, and only when a step is used.
    """

    __slots__ = ("_columns", "_read", "_whole")

    def __init__(self, columns: Mapping[str, Sequence[Any]], read: Callable[[], tuple[StepT, ...]]) -> None:
        self._columns = columns
        self._read = read
        self._whole: tuple[StepT, ...] | None = None

    def column(self, name: str) -> Sequence[Any]:
        """One member of every step; see :meth:`hylo_core.trace.EpisodeTrace.column`."""
        found = self._columns.get(name)
        return [getattr(step, name) for step in self.whole] if found is None else found

    @property
    def whole(self) -> tuple[StepT, ...]:
        """The steps themselves."""
        if self._whole is None:
            self._whole = self._read()
        return self._whole

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    @overload
    def __getitem__(self, index: int) -> StepT: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[StepT, ...]: ...
    def __getitem__(self, index: int | slice) -> StepT | tuple[StepT, ...]:
        return self.whole[index]

    def __iter__(self) -> Iterator[StepT]:
        return iter(self.whole)

    def __eq__(self, other: object) -> bool:
        steps = cast("ColumnSteps[Any]", other).whole if isinstance(other, ColumnSteps) else other
        return self.whole == steps if isinstance(steps, tuple) else NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as the steps themselves: they hold dicts

    def __repr__(self) -> str:
        return repr(self.whole)
