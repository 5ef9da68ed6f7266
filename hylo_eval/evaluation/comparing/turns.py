"""Two runs in one process that take turns, an episode each: never more than one of them moves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_Result = TypeVar("_Result")


class Turns:
    """Whose turn it is. Runs ask before they go on; whoever is not at turn waits.

    Args:
        players: How many there are; player 0 begins.
    """

    def __init__(self, players: int) -> None:
        self._changed = threading.Condition()
        self._left = list(range(players))
        self._at = 0
        self._over = False

    @property
    def over(self) -> bool:
        """Whether nobody waits for a turn any more."""
        return self._over

    def wait_for(self, player: int) -> None:
        """Wait until it is this player's turn, or everything is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or self._left[self._at] == player)

    def pass_on(self, player: int) -> None:
        """Give the turn to the next player, and wait until it comes back."""
        with self._changed:
            self._at = (self._at + 1) % len(self._left)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._over or self._left[self._at] == player)

    def leave(self, player: int) -> None:
        """Take part no longer."""
        with self._changed:
            place = self._left.index(player)
            del self._left[place]
            self._at = place % len(self._left) if self._left else 0
            self._over = self._over or not self._left
            self._changed.notify_all()

    def end(self) -> None:
        """Let everybody go on and find out that it is over."""
        with self._changed:
            self._over = True
            self._changed.notify_all()


class Player(Generic[_Result]):
    """One run in a thread of its own, since a simulator's contexts belong to the thread that made them.

    It begins when its first turn comes; when it raises, everything is over.

    Args:
        turns: Whom it plays with.
        number: Its number there.
        run: The run.

    Attributes:
        result: What the run came to; None before its end, and where everything was over before its first turn.
        error: What it raised.
    """

    def __init__(self, turns: Turns, number: int, run: Callable[[], _Result]) -> None:
        self.result: _Result | None = None
        self.error: BaseException | None = None
        self._turns = turns
        self._number = number
        self._run = run
        # A simulator that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._play, name=f"hylo-race-{number}", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for the end of the run."""
        while self._thread.is_alive():
            # With a timeout, a second signal reaches the main thread while a simulator hangs in this one.
            self._thread.join(timeout=0.2)

    def _play(self) -> None:
        self._turns.wait_for(self._number)
        try:
            if not self._turns.over:
                self.result = self._run()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits for it
            self.error = error
            self._turns.end()
        finally:
            self._turns.leave(self._number)
