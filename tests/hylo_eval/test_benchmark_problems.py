"""Everything wrong with a benchmark file is found at once, and nothing is run to find it."""

import pytest

from hylo_eval.benchmark_problems import benchmark_problems, problem_sentences
from hylo_eval.benchmarks import benchmark_files

GOOD = """
id = "b"
version = "1"
env = "reach"
[splits]
heldout = [0, 1]
[[tasks]]
id = "t"
version = "1"
instruction = "go"
max_steps = 5
init = {kind = "seed"}
success = {kind = "builtin", name = "env_success"}
params = {goal_m = [0.3, 0.0, 0.4], tolerance_m = 0.02}
"""


@pytest.fixture
def problems(tmp_path):
    """Problems of a text, as ``path: reason``; the file's name is checked and cut off."""

    def find(text: str) -> list[str]:
        path = tmp_path / "benchmark.toml"
        path.write_text(text, encoding="utf-8")
        found = [str(problem) for problem in benchmark_problems(path)]
        assert all(line.startswith(f"{path}: ") for line in found)
        return [line.removeprefix(f"{path}: ") for line in found]

    return find


@pytest.mark.parametrize("name", sorted(benchmark_files()))
def test_shipped_benchmarks_are_valid(name):
    """What we ship has no problem."""
    assert benchmark_problems(benchmark_files()[name]) == ()


def test_all_problems_are_found_at_once(problems):
    """Missing, misspelt and wrong members of the file and of each task, each at its path."""
    bad = GOOD.replace('version = "1"\nenv', 'vesion = "1"\nenv').replace("[0, 1]", "[0, -1]")
    bad = bad.replace("max_steps = 5", "max_steps = 0").replace("env_success", "env_sucess")
    paths = [line.partition(": ")[0] for line in problems(bad)]
    assert paths == ["version", "vesion", "splits.heldout[1]", "tasks[0].max_steps", "tasks[0].success.name"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("", ""), []),
        (('"reach"', '"reech"'), ["env: there is no env 'reech'; did you mean 'reach'"]),
        (('"reach"', '"not a ref:"'), ["env: cannot load 'not a ref:': a reference has the form"]),
        (("[splits]", "[env_options]\nsize = 3\n[splits]"), ["env_options: env 'reach' has no option 'size'"]),
        (("[splits]", "[max_steps]\nother = 3\n[splits]"), ["max_steps.other: names a task that is not"]),
        (("[splits]", "[max_steps]\nt = 0\n[splits]"), ["max_steps.t: must be at least 1"]),
        (
            ('{kind = "seed"}', '{kind = "init_state", uri = "u://u", count = 1}'),
            ["splits.heldout[1]: must be below 1", "tasks[0]: task 't' has an init of kind 'init_state'"],
        ),
        (("max_steps = 5\n", ""), ["tasks[0].max_steps: is missing"]),
        (("instruction", 'success_at = "end"\ninstruction'), ["tasks[0].stop_on_success: must be false"]),
        (("[splits]", "tasks = 3"), ["is not valid TOML"]),
        (("0.02", "-0.02"), ["tasks[0]: param 'tolerance_m' of task 't' must be positive"]),
        (("0.3,", "3.3,"), ["tasks[0]: param 'goal_m' of task 't' must lie within"]),
        (('"reach"', '"fetch"'), ["tasks[0]: task 't' has no param 'goal_m'"]),
        (('"reach"', '"libero"'), ["tasks[0]: task 't' has an init of kind 'seed'"]),
        (('"reach"', '"metaworld"'), ["tasks[0]: task 't' has an init of kind 'seed'"]),
    ],
)
def test_each_problem_has_a_path_and_a_sentence(problems, change, expected):
    """One change to a good file gives exactly its problem."""
    found = problems(GOOD.replace(*change, 1))
    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True))


def test_a_fault_elsewhere_hides_nothing_that_the_family_refuses(problems):
    """Of the tasks that are whole; of the others their own faults are said."""
    _, _, task = GOOD.rpartition("[[tasks]]")
    other = task.replace('"t"', '"u"').replace("max_steps = 5", "max_steps = 0").replace("0.02", "-0.02")
    bad = GOOD.replace("[0, 1]", "[0, -1]").replace("0.02", "-0.02") + "[[tasks]]" + other
    assert [line.partition(" of task")[0] for line in problems(bad)] == [
        "splits.heldout[1]: must be in [0, 2147483648), not -1",
        "tasks[1].max_steps: must be at least 1, not 0",
        "tasks[0]: param 'tolerance_m'",
    ]


@pytest.mark.parametrize(
    ("instruction", "valid"),
    [
        ("Close the {drawr} now", False),
        ("open it", False),
        ("{anything}", True),
        ("{do} the {side} drawer.", True),
        ("Open the left drawer.", True),
    ],
)
def test_an_instruction_that_no_episode_can_have_is_said(problems, instruction, valid):
    """RoboCasa words it at reset, and an episode that is worded otherwise abstains."""
    found = problems(KITCHEN.replace("{instruction}", instruction))
    assert len(found) == (not valid)
    assert all("can come of no episode of RoboCasa's OpenDrawer" in line for line in found)
    assert all('(fix: instruction = "{behavior} the {drawer_side} drawer.")' in line for line in found)


KITCHEN = """
id = "b"
version = "1"
env = "robocasa"
[splits]
heldout = [0]
[[tasks]]
id = "t"
version = "1"
instruction = "{instruction}"
instruction_source = "robocasa"
max_steps = 5
init = {kind = "seed"}
success = {kind = "builtin", name = "env_success"}
params = {task = "OpenDrawer", scenes = [[1, 1]]}
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("", ""), []),
        (('"robocasa"', '"hylo_eval.envs.robocasa:RobocasaFactory"'), []),
        (("OpenDrawer", "OpenDrawr"), ["tasks[0]: RoboCasa has no task 'OpenDrawr'; did you mean 'OpenDrawer'"]),
        (("[[1, 1]]", "[[1, 99]]"), ["tasks[0]: params.scenes[0] of task 't' must be a layout"]),
        (("[[1, 1]]", "[[1, 1], [1, 1]]"), ["tasks[0]: params.scenes[1] of task 't' repeats [1, 1]"]),
        (
            ('{kind = "seed"}', '{kind = "snapshot", uri = "robocasa:none.json"}'),
            ["tasks[0]: cannot read the snapshot"],
        ),
        (("[splits]", '[env_options]\nbenchmark_folder = "x"\n[splits]'), ["env_options: env 'robocasa': option"]),
    ],
)
def test_what_a_family_refuses_of_its_tasks_is_a_problem_without_its_simulator(problems, change, expected):
    """RoboCasa lives in another environment, and its catalogue here."""
    found = problems(KITCHEN.replace(*change, 1))
    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True))


def test_a_repeated_task_is_a_problem_beside_others(problems):
    """Ids are unique, also where another task is wrong."""
    second = GOOD[GOOD.index("[[tasks]]") :]
    found = problems(GOOD + second + second.replace("max_steps = 5", "max_steps = 0"))
    assert found == [
        "tasks[1].id: repeats 't' of tasks[0]",
        "tasks[2].max_steps: must be at least 1, not 0",
        "tasks[2].id: repeats 't' of tasks[0]",
    ]


def test_nothing_a_file_names_is_imported(problems, tmp_path, monkeypatch):
    """A file from anywhere must not run its own code by being looked at."""
    (tmp_path / "hostile_module.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert (
        problems(GOOD.replace('"reach"', '"hostile_module:Env"').replace("[splits]", "[env_options]\na = 1\n[splits]"))
        == []
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ((), []),
        ((("max_steps = 5", "max_steps = 0"),), ["2 tasks, tasks[0].max_steps, tasks[1].max_steps: must be at least"]),
        ((("0.02", "-0.02"),), ["2 tasks, tasks[0], tasks[1]: param 'tolerance_m' of the task must be positive"]),
        ((("[0.3,", "['x',"),), ["2 tasks, tasks[0], tasks[1]: param 'goal_m' of the task must be 3 numbers, not"]),
        (
            (("max_steps = 5", "max_steps = 0"), ('version = "1"\ninstr', "version = 1\ninstr")),
            ["2 tasks, tasks[0].version, tasks[1].version: must be text", "2 tasks, tasks[0].max_steps, tasks[1].max"],
        ),
    ],
)
def test_what_two_tasks_have_in_common_is_one_sentence(tmp_path, changes, said):
    """Without their names, which the key paths stand for; other problems keep sentences of their own."""
    text = GOOD + GOOD[GOOD.index("[[tasks]]") :].replace('"t"', '"u"')
    for change in changes:
        text = text.replace(*change)
    path = tmp_path / "benchmark.toml"
    path.write_text(text, encoding="utf-8")
    found = problem_sentences(benchmark_problems(path))
    assert len(found) == len(said)
    assert all(line.startswith(f"{path}: {start}") for line, start in zip(found, said, strict=True))


def test_the_same_fault_with_another_value_is_another_problem(tmp_path):
    """Each is as it was: two sentences, with the name of the task where the family gives it."""
    text = GOOD.replace("0.02", "-0.02") + GOOD[GOOD.index("[[tasks]]") :].replace('"t"', '"u"').replace("0.02", "-0.5")
    path = tmp_path / "benchmark.toml"
    path.write_text(text, encoding="utf-8")
    assert problem_sentences(benchmark_problems(path)) == (
        f"{path}: tasks[0]: param 'tolerance_m' of task 't' must be positive, not -0.02",
        f"{path}: tasks[1]: param 'tolerance_m' of task 'u' must be positive, not -0.5",
    )


def test_a_file_that_is_not_there_is_a_problem(tmp_path):
    """And not an exception."""
    (problem,) = benchmark_problems(tmp_path / "none.toml")
    assert "there is no benchmark file" in str(problem)
