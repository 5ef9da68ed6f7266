"""A fixture that runs the command line in this process."""

import json
from typing import Any

import attrs
import pytest


@attrs.frozen
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON: fails when anything else stands there."""
        return json.loads(self.out)


@pytest.fixture
def hylo(capfd, monkeypatch):
    """Run ``hylo-eval`` with arguments; gives exit code and both streams, as a process would leave them."""
    from hylo_eval.cli.group import run

    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Outcome(code, out, err)

    return call
