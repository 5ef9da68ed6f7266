"""``docs/graders.md``: what it shows works, and it names what there is."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hylo_eval
from hylo_eval import plugins
from hylo_eval.evaluation import graders
from hylo_eval.grading.material import SUMMARY_SCHEMA
from hylo_eval.verify.verifiers.endpoint import ORIGIN_VARIABLE, TOKEN_VARIABLE

PAGE = (Path(hylo_eval.__file__).parents[1] / "docs" / "graders.md").read_text(encoding="utf-8")


def test_the_example_runs() -> None:
    """The Python on the page, as it stands."""
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("plugin", plugins.BUILT_IN["graders"], ids=lambda plugin: plugin.name)
def test_every_grader_and_option_is_named(plugin: plugins.Plugin) -> None:
    """In the table of graders, or in that of verifiers."""
    assert f"| `{plugin.name}` |" in PAGE
    parameters = inspect.signature(plugins.load("graders", plugin.name)).parameters.values()
    for parameter in parameters:
        if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
            assert f"`{parameter.name}`" in PAGE


def test_names_are_the_codes_own() -> None:
    """Variables and the schema of the summary."""
    assert {ORIGIN_VARIABLE, TOKEN_VARIABLE, SUMMARY_SCHEMA} <= set(re.findall(r"[A-Za-z_/.0-9]+", PAGE)) | {
        word.rstrip(".") for word in re.findall(r"`([^`]+)`", PAGE)
    }
    for options in graders._OPTIONS_OF_KIND.values():
        assert all(f"`{option}`" in PAGE for option in options)
