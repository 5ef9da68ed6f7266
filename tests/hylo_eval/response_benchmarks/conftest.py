"""The command line in this process, as for the tests of the commands."""

from tests.hylo_eval.cli.conftest import hylo

__all__ = ["hylo"]
