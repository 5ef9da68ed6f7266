"""``hylo-eval check-env``."""

import pytest

from tests.benchmark_files import reach_file

BROKEN_ENV = '''
from hylo_eval.envs.reach import ReachEnv

class Broken(ReachEnv):
    """Reports success as a number, and prints."""

    def __init__(self, task):
        super().__init__(task)
        print("a simulator says hello")

    def step(self, action):
        *rest, info = super().step(action)
        return (*rest, {**info, "success": 1})
'''

BENCHMARK = reach_file("broken_env:Broken", benchmark_id="broken")


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A benchmark file of an environment that breaks a rule."""
    (tmp_path / "broken_env.py").write_text(BROKEN_ENV, encoding="utf-8")
    (tmp_path / "broken.toml").write_text(BENCHMARK, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "broken.toml"


@pytest.mark.parametrize("name", ["reach_fixed", "reach", "hylo_eval.envs.reach:ReachEnv"])
def test_a_good_env_keeps_its_rules(name, hylo):
    """By benchmark, alias and reference; every rule is printed with its sentence."""
    outcome = hylo("check-env", name)
    assert (outcome.code, outcome.err) == (0, "")
    assert "on testing/reach_fixed" in outcome.out
    assert "success" in outcome.out
    assert " 0 broken" in outcome.out


def test_a_simulator_that_lacks_something_at_reset_ends_with_3_and_says_it_once(hylo, broken):
    """Not as the finding of every rule."""
    lacking = """
    def reset(self, **arguments):
        raise EnvUnready("a texture is missing", fix="fetch the textures")
"""
    text = BROKEN_ENV.replace("\nclass", "from hylo_eval.errors import EnvUnready\n\nclass").rstrip() + lacking
    (broken.parent / "lacking_env.py").write_text(text, encoding="utf-8")
    broken.write_text(BENCHMARK.replace("broken_env", "lacking_env"), encoding="utf-8")
    outcome = hylo("check-env", broken)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.count("a texture is missing\n  fix: fetch the textures") == 1


def test_the_fix_in_an_error_of_the_env_is_a_line(hylo, broken):
    """And no escaped line end in the middle of a sentence."""
    text = BROKEN_ENV.replace(
        "        *rest, info =", '        raise EvalError("it is stuck", fix="oil it")\n        *rest, info ='
    )
    text = text.replace("\nclass", "from hylo_eval.errors import EvalError\n\nclass")
    (broken.parent / "stuck_env.py").write_text(text, encoding="utf-8")
    broken.write_text(BENCHMARK.replace("broken_env", "stuck_env"), encoding="utf-8")
    outcome = hylo("check-env", broken)
    assert outcome.code == 2
    assert "\\n" not in outcome.out
    assert "fix: oil it" in [line.strip() for line in outcome.out.splitlines()]


def test_a_broken_rule_is_named_and_ends_with_2(hylo, broken):
    """With what was found; what the simulator prints is not on standard output."""
    outcome = hylo("check-env", broken)
    assert outcome.code == 2
    line = next(line for line in outcome.out.splitlines() if line.startswith("BROKEN  success "))
    assert "info['success'] is a bool" in line
    assert "a simulator says hello" not in outcome.out
    assert "a simulator says hello" in outcome.err


def test_json_lists_every_rule_and_nothing_else_is_on_standard_output(hylo, broken):
    """Also while the simulator prints."""
    from hylo_eval.envs.conformance import RULES

    outcome = hylo("check-env", broken, "--json")
    shown = outcome.json
    assert outcome.code == 2
    assert shown["ok"] is False
    assert [rule["rule"] for rule in shown["rules"]] == [rule.name for rule in RULES]
    assert shown["seeds"] == [7, 8]
    assert shown["env"] == {"name": "broken_env:Broken", "ref": "broken_env:Broken", "options": {}}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nothing",), "there is no benchmark 'nothing'"),
        (("reach_fixed", "--task", "5"), "has no task 5"),
        (("reach_fixed", "--env-arg", "size=3"), "env 'reach' has no option 'size'"),
        (("reach_fixed", "--env-arg", "size"), "NAME=VALUE"),
        (("no_module:Env",), "no module 'no_module'"),
        (("collections:OrderedDict", "--task", "0"), "no shipped benchmark uses"),
        (("fractions:Fraction",), "env 'fractions:Fraction' cannot be made: TypeError"),
    ],
)
def test_what_cannot_be_checked_says_why(arguments, reason, hylo):
    """Exit code 2, one message."""
    outcome = hylo("check-env", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert reason in outcome.err
    assert "fault in Hylo" not in outcome.err
