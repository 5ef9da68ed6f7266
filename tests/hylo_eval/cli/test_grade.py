"""``hylo-eval grade``, in this process and in one that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hylo_core import VerifierRef
from hylo_eval import read_trace
from hylo_eval.traces.grades import check_grades
from tests.hylo_eval.verify.modes.test_judge import completion, serving
from tests.pictures import swap_films, write_picture_run
from tests.runs import keys, unit, write_run
from tests.verifiers import RUBRIC, write_plugin, write_rubric

PLUGIN_SOURCE = """\
def score_arithmetic(task, trajectory):
    seed = trajectory[0]["instance"]["seed"]
    if seed == 2:
        raise ValueError("seed 2 cannot be judged")
    return float(seed < 2)
"""

SLOW_GRADER = '''\
"""A grader that says when it is asked, and waits to be let on."""

import sys

from hylo_core import GradeEvent


class Waiting:
    name = "waiting"
    digest = "sha256:waiting"

    def __init__(self, allowed: int = 1000) -> None:
        self.allowed = allowed

    def grade(self, trace, task):
        if self.allowed == 0:
            print("waiting", file=sys.stderr, flush=True)
            sys.stdin.readline()
        self.allowed -= 1
        return GradeEvent(grader=self.name, digest=self.digest, value=1.0)
'''


@pytest.fixture(autouse=True)
def _other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends its process when threads are left over; in this one they are the tests' own servers."""
    monkeypatch.setattr("hylo_eval.cli.group._end_with_threads", lambda code: None)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of four episodes, of which 0 and 1 succeeded."""
    return write_run(tmp_path / "runs", "a", keys(0, 1), bench=unit(4)).run.path


def grades(run: Path) -> dict[int, list[Any]]:
    """The values each episode was given; the chains hold."""
    traces = sorted((run / "episodes").glob("*.jsonl"))
    return {read_trace(path).instance.seed: [event.value for event in check_grades(path)] for path in traces}


def test_a_plugin_judges_and_the_failure_is_named(hylo: Any, run: Path, tmp_path: Path) -> None:
    """The verifier that stopped and why; the next episodes are judged; the code is 3; a second call changes nothing."""
    folder = write_plugin(tmp_path / "plugin", PLUGIN_SOURCE)
    outcome = hylo("grade", run, "--grader", f"verifier:{folder / 'manifest.json'}")
    assert outcome.code == 3
    assert "verifier: 3 graded, 1 failed, of 4 episodes" in outcome.out
    assert "mean 0.6667 over 3 of 4 episodes; no value: 1 infra" in outcome.out
    assert "plugin verifier 'verify:score_arithmetic': ValueError: seed 2 cannot be judged" in outcome.out
    assert grades(run) == {0: [1.0], 1: [1.0], 2: [None], 3: [0.0]}
    again = hylo("grade", run, "--grader", f"verifier:{folder / 'manifest.json'}", "--json")
    assert again.json["gradings"][0]["counts"] == {"already_graded": 3, "failed": 1}
    assert grades(run) == {0: [1.0], 1: [1.0], 2: [None], 3: [0.0]}
    scored = hylo("rescore", run, "--scorer", "verifier_reward", "--scorer", "graded_success", "--json")
    scores = scored.json["runs"][0]["scores"]
    assert [scores[name]["n_scored"] for name in ("verifier_reward", "graded_success")] == [3, 3]
    assert scores["verifier_reward"]["abstained"] == {"infra": 1}


def test_the_benchmark_declares_the_verifier(hylo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rubric and judge: what the judge reads is the instruction and a summary without the simulator's verdict."""
    import attrs

    bench = attrs.evolve(unit(2), verifier=RUBRIC)
    run = write_run(tmp_path / "runs", "a", keys(0), bench=bench).run.path
    rubrics = write_rubric(tmp_path / "rubrics", "Judge the motion.")
    with serving(completion("Fine.\nSCORE: 0.5")) as server:
        monkeypatch.setenv("VERIFYIT_JUDGE_BASE_URL", server.connection.base_url)
        monkeypatch.setenv("VERIFYIT_JUDGE_API_KEY", "k3y-of-the-lab")
        monkeypatch.setenv("VERIFYIT_JUDGE_MODEL", "judge-1")
        outcome = hylo("grade", run, "--grader", f"verifier:rubrics={rubrics}")
        prompts = [request["body"]["messages"][0]["content"] for request in server.requests]
    assert (outcome.code, len(prompts)) == (0, 2)
    assert "mean 0.5 over 2 of 2 episodes" in outcome.out
    assert all("Judge the motion." in prompt and '"steps":' in prompt for prompt in prompts)
    assert not any("success" in prompt or "reward" in prompt for prompt in prompts)
    written = b"".join(path.read_bytes() for path in run.rglob("*") if path.is_file())
    assert b"k3y-of-the-lab" not in written
    assert b'"version":"1","digest":' in written


def test_an_endpoint_gets_task_and_summary(hylo: Any, run: Path, tmp_path: Path) -> None:
    """The prompt is the instruction that was used."""
    with serving('{"reward": 0.25}') as server:
        file = tmp_path / "verifier.toml"
        file.write_text(f'[verifier]\nkind = "endpoint"\nref = "http://127.0.0.1:{server.server_port}/score"\n')
        outcome = hylo("grade", run, "--grader", f"verifier:{file}", "--workers", 2)
        bodies = [request["body"] for request in server.requests]
    assert outcome.code == 0
    assert [body["task"] for body in bodies] == [{"prompt": "go", "params": {}}] * 4
    assert {json.loads(body["trajectory"])["schema"] for body in bodies} == {"hylo.episode_summary/v0.1"}


@pytest.mark.parametrize(
    ("grader", "reason"),
    [
        ("verifer", "did you mean 'verifier'"),
        ("verifier", "declares no verifier"),
        ("verifier:absent.toml", "no verifier file absent.toml"),
        ("verifier:colour=red", "has no option 'colour'"),
        ("vlm_judge", "needs the option 'rubric'"),
        ("vlm_judge:absent.md", "cannot read the rubric"),
        ("predicate", "names no env factory"),
        ("predicate:tolerance=-1", "names no env factory"),
        ("operator:player=a,player=b", "gives 'player' twice"),
        ("tests.verifiers:write_plugin:folder=x", "cannot be made"),
        ("tests.runs:keys", "no grader"),
    ],
)
def test_what_cannot_grade_is_refused_before_anybody_is_asked(hylo: Any, run: Path, grader: str, reason: str) -> None:
    """With exit code 2, and nothing is written."""
    outcome = hylo("grade", run, "--grader", "operator", "--grader", grader)
    assert outcome.code == 2
    assert reason in outcome.err
    assert set(map(len, grades(run).values())) == {0}


def test_a_verifier_has_the_options_of_its_kind_alone(hylo: Any, run: Path, tmp_path: Path) -> None:
    """An option that would change nothing is refused."""
    file = tmp_path / "verifier.toml"
    refs = {"rubric": RUBRIC.ref, "plugin": "verify:score", "endpoint": "http://127.0.0.1:9/x"}
    for kind, option in (("rubric", "plugin=x"), ("plugin", "rubrics=x"), ("endpoint", "model=x")):
        assert VerifierRef(kind, refs[kind])  # type: ignore[arg-type]
        file.write_text(f'[verifier]\nkind = "{kind}"\nref = "{refs[kind]}"\n')
        outcome = hylo("grade", run, "--grader", f"verifier:{file},{option}")
        assert (outcome.code, f"of kind {kind} has no option" in outcome.err) == (2, True)


def test_a_folder_that_is_no_run_is_refused(hylo: Any, tmp_path: Path) -> None:
    """Before the grader is made."""
    assert hylo("grade", tmp_path, "--grader", "operator").code == 2


def test_the_predicate_is_asked_again_where_the_run_says_how(hylo: Any, tmp_path: Path) -> None:
    """The environment is made from the manifest; the replay agrees with the run."""
    root = ("--run-root", tmp_path, "--run-id", "a")
    ran = hylo("run", "reach_fixed", "--agent", "reach-scripted", "--max-episodes", 3, *root, "--json")
    assert ran.code == 0
    outcome = hylo("grade", tmp_path / "a", "--grader", "predicate", "--grader", "predicate:0.5", "--json")
    assert outcome.code == 0
    succeeded = ran.json["scores"]["success"]["mean"]
    assert [grading["summary"]["mean"] for grading in outcome.json["gradings"]] == [succeeded] * 2
    scored = hylo("rescore", tmp_path / "a", "--scorer", "graded_success", "--json")
    assert scored.json["runs"][0]["scores"]["graded_success"]["mean"] == succeeded


def test_a_model_looks_at_the_videos_of_a_run(
    hylo: Any, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without videos nobody is asked, nor of one that is not the one of its episode."""
    pytest.importorskip("av")
    rubric = tmp_path / "3.md"
    rubric.write_text("1 if it moves.")
    monkeypatch.setenv("VERIFYIT_JUDGE_MODEL", "judge-1")
    with serving(completion("It moves.\nSCORE: 1")) as server:
        monkeypatch.setenv("VERIFYIT_JUDGE_BASE_URL", server.connection.base_url)
        refused = hylo("grade", run, "--grader", f"vlm_judge:{rubric}")
        assert (refused.code, "holds no videos" in refused.err, server.requests) == (2, True, [])
        filmed = write_picture_run(tmp_path, "filmed", count=4).run
        swap_films(filmed, shown=1, under=3)
        outcome = hylo("grade", filmed.path, "--grader", f"vlm_judge:{rubric},frames=2,longest_side=32")
        assert len(server.requests) == 3
    assert (outcome.code, "mean 1 over 3 of 4 episodes" in outcome.out) == (3, True)
    assert "the video is not the one that was recorded" in outcome.out + outcome.err


def started(run: Path, folder: Path, allowed: int) -> subprocess.Popen[str]:
    """A process that grades, with a grader that waits after so many episodes."""
    (folder / "slow_grader.py").write_text(SLOW_GRADER)
    command = [
        sys.executable,
        "-m",
        "hylo_eval",
        "grade",
        str(run),
        "--grader",
        f"slow_grader:Waiting:allowed={allowed}",
    ]
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_process_that_is_stopped_in_the_middle_is_taken_up_again(
    run: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """After SIGKILL, and after SIGINT, grading again ends with exactly one grade an episode."""
    process = started(run, tmp_path, allowed=2)
    assert process.stderr is not None
    assert process.stdin is not None
    assert any("waiting" in line for line in process.stderr)
    process.send_signal(number)
    if number == signal.SIGINT:
        # The announcement says that the signal has arrived; the episode under way may go on.
        assert any("stopping" in line for line in process.stderr)
        process.stdin.write("\n")
        process.stdin.flush()
    process.communicate()
    assert process.returncode == code
    before = Counter(map(len, grades(run).values()))
    assert before == ({1: 2, 0: 2} if number == signal.SIGKILL else {1: 3, 0: 1})
    process = started(run, tmp_path, allowed=1000)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert f"{before[0]} graded" in out
    assert grades(run) == {seed: [1.0] for seed in range(4)}


def test_an_operator_is_asked_and_the_end_of_input_is_no_failure(run: Path) -> None:
    """A real process with answers on standard input; JSON stands on standard output alone."""
    command = [sys.executable, "-m", "hylo_eval", "grade", str(run), "--grader", "operator:by=ann", "--json"]
    done = subprocess.run(
        command, input="s\nclean\nmaybe\nfailure\n\nskip\n", capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    (grading,) = json.loads(done.stdout)["gradings"]
    assert grading["grader"] == "operator:ann"
    assert grading["counts"] == {"graded": 2, "ungraded": 2}
    assert sorted(map(tuple, grades(run).values())) == [(), (), (0.0,), (1.0,)]
    assert "'maybe' is none of them" in done.stderr
    assert "success_once" not in done.stderr
