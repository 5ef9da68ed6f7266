"""``hylo-eval gate``: each verdict with its exit code, each refusal, and the files it leaves."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from hylo_core import Score
from tests.runs import edit_manifest, edit_samples, edit_trace, keys, unfinish, unit, write_run

REPOSITORY = Path(__file__).parents[3]


def parsed(path: Path) -> ET.Element:
    """The root of an XML file that we have written."""
    return ET.parse(path).getroot()  # noqa: S314


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A run root."""
    return tmp_path / "runs"


@pytest.fixture
def gate(hylo: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call ``gate`` on two runs."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return lambda *options, pair=("new", "old"): hylo("gate", *pair, "--run-root", root, *options)


@pytest.fixture
def better(root: Path) -> None:
    """Twelve pairs of which the new agent wins six and loses none: p = 1/64."""
    write_run(root, "new", keys(*range(8)), bench=unit(12))
    write_run(root, "old", keys(0, 1), bench=unit(12))


@pytest.mark.usefixtures("better")
@pytest.mark.parametrize(
    ("options", "pair", "verdict", "code"),
    [
        (["--mode", "improve"], ("new", "old"), "pass", 0),
        (["--mode", "improve"], ("old", "new"), "fail", 1),
        (["--mode", "improve", "--alpha", "0.01"], ("new", "old"), "inconclusive", 3),
        (["--mode", "improve", "--min-pairs", "13"], ("new", "old"), "inconclusive", 3),
        (["--mode", "noninferior", "--margin", "0.05"], ("new", "old"), "pass", 0),
        (["--mode", "noninferior", "--margin", "0.05"], ("old", "new"), "fail", 1),
        (["--mode", "no-regression", "--margin", "0.3"], ("new", "old"), "inconclusive", 3),
        (["--mode", "no-regression", "--margin", "0.6"], ("new", "old"), "pass", 0),
        (["--mode", "no-regression", "--margin", "0.6"], ("old", "new"), "fail", 1),
    ],
)
def test_each_mode_ends_with_the_exit_code_of_its_verdict(
    gate: Any, options: list[str], pair: tuple[str, str], verdict: str, code: int
) -> None:
    """0 pass, 1 fail, 3 inconclusive; the rule stands before the verdict, in words."""
    done = gate(*options, pair=pair)
    assert done.code == code, done.out + done.err
    assert done.out.startswith("rule: Metric: success, where 1 is a success. ")
    assert done.out.index("rule: ") < done.out.index(f"verdict: {verdict}")


def test_equal_agents_are_inconclusive_with_a_reason(gate: Any, root: Path) -> None:
    """Never 0: nothing was shown."""
    for name in ("new", "old"):
        write_run(root, name, keys(1, 2), bench=unit(12))
    done = gate("--mode", "improve")
    assert done.code == 3
    assert "no difference shown: 0 wins to 0, p = 1 for a better candidate" in done.out
    assert "5 wins without a loss are needed for p <= 0.05; there are 0 discordant pairs" in done.out


def test_agent_errors_count_as_failures_of_the_candidate_alone(gate: Any, root: Path) -> None:
    """Six wins stand against six errors where the parent succeeded; left out, they leave too little coverage."""
    write_run(root, "new", keys(*range(6)), bench=unit(12), agent_errors=tuple(range(6, 12)))
    write_run(root, "old", keys(*range(6, 12)), bench=unit(12))
    assert "no difference shown: 6 wins to 6" in gate("--mode", "improve").out
    done = gate("--mode", "improve", "--agent-errors", "abstain", "--min-coverage", "0.5")
    assert done.code == 0, done.out
    assert "the candidate is better: 6 wins to 0" in done.out
    done = gate("--mode", "improve", "--agent-errors", "abstain")
    assert done.code == 3
    assert "coverage is 50.0 %, 95.0 % is required" in done.out
    # On the parent's side they stay abstentions: a parent that crashed makes nobody better.
    done = gate("--mode", "improve", "--min-coverage", "0.5", pair=("old", "new"))
    assert "the parent is better: 0 wins to 6" in done.out


def test_the_worst_case_decides_if_asked(gate: Any, root: Path) -> None:
    """Two pairs that were not scored on the old side could have been its wins."""
    write_run(root, "new", keys(*range(6)), bench=unit(40))
    write_run(root, "old", bench=unit(40), broken=keys(38, 39))
    done = gate("--mode", "improve")
    assert done.code == 0, done.out
    assert "the verdict holds if up to 0 of the 2 abstained pairs went against the candidate" in done.out
    done = gate("--mode", "improve", "--worst-case")
    assert done.code == 3
    assert "6 wins to 2" in done.out


def test_safety_interventions_must_not_rise(gate: Any, root: Path) -> None:
    """A candidate that wins by pushing harder than it may is closed out, unless that is switched off."""
    write_run(root, "new", keys(*range(8)), bench=unit(12), push=1.5)
    write_run(root, "old", keys(0, 1), bench=unit(12))
    done = gate("--mode", "improve")
    assert done.code == 1
    assert "safety interventions: mean change" in done.out
    done = gate("--mode", "improve", "--no-safety-must-not-rise")
    assert done.code == 0
    assert "Safety interventions must not rise" not in done.out


@pytest.mark.usefixtures("better")
def test_latency_may_rise_by_so_much(gate: Any, root: Path) -> None:
    """Decided by the interval of the paired difference; an hour is enough for anybody."""
    done = gate("--mode", "improve", "--max-latency-regression", "10", "--json")
    assert done.code == 0
    assert [guard["name"] for guard in done.json["guards"]] == ["safety interventions", "latency p95 (s)"]
    for sample in json.loads((root / "new" / "evallog.json").read_text())["samples"]:
        edit_trace(root / "new", sample["key"], lambda text: text.replace('"act_seconds":', '"act_seconds":9'))
    found = gate("--mode", "improve", "--max-latency-regression", "0.01")
    assert found.code == 2, "durations are not in the behaviour digest, but the log has the score they gave"
    assert "the log records latency_p95" in found.err


@pytest.mark.usefixtures("better")
def test_without_a_record_of_safety_the_gate_does_not_open(gate: Any, root: Path) -> None:
    """What was not looked at has not been shown."""
    for name in ("new", "old"):
        edit_samples(root / name / "evallog.json", lambda sample: sample["scores"].pop("safety_interventions"))
    done = gate("--mode", "improve", "--log-only")
    assert done.code == 3
    assert "safety interventions: not on record in all logs" in done.out
    assert "The logs are believed: no trace is read." in done.out
    assert gate("--mode", "improve").code == 0, "the traces tell"


class Grasped:
    """A scorer of somebody's, of 0 and 1."""

    name = "grasped"

    def score(self, trace: Any, task: Any) -> Score:
        return Score(float(trace.start.agent.name == "new"))


def test_somebodys_metric_of_0_and_1_can_decide(gate: Any, root: Path) -> None:
    """The rule says that 1 is a success."""
    for name in ("new", "old"):
        write_run(root, name, bench=unit(6), scorers=[Grasped()])
    done = gate("--mode", "improve", "--metric", "grasped")
    assert done.code == 0, done.err
    assert "Metric: grasped, where 1 is a success." in done.out
    assert "6 wins to 0" in done.out


@pytest.mark.usefixtures("better")
def test_an_unfinished_run_is_inconclusive(gate: Any, root: Path) -> None:
    """Whatever the numbers say."""
    unfinish(root / "new", 11)
    done = gate("--mode", "improve", "--min-coverage", "0.5")
    assert done.code == 3
    assert "- a run is not finished" in done.out


@pytest.mark.usefixtures("better")
@pytest.mark.parametrize(
    "rule", [["improve"], ["noninferior", "--margin", "0.1"], ["no-regression", "--margin", "0.1"]]
)
def test_a_run_that_has_hardly_begun_is_inconclusive_too(gate: Any, root: Path, rule: list[str]) -> None:
    """Not one episode of it is finished."""
    unfinish(root / "new", 0)
    done = gate("--mode", *rule)
    assert done.code == 3, done.err
    assert "- a run is not finished" in done.out
    assert "0 scored pairs, 1 are required" in done.out


@pytest.mark.usefixtures("better")
def test_refused_evidence_ends_with_2_and_is_on_record(gate: Any, root: Path, tmp_path: Path) -> None:
    """The record, the Markdown and the JUnit file all say refused."""
    edit_manifest(root / "new", lambda manifest: manifest["versions"].update(mujoco="3.2.7"))
    done = gate("--mode", "improve", "--junit", tmp_path / "junit.xml", "--markdown", tmp_path / "gate.md")
    assert done.code == 2
    assert "versions: candidate against parent: mujoco 3.2.7 against " in done.err
    assert done.out == ""
    [record] = (root / "comparisons").iterdir()
    document = json.loads(record.read_text())
    assert (document["verdict"], document["exit_code"], document["differences"][0]["name"]) == (
        "refused",
        2,
        "versions",
    )
    case = parsed(tmp_path / "junit.xml").find("testsuite/testcase/error")
    assert case is not None
    assert case.get("type") == "refused"
    assert "verdict: refused" in (tmp_path / "gate.md").read_text()
    done = gate("--mode", "improve", "--allow", "versions")
    assert done.code == 0
    verdict = done.out[done.out.index("verdict: pass") :]
    assert "allowed, versions: candidate against parent: mujoco 3.2.7 against " in verdict
    assert "Allowed exceptions: versions." in done.out


@pytest.mark.usefixtures("better")
@pytest.mark.parametrize("command", ["gate", "compare"])
def test_a_refusal_on_screen_begins_with_what_is_wrong(hylo: Any, root: Path, command: str) -> None:
    """Then where, with short digests, then the fix as a command that passes; in full with --json, the rule with it."""
    other = f"sha256:{'a' * 64}"
    edit_manifest(root / "new", lambda manifest: manifest["versions"].update(assets=other))
    typed = [command, "new", "old", "--run-root", str(root), *(["--mode", "improve"] if command == "gate" else [])]
    done = hylo(*typed)
    assert (done.code, done.out) == (2, "")
    wrong, where, fix, again = done.err.splitlines()
    assert wrong == "error: new and old are not comparable (versions; docs/gate.md#what-is-refused)"
    assert where == f"  versions: candidate against parent: assets sha256:{'a' * 12}… against nothing"
    assert fix == "  fix: run both agents under the same conditions; or, if that is meant, --allow versions"
    assert again == f"       {shlex.join(['hylo-eval', *typed, '--allow', 'versions'])}"
    in_full = hylo(*typed, "--json").json
    assert (in_full["verdict"], in_full["exit_code"]) == ("refused", 2)
    assert other in in_full["differences"][0]["sentence"]
    assert hylo(*shlex.split(again)[1:]).code == 0


@pytest.mark.usefixtures("better")
def test_the_record_has_the_documented_members(gate: Any, root: Path) -> None:
    """One file a gate, never overwritten; --json is the same document."""
    printed = gate("--mode", "improve", "--json").json
    [path] = (root / "comparisons").iterdir()
    document = json.loads(path.read_text())
    assert document == printed
    assert path.name == f"{document['id']}.json"
    assert set(document) == {
        "schema", "kind", "id", "created_at", "benchmark", "candidate", "parent", "traces_read", "intersected",
        "allowed", "notes", "not_pairs", "distinct_initial_states",
        "repeated_initial_states", "metric", "comparison", "policy", "verdict",
        "exit_code", "reasons", "p_value", "reverse_p_value", "coverage", "effect", "tipping_point", "guards",
        "look", "beside", "repetitions", "replicated", "ledger", "declared_at", "confirms",
    }  # fmt: skip
    assert (document["verdict"], document["exit_code"], document["p_value"]) == ("pass", 0, 1 / 64)
    assert document["policy"]["mode"] == "improve"
    assert document["policy"]["min_coverage"] == 0.95
    assert document["candidate"]["run_id"] == "new"
    gate("--mode", "improve")
    assert len(list((root / "comparisons").iterdir())) == 2


@pytest.mark.usefixtures("better")
def test_a_second_rule_on_the_same_runs_is_told_of_the_first(gate: Any) -> None:
    """Trying rules until one opens the gate does not go unseen."""
    assert "earlier gates on these same two runs" not in gate("--mode", "improve", "--alpha", "0.01").out
    done = gate("--mode", "improve")
    assert "earlier gates on these same two runs: 1 (inconclusive); only the rule chosen first counts." in done.out


@pytest.mark.usefixtures("better")
@pytest.mark.parametrize(
    ("options", "failures", "errors"), [([], 0, 0), (["--alpha", "0.01"], 0, 1), (["--no-safety-must-not-rise"], 0, 0)]
)
def test_junit_is_green_only_for_a_pass(
    gate: Any, tmp_path: Path, options: list[str], failures: int, errors: int
) -> None:
    """An inconclusive gate is an error, so that no dashboard shows it green."""
    gate("--mode", "improve", "--junit", tmp_path / "new" / "junit.xml", *options)
    suite = parsed(tmp_path / "new" / "junit.xml").find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("errors")) == (str(failures), str(errors))
    cases = [case.get("name") for case in suite.iter("testcase")]
    assert cases == ["gate improve", "safety interventions"][: 1 if "--no-safety-must-not-rise" in options else 2]
    assert suite.get("tests") == str(len(cases))


@pytest.mark.usefixtures("better")
def test_a_failed_gate_is_a_junit_failure(gate: Any, tmp_path: Path) -> None:
    """With the reason as its message."""
    gate("--mode", "improve", "--junit", tmp_path / "junit.xml", pair=("old", "new"))
    failure = parsed(tmp_path / "junit.xml").find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.get("message") == "the parent is better: 0 wins to 6, p = 0.0156"


@pytest.mark.usefixtures("better")
def test_the_job_summary_gains_the_page(gate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After what other steps have written."""
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    gate("--mode", "improve", "--markdown", tmp_path / "gate.md")
    text = summary.read_text()
    assert text.startswith("# before\n## hylo-eval gate: pass\n")
    assert (tmp_path / "gate.md").read_text() in text
    assert "### verdict: pass" in text


@pytest.mark.usefixtures("better")
def test_the_page_on_standard_output_stands_there_alone(gate: Any) -> None:
    """Also where the evidence is refused; and it does not share the place with JSON."""
    done = gate("--mode", "improve", "--markdown", "-")
    assert done.code == 0
    assert done.out.startswith("## hylo-eval gate: pass\n")
    assert "record: " not in done.out
    refused = gate("--mode", "improve", "--markdown", "-", "--metric", "sucess")
    assert (refused.code, refused.out) == (2, "")
    assert "both want standard output" in gate("--mode", "improve", "--markdown", "-", "--json").err


@pytest.mark.usefixtures("better")
def test_a_policy_file_is_the_same_as_its_options_and_the_command_line_has_the_last_word(
    gate: Any, tmp_path: Path
) -> None:
    """The rule in words is equal; an option replaces the file's value."""
    policy = tmp_path / "gate.toml"
    policy.write_text(
        'mode = "noninferior"\nmargin = 0.05\nalpha = 0.01\nmin_pairs = 10\nsafety_must_not_rise = false\nallow = ["renderer"]\n'
    )
    by_file = gate("--policy", policy)
    by_options = gate(
        "--mode", "noninferior", "--margin", "0.05", "--alpha", "0.01", "--min-pairs", "10",
        "--no-safety-must-not-rise", "--allow", "renderer",
    )  # fmt: skip
    assert by_file.out.splitlines()[0] == by_options.out.splitlines()[0]
    assert by_file.code == by_options.code
    assert "below 11 scored pairs" in gate("--policy", policy, "--min-pairs", "11").out
    assert "--allow renderer was not needed" in by_file.out


REFUSED = [
    ([], "a gate needs --mode"),
    (["--mode", "better"], "'better' is not one of"),
    (["--mode", "noninferior"], "margin: is required in mode noninferior"),
    (["--mode", "improve", "--margin", "0.1"], "margin: changes nothing in mode improve"),
    (["--mode", "improve", "--alpha", "0.5"], "alpha: must lie in (0, 0.5), got 0.5"),
    (["--mode", "improve", "--min-coverage", "2"], "min_coverage: must lie in [0, 1], got 2.0"),
    (["--mode", "improve", "--min-pairs", "0"], "--min-pairs must be at least 1, not 0"),
    (["--mode", "improve", "--metric", "steps"], "metric: steps measures something; a gate decides by a metric of 0 and 1"),
    (["--mode", "improve", "--metric", "sucess"], "did you mean 'success'"),
    (["--mode", "improve", "--max-latency-regression", "-1"], "max_latency_regression: must lie in [0, 3600], got -1.0"),
    (["--mode", "improve", "--allow", "version"], "there is no exception 'version' to allow; did you mean 'versions'"),
    (["--policy", "none.toml"], "cannot read the policy file none.toml"),
]  # fmt: skip


@pytest.mark.usefixtures("better")
@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_usage_ends_with_2_and_leaves_no_record(gate: Any, root: Path, options: list[str], message: str) -> None:
    """One sentence, no verdict."""
    done = gate(*options)
    assert done.code == 2
    assert message in done.err
    assert not (root / "comparisons").exists()


@pytest.mark.usefixtures("better")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("mode = ", "is not valid TOML"),
        ('mod = "improve"', "'mod' is no key of a policy; did you mean 'mode'"),
        ('mode = "improve"\nalpha = "0.05"', "alpha: must be a number, not "),
        ('mode = "improve"\nworst_case = 1', "worst_case: must be true or false, not "),
        ('mode = "improve"\nmin_pairs = 10.0', "min_pairs: must be a whole number, not "),
        ('mode = "improve"\nallow = [1]', "allow: must be a list of names"),
        ('mode = "improve"\nalpha = true', "alpha: must be a number, not "),
        ('mode = "better"', "mode: must be one of "),
        ('mode = "noninferior"\nmargin = 5', "margin: must lie in (0, 1)"),
        ('mode = "improve"\nmargin = 0.05', "margin: changes nothing"),
    ],
)
def test_a_bad_policy_file_ends_with_2(gate: Any, tmp_path: Path, content: str, message: str) -> None:
    """Nothing is coerced, an unknown key is not dropped in silence."""
    policy = tmp_path / "gate.toml"
    policy.write_text(content)
    done = gate("--policy", policy)
    assert done.code == 2
    assert f"{policy}: " in done.err
    assert message in done.err


@pytest.mark.usefixtures("better")
def test_what_cannot_be_written_is_no_verdict(gate: Any, tmp_path: Path) -> None:
    """2, before anything is said to be open."""
    (tmp_path / "file").write_text("")
    done = gate("--mode", "improve", "--junit", tmp_path / "file" / "junit.xml")
    assert done.code == 2
    assert "cannot write" in done.err
    assert "verdict" not in done.out


@pytest.mark.usefixtures("better")
def test_a_reader_that_leaves_does_not_open_the_gate(root: Path) -> None:
    """Standard output is closed at once; the exit code stays the verdict's."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "hylo_eval",
            "gate",
            "new",
            "old",
            "--mode",
            "improve",
            "--alpha",
            "0.01",
            "--run-root",
            str(root),
        ],
        stdout=write,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (3, b"")


def test_hostile_names_reach_no_file_as_markup(gate: Any, root: Path, tmp_path: Path) -> None:
    """JUnit parses, Markdown holds no HTML, no control code gets out."""
    task_id = "evil\x1b[2J]]>&<script>\n|\x00\x0b"
    for name in ("new", "old"):
        write_run(root, name, bench=unit(2, task_id), manifest={"name": "a\x1b[1m", "version": "1"})
    done = gate(
        "--mode", "no-regression", "--margin", "0.5", "--junit", tmp_path / "j.xml", "--markdown", tmp_path / "g.md"
    )
    assert done.code == 3
    assert "\x1b" not in done.out
    assert parsed(tmp_path / "j.xml").get("errors") == "1"
    page = (tmp_path / "g.md").read_text()
    assert "<script>" not in page
    assert "\x1b" not in page
