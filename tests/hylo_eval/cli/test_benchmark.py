"""``hylo-eval benchmark``: show, validate, freeze."""

import pytest

from hylo_eval.benchmarks import benchmark_files, find_benchmark, load_benchmark
from hylo_eval.cli.benchmark import describe_seeds
from hylo_eval.families import FREEZABLE, find_family


def test_show_says_what_a_benchmark_consists_of(hylo):
    """Id, version, digest, env, splits with seeds and episodes, horizon, tasks."""
    outcome = hylo("benchmark", "show", "reach_fixed")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[:4] == [
        "id      reach_fixed 1.0",
        f"digest  {find_benchmark('reach_fixed').digest()}",
        "env     reach",
        "split   train: 100 seeds (0-99), 100 episodes",
    ]
    assert "steps   100" in lines
    assert lines[-1].split(maxsplit=2) == ["0", "testing/reach_fixed", "reach the fixed goal"]


@pytest.mark.parametrize("name", sorted(benchmark_files()))
def test_show_prints_every_task_of_every_benchmark(name, hylo):
    """One line a task where output is no terminal, however long; line ends of a prompt are written as such."""
    benchmark = find_benchmark(name)
    lines = hylo("benchmark", "show", name).out.splitlines()[-len(benchmark.tasks) :]
    assert [line.split()[:2] for line in lines] == [[str(index), task.id] for index, task in enumerate(benchmark.tasks)]
    assert all(
        line.endswith(task.instruction.replace("\n", "\\n")) for line, task in zip(lines, benchmark.tasks, strict=True)
    )


def test_show_json_is_the_file_with_the_digest(hylo):
    """Env and options stand at the top, as in the file."""
    shown = hylo("benchmark", "show", "fetch_reach", "--json").json
    assert shown["digest"] == find_benchmark("fetch_reach").digest()
    assert (shown["env"], shown["env_options"]) == ("fetch", {})
    assert "env" not in shown["metadata"]
    assert shown["tasks"][0]["id"] == "fetch/reach"


def test_untrusted_text_cannot_move_the_cursor_or_add_lines(hylo, tmp_path):
    """A task's name and instruction come from a file."""
    text = benchmark_files()["reach_fixed"].read_text(encoding="utf-8")
    path = tmp_path / "hostile.toml"
    path.write_text(
        text.replace('"reach the fixed goal"', '"go\\n1  fake/task\\u001b[2J"').replace(
            'version = "1.0"', 'version = "\\u202e1.0"', 1
        ),
        encoding="utf-8",
    )
    out = hylo("benchmark", "show", path).out
    assert out.splitlines()[0] == "id      reach_fixed \\x202e1.0"
    assert out.splitlines()[-1].endswith("go\\n1  fake/task\\x1b[2J")


def test_validate_names_every_bad_file_and_ends_with_2(hylo, tmp_path):
    """Good files are said to be valid, bad ones get all their problems."""
    bad = tmp_path / "bad.toml"
    bad.write_text('id = "b"\nversion = 1\nenv = "reach"\n', encoding="utf-8")
    good = benchmark_files()["reach_fixed"]
    outcome = hylo("benchmark", "validate", good, bad, tmp_path / "none.toml")
    assert outcome.code == 2
    assert outcome.out.splitlines() == [
        f"{good}: valid",
        f"{bad}: tasks: is missing",
        f"{bad}: splits: is missing",
        f"{bad}: version: must be text, not 1",
    ]
    assert outcome.err.splitlines() == [
        f"error: there is no benchmark file {tmp_path / 'none.toml'}",
        "  fix: hylo-eval list benchmarks",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "none.toml"),
        ("validate", "none.toml"),
        ("validate", "broken.toml"),
        ("freeze", "none.toml"),
        ("sample", "none", "--count", "1", "--seed", "1", "-o", "made.toml"),
        ("import-responses", "none.jsonl", "-o", "made.toml"),
    ],
    ids=" ".join,
)
def test_every_subcommand_refuses_in_the_same_words(arguments, hylo, tmp_path, monkeypatch):
    """On standard error, behind ``error:``, with what to do; nothing stands on standard output."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.toml").write_text("id = ", encoding="utf-8")
    outcome = hylo("benchmark", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    head, fix = outcome.err.splitlines()
    assert head.startswith("error: ")
    assert fix.startswith("  fix: ")


def test_validate_says_once_what_many_tasks_have_in_common(hylo, tmp_path):
    """How many they are and where the first stand; the JSON has every one."""
    text = benchmark_files()["robocasa_target50"].read_text(encoding="utf-8")
    path = tmp_path / "other.toml"
    path.write_text(text.replace('env = "robocasa"', 'env = "libero"'), encoding="utf-8")
    outcome = hylo("benchmark", "validate", path)
    assert outcome.out == (
        f"{path}: 50 tasks, tasks[0], tasks[1], tasks[2] and 47 more: "
        "the task has an init of kind 'seed', but this family takes 'init_state'\n"
    )
    assert len(hylo("benchmark", "validate", path, "--json").json["files"][str(path)]) == 50


def test_validate_of_good_files_ends_with_0(hylo):
    """All that is shipped."""
    assert hylo("benchmark", "validate", *benchmark_files().values()).code == 0


def test_validate_json_lists_problems_by_file(hylo, tmp_path):
    """Paths and reasons, apart."""
    bad = tmp_path / "bad.toml"
    bad.write_text("id = ", encoding="utf-8")
    good = benchmark_files()["reach_fixed"]
    outcome = hylo("benchmark", "validate", good, bad, "--json")
    assert outcome.code == 2
    assert outcome.json["valid"] is False
    assert outcome.json["files"][str(good)] == []
    assert "not valid TOML" in outcome.json["files"][str(bad)][0]["reason"]


def test_every_freezable_benchmark_belongs_to_a_family():
    """The table names a known family, and a reference inside it or, above the environments, of whole benchmarks."""
    for family, ref in FREEZABLE.values():
        known = find_family(family)
        assert known is not None
        assert find_family(ref) is known or ref.startswith(f"hylo_eval.{family}_benchmarks.")


def test_freeze_writes_the_file_that_is_shipped(hylo, tmp_path):
    """To a file and to standard output, byte for byte the same, with the digest of the shipped one."""
    pytest.importorskip("gymnasium_robotics")
    path = tmp_path / "fetch_reach.toml"
    written = hylo("benchmark", "freeze", "fetch_reach", "-o", path)
    assert (written.code, written.out) == (0, f"{path}\n")
    assert hylo("benchmark", "freeze", "fetch_reach").out == path.read_text(encoding="utf-8")
    assert load_benchmark(path).digest() == find_benchmark("fetch_reach").digest()


def test_freeze_check_of_a_family_compares_all_of_it(hylo):
    """Equal: exit code 0."""
    pytest.importorskip("gymnasium_robotics")
    outcome = hylo("benchmark", "freeze", "fetch", "--check")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 3


@pytest.fixture
def stale(monkeypatch, tmp_path):
    """Ship a definition of fetch_reach with another horizon."""
    text = benchmark_files()["fetch_reach"].read_text(encoding="utf-8")
    path = tmp_path / "fetch_reach.toml"
    path.write_text(text.replace("max_steps = 50", "max_steps = 60"), encoding="utf-8")
    monkeypatch.setattr("hylo_eval.freezing.benchmark_files", lambda: {"fetch_reach": path})


@pytest.mark.usefixtures("stale")
def test_freeze_check_names_task_and_field(hylo):
    """The file's value and the simulator's; exit code 2."""
    pytest.importorskip("gymnasium_robotics")
    outcome = hylo("benchmark", "freeze", "fetch_reach", "--check")
    assert outcome.code == 2
    assert outcome.out.splitlines() == [
        "fetch_reach: 1 difference",
        "  tasks[fetch/reach].max_steps",
        "    file       60",
        "    simulator  50",
    ]
    changed = hylo("benchmark", "freeze", "fetch_reach", "--check", "--json")
    assert changed.json == {
        "equal": False,
        "benchmarks": {"fetch_reach": [{"path": "tasks[fetch/reach].max_steps", "file": "60", "simulator": "50"}]},
    }


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("fetch",), "say where they go"),
        (("fetch_reach", "--json"), "--json goes with --check"),
        (("fetch_reach", "--check", "-o", "x"), "leave --output out"),
        (("reach_fixed",), "written by hand"),
    ],
)
def test_freeze_refuses_options_that_would_change_nothing(arguments, reason, hylo):
    """Before any simulator is asked."""
    outcome = hylo("benchmark", "freeze", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert reason in outcome.err


@pytest.mark.parametrize(
    ("seeds", "text"),
    [
        ((0, 1, 2), "0-2"),
        ((5,), "5"),
        ((1, 3, 4, 9), "1, 3-4, 9"),
        ((0, 2, 4, 6, 8), "0, 2, 4, 6, …"),
    ],
)
def test_seeds_are_told_as_runs(seeds, text):
    """Consecutive ones by their ends, at most four runs."""
    assert describe_seeds(seeds) == text
