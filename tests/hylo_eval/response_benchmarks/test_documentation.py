"""``docs/responses.md``: what it shows works."""

import re
import tomllib
from pathlib import Path

import attrs

import hylo_eval
from hylo_eval.agents import chat
from hylo_eval.benchmarks import parse_benchmark
from hylo_eval.envs.response.files import PictureFile
from hylo_eval.plugins import BUILT_IN
from hylo_eval.verify.response.truth import ResponseTruth, read_truth

TEXT = (Path(hylo_eval.__file__).parents[1] / "docs" / "responses.md").read_text(encoding="utf-8")


def test_the_benchmark_file_is_one():
    """Every contract takes it: the file's, the picture's, the truth's."""
    (document,) = re.findall(r"```toml\n(.*?)```", TEXT, flags=re.DOTALL)
    (task,) = parse_benchmark(tomllib.loads(document)).tasks
    assert read_truth(task.params).expected_count == 2
    assert PictureFile.from_dict(task.params["images"][0]).width == 640


def test_every_member_of_the_truth_every_scorer_and_variable_is_named():
    """And no scorer of responses is forgotten."""
    named = {field.name for field in attrs.fields(ResponseTruth)}
    named |= {plugin.name for plugin in BUILT_IN["scorers"] if "scoring.response:" in plugin.ref}
    named |= {chat.BASE_URL_VARIABLE, chat.MODEL_VARIABLE, chat.KEY_VARIABLE}
    assert {name for name in named if name not in TEXT} == set()
