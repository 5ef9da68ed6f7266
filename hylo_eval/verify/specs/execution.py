"""Specifications of the modes that run a program or a script in the candidate's workspace."""

from __future__ import annotations

from enum import StrEnum

import attrs

from hylo_eval.verify.specs import DEFAULT_WORKSPACE, fields


class OutputComparison(StrEnum):
    """How a program's output is compared with the expected one."""

    TOKENS = "tokens"
    EXACT = "exact"
    FLOAT = "float"
    DECIMAL_LINES = "decimal_lines"


@attrs.frozen(kw_only=True)
class ExecutionSpec:
    """The field that every execution mode has.

    Attributes:
        workspace: The candidate's folder. A path under ``/app`` is taken from the workspace of the command.
    """

    workspace: str = attrs.field(default=DEFAULT_WORKSPACE, converter=fields.TEXT)


@attrs.frozen(kw_only=True)
class StdioSpec(ExecutionSpec):
    """A program compared on hidden cases of standard input and output.

    Attributes:
        command: The shell command of the program.
        build: A shell command run once before the cases; empty for none.
        cases: The folder of cases in the tests directory.
        compare: How the outputs are compared.
        special_judge: A Python file in the tests directory that decides instead; None for no such file.
        per_case_timeout: Seconds for one case.
        min_cases: The least number of cases that makes the task valid.
        float_tolerance: Absolute and relative tolerance of the ``float`` comparison.
    """

    command: str = attrs.field(converter=fields.TEXT)
    build: str = attrs.field(default="", converter=fields.TEXT)
    cases: str = attrs.field(default="cases", converter=fields.TEXT)
    compare: OutputComparison = attrs.field(
        default=OutputComparison.TOKENS, converter=fields.named(fields.choice(OutputComparison))
    )
    special_judge: str | None = attrs.field(default=None, converter=fields.OPTIONAL_TEXT)
    per_case_timeout: float = attrs.field(default=10.0, converter=fields.NUMBER)
    min_cases: int = attrs.field(default=1, converter=fields.INTEGER)
    float_tolerance: float = attrs.field(default=1e-6, converter=fields.NUMBER)


@attrs.frozen(kw_only=True)
class ScriptSpec(ExecutionSpec):
    """A grading script of the task's own.

    Attributes:
        path: The script in the tests directory; ``.sh`` runs under bash, anything else under python3.
        args: Its arguments.
        timeout: Seconds it may take.
        reward_key: The member of a reported ``reward.json`` that is the reward.
        verdict_file: The file with a whole verdict that the script writes; None for a bare reward.
    """

    path: str = attrs.field(converter=fields.TEXT)
    args: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    timeout: float = attrs.field(default=600.0, converter=fields.NUMBER)
    reward_key: str = attrs.field(default="reward", converter=fields.TEXT)
    verdict_file: str | None = attrs.field(default=None, converter=fields.OPTIONAL_TEXT)
