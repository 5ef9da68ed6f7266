"""A question with a broken truth is refused before the model is asked anything, by ``validate`` and by ``run``."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

import hylo_eval
from hylo_core.errors import ContractError
from hylo_eval import evaluate
from hylo_eval.agents.response_scripted import ResponseScripted
from hylo_eval.benchmarks import load_benchmark
from hylo_eval.envs.response import ResponseEnv
from hylo_eval.verify.response.truth_values import check_answer_value

Image = pytest.importorskip("PIL.Image")

DOCS = Path(hylo_eval.__file__).parents[1] / "docs" / "responses.md"


@pytest.fixture
def example(tmp_path):
    """Writes the example of docs/responses.md, changed, beside its picture, as a second task after a good one."""
    Image.fromarray(np.zeros((480, 640, 3), np.uint8)).save(tmp_path / "kitchen.png")
    sha256 = hashlib.sha256((tmp_path / "kitchen.png").read_bytes()).hexdigest()
    (text,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"[0-9a-f]{64}", sha256, text)
    head, _, task = text.partition("[[tasks]]")

    def write(old="", new="") -> Path:
        assert old in task
        second = task.replace("cups/kitchen", "cups/again").replace(old, new, 1)
        path = tmp_path / "cups.toml"
        path.write_text(f"{head}[[tasks]]{task}\n[[tasks]]{second}", encoding="utf-8")
        return path

    return write


BROKEN = [
    ("expected_count = 2", "expected_count = 2\nfoo = 1", "truth.foo: is not a key of ResponseTruth"),
    ("annotation_weight = 0.5", "annotation_weight = -1", "truth.annotation_weight: must be at least 0, not -1"),
    (
        "point_set_soft",
        "point_soft",
        "truth.contract: reward_contract.annotation.id must be 'point_set_soft_distance_v0'",
    ),
    (
        "[300, 90]",
        "[700, 90]",
        r"truth.annotation.value\[1\]: lies outside the picture of 640 x 480 pixels: \[700, 90\]",
    ),
    ("answer_weight = 0.5\n", "", "truth.answer_weight: is missing"),
    (
        "value = 2",
        'value = "two"',
        "truth.answer.value: must be an integer .* because its type is 'integer', not 'two'",
    ),
]


@pytest.mark.parametrize(("old", "new", "reason"), BROKEN)
def test_a_broken_truth_is_refused_before_the_first_question(example, hylo, tmp_path, old, new, reason):
    """With the file, the place of the task and the member; no run folder is made."""
    path = example(old, new)
    validated = hylo("benchmark", "validate", path)
    assert validated.code == 2
    assert re.search(rf"{re.escape(str(path))}: tasks\[1\].*({reason})", validated.out + validated.err)
    ran = hylo("run", path, "--agent", "response-scripted", "--run-root", tmp_path / "runs")
    assert ran.code == 2
    assert re.search(rf"{re.escape(str(path))}: tasks\[1\]\.params.*({reason})", ran.err)
    assert not (tmp_path / "runs").exists()


def test_the_example_itself_is_valid_and_runs(example, hylo, tmp_path):
    """So it is the change that is refused."""
    path = example()
    assert hylo("benchmark", "validate", path).code == 0
    ran = hylo("run", path, "--agent", "response-scripted", "--run-root", tmp_path / "runs", "--json")
    assert (ran.code, ran.json["scores"]["success"]["n_scored"]) == (0, 2)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("width = 640", "widht = 640", r"params\.images\[0\]\.width: is missing"),
        ("response_correct", "env_success", "response_correct"),
        ("[[tasks.params.images]]", "[tasks.params.scene]", "scene"),
    ],
)
def test_validate_refuses_what_the_environment_would(example, hylo, old, new, reason):
    """Without a picture being opened."""
    path = example(old, new)
    (path.parent / "kitchen.png").unlink()
    validated = hylo("benchmark", "validate", path)
    assert validated.code == 2
    assert re.search(rf"tasks\[1\].*{reason}", validated.out + validated.err)


def test_python_is_refused_like_the_command(example, tmp_path):
    """``evaluate`` names the benchmark, which has no file there."""
    made = load_benchmark(example("annotation_tau = 0.5", "annotation_tau = 5"))
    with pytest.raises(ContractError, match=r"cups: tasks\[1\]\.params\.truth\.annotation_tau: must be at most 1"):
        evaluate(
            made, None, env_factory=ResponseEnv, agent=ResponseScripted(), run_root=tmp_path / "runs",
            env_options={"benchmark_folder": str(tmp_path)},
        )  # fmt: skip
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("answer_type", "good", "bad"),
    [
        ("integer", [2, 2.0, -3, "123456789012345678901"], [True, 2.5, "two", "", "1e3", "٣", [2], "9" * 4301]),
        ("number", [2, 2.5, "-123456789012345678901"], [False, "2.5", None]),
        ("string", ["", "two"], [2, ["two"]]),
        ("option_letter", ["B"], ["", 2, True]),
        ("pi_expression", ["18pi", 18], ["", [18]]),
        ("index_list", [[], [2, 0]], ["2", [True], [0.5], ["2"], 2]),
        ("matrix", [[[1, 0]], []], ["[[1]]", 1]),
        ("boolean", [True], [1, "true"]),
        ("object", [{"a": 1}], [[1], "{}"]),
        ("a_type_of_ones_own", [1, "x", None], []),
    ],
)
def test_a_true_answer_is_of_its_type(answer_type, good, bad):
    """A value of another type is one that no right response equals."""
    for value in good:
        check_answer_value(answer_type, value)
    for value in bad:
        with pytest.raises(ContractError, match=r"^answer\.value: must be"):
            check_answer_value(answer_type, value)
