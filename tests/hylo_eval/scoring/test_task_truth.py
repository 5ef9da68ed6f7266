"""What a task's answers are judged by is looked at before anybody answers, and every family may carry a verifier."""

import hashlib
import re

import attrs
import pytest

from hylo_core.refs import load_ref
from hylo_eval.benchmarks import benchmark_files, env_of, load_benchmark
from hylo_eval.errors import EnvError
from hylo_eval.families import find_family
from tests.hylo_eval.cli.conftest import hylo

__all__ = ["hylo"]

VERIFIER = {
    "verifier": {"mode": "json-schema", "schema": "a.json"},
    "verifier_source": "reply:text",
    "verifier_resources": {"a.json": "{}"},
}
BENCHMARK = """
id = "questions"
version = "1"
env = "reach"
splits = {heldout = [0, 1, 2, 3]}
[[tasks]]
id = "drawer"
version = "1"
instruction = "answer"
max_steps = 1
init = {kind = "seed"}
success = {kind = "builtin", name = "env_success"}
[tasks.params]
goal_m = [0.1, 0.1, 0.1]
tolerance_m = 0.1
verifier_source = "action"
[tasks.params.verifier]
mode = "mcq"
expected = "B"
"""
CUPS = """
id = "cups"
version = "1"
env = "response"
splits = {heldout = [0]}
[[tasks]]
id = "cups/kitchen"
version = "1"
instruction = "How many?"
max_steps = 1
init = {kind = "init_state", uri = "params", count = 1}
success = {kind = "builtin", name = "response_correct"}
[tasks.params.verifier]
mode = "numeric"
expected = "2"
tolerance_abs = 0.0
tolerance_rel = 0.0
[[tasks.params.images]]
path = "kitchen.png"
sha256 = "SHA256"
width = 4
height = 3
[tasks.params.truth]
mode = "answer"
answer = {type = "integer", value = 2}
answer_weight = 1.0
annotation_weight = 0.0
[tasks.params.truth.contract]
reward_contract_version = "v0"
answer = {id = "answer_exact_match_v0", type = "integer"}
annotation = {id = "bbox_soft_iou_v0", type = "bbox"}
"""


@pytest.mark.parametrize(("accuracy", "mean"), [("1", 1.0), ("0", 0.0)])
def test_a_task_of_our_own_families_may_carry_its_verifier(accuracy, mean, tmp_path, hylo):
    """Scored by both: the family's own truth, and the verdict on the same text."""
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (4, 3)).save(tmp_path / "kitchen.png")
    sha256 = hashlib.sha256((tmp_path / "kitchen.png").read_bytes()).hexdigest()
    bench = tmp_path / "cups.toml"
    bench.write_text(CUPS.replace("SHA256", sha256))
    agent = ("--agent", "response-scripted", "--agent-arg", f"accuracy={accuracy}", "--run-root", tmp_path)
    ran = hylo("run", bench, *agent, "--scorer", "success", "--scorer", "verdict", "--json")
    assert ran.code == 0
    assert {name: summary["mean"] for name, summary in ran.json["scores"].items()} == {"success": mean, "verdict": mean}


def test_a_verifier_is_part_of_the_tasks_digest(tmp_path):
    """Another expectation is another benchmark."""
    bench = tmp_path / "bench.toml"
    digests: set[str] = set()
    for expected in ("action", "reply:text"):
        for answer in ("B", "C"):
            bench.write_text(BENCHMARK.replace("action", expected).replace('expected = "B"', f'expected = "{answer}"'))
            digests.add(load_benchmark(bench).digest())
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"mcq"', '"mcp"', "mcp"),
        ('expected = "B"', 'expected = "Z"', "Z"),
        ('expected = "B"', 'expectd = "B"', "expectd"),
        ('"action"', '"file:x"', "answer source"),
    ],
)
def test_a_malformed_verifier_is_refused_before_anybody_is_asked(old, new, reason, tmp_path, hylo):
    """By ``validate`` and by ``run``, with the place in the file."""
    bench = tmp_path / "bench.toml"
    bench.write_text(BENCHMARK.replace(old, new))
    ran = hylo("run", bench, "--agent", "zero", "--run-root", tmp_path / "runs")
    validated = hylo("benchmark", "validate", bench)
    for outcome in (ran, validated):
        assert outcome.code == 2
        where = f"{bench}: tasks\\[0\\]\\.params\\.verifier: .*{reason}"
        assert re.search(where, outcome.out + outcome.err)


@pytest.mark.parametrize("name", sorted(benchmark_files()))
def test_every_family_takes_a_verifier(name, tmp_path):
    """No shipped benchmark has a problem with one in its first task, and each has with a param that is a near miss."""
    made = load_benchmark(benchmark_files()[name])
    env, _ = env_of(made)
    family = find_family(env)
    if family is None or not family.check:
        pytest.skip("only the simulator knows what this family takes")
    check = load_ref(family.check)
    task = made.tasks[0]
    check(attrs.evolve(task, params={**task.params, **VERIFIER}), "")
    for wrong in ({"verifer": {}}, {"verifier": "mcq"}, {"verifier_source": 3}):
        with pytest.raises(EnvError, match=r"no param 'verifer'|must be"):
            check(attrs.evolve(task, params={**task.params, **wrong}), "")
