"""The type of every option that counts something."""

from __future__ import annotations

from typing import Any

import click

from hylo_core.canonical import describe
from hylo_eval.errors import EvalError
from hylo_eval.numerals import MOST_COUNTED, require_option_count


class Count(click.types.IntParamType):
    """A whole number within bounds, refused with what would be accepted.

    Args:
        least: The least that is accepted.
        most: The most.
    """

    def __init__(self, least: int = 1, most: int = MOST_COUNTED) -> None:
        self._least = least
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; raises EvalError where it is none, or out of bounds."""
        del ctx
        name = param.opts[0] if param is not None else "the number"
        try:
            number = int(value)
        except ValueError:
            # Python refuses thousands of digits in the same way as letters.
            wanted = f"must be a whole number from {self._least} to {self._most}"
            raise EvalError(f"{name} {wanted}, not {describe(value)}", fix=f"{name} {self._least}, or more") from None
        return require_option_count(name, number, least=self._least, most=self._most)
