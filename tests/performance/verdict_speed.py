"""Grades a second of every in-process mode and the CPU time of the command, beside the public package.

    python tests/performance/verdict_speed.py [--peer PYTHON] [--seconds 0.5] [--rounds 5]

``PYTHON`` is the interpreter of an environment that holds marin-verifyit and nothing of ours; its adapter and
the loads are those of ``../shared/peers/grader_speed.py`` beside the repository. The two run in turns, so
that both see the same machine. CPU time is what is compared: wall clock says more about the neighbours.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT.parent / "shared" / "peers"
CASES = ROOT.parent / "shared" / "cases" / "verifyit"
OURS = ROOT / "tests" / "conformance" / "verifyit_adapter.py"
LEAST_SCHEMA_GRADES = 10_000
MOST_COMMAND_SECONDS = 0.25


def measure(adapter_path, seconds):
    """CPU seconds a grade of each load, the child processes' included, in this process."""
    sys.path[:0] = [str(PEERS), str(CASES)]
    from grader_speed import LOADS
    from run_cases import load_adapter

    names = load_adapter(adapter_path).load()
    figures = {}
    for load, (mode, parameters, candidate, resources) in LOADS.items():
        spec = names["candidate_spec"](mode, parameters)
        if mode == "predicted_action":
            calls = ((call["name"], call["arguments"]) for call in candidate)
            candidate = tuple(names["FunctionCall"](*call) for call in calls)  # noqa: PLW2901 - as the mode takes it
        grade = names["grade_candidate"]
        for _ in range(3):
            assert grade(spec, candidate, resources).reward == 1.0, load
        wall, end, count = time.perf_counter(), time.perf_counter() + seconds, 0
        cpu = time.process_time()
        while time.perf_counter() < end:
            grade(spec, candidate, resources)
            count += 1
        # A grade that waits for its child costs at least the wall clock of the two: count the larger figure.
        waits = mode == "math" or parameters.get("format") == "yaml"
        spent = time.perf_counter() - wall if waits else time.process_time() - cpu
        figures[load] = count / spent
    print("FIGURES " + json.dumps(figures))


def figures_of(python, adapter, seconds):
    """The figures of one adapter, measured in a process of its own."""
    command = [python, __file__, "--measure", str(adapter), "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("FIGURES "))
    return json.loads(line.removeprefix("FIGURES "))


def command_seconds(rounds):
    """CPU seconds of ``verify`` on a multiple-choice specification, from start to end."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "verifier.toml").write_text('mode = "mcq"\nexpected = "C"\n')
        (root / "answer.txt").write_text("Answer: C")
        program = "import sys; from hylo_eval.verify.commands import main_verify; sys.exit(main_verify())"
        command = [sys.executable, "-c", program, str(root / "verifier.toml")]
        command += ["--workspace", str(root), "--logs-dir", str(root / "logs")]
        spent = []
        for _ in range(rounds):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return statistics.median(spent)


def main():
    """Prints the table and exits with 1 when a stated figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter of the environment with marin-verifyit")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", metavar="ADAPTER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.seconds)
        return 0
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        ours.append(figures_of(sys.executable, OURS, arguments.seconds))
        if arguments.peer:
            theirs.append(figures_of(arguments.peer, PEERS / "adapter_verifyit.py", arguments.seconds))
    missed = []
    for load in ours[0]:
        figure = statistics.median(row[load] for row in ours)
        text = f"{load:22} {figure:12.0f} grades/s"
        if theirs:
            peer = statistics.median(row[load] for row in theirs)
            text += f"   public {peer:12.0f}   ratio {figure / peer:6.2f}"
            if figure < peer:
                missed.append(f"{load} is slower than the public package")
        print(text)
        if load == "json-schema" and figure < LEAST_SCHEMA_GRADES:
            missed.append(f"{load}: fewer than {LEAST_SCHEMA_GRADES} grades a second")
    seconds = command_seconds(arguments.rounds)
    print(f"{'verify on mcq':22} {seconds:12.3f} s CPU")
    if seconds > MOST_COMMAND_SECONDS:
        missed.append(f"verify takes more than {MOST_COMMAND_SECONDS} s CPU")
    for line in missed:
        print("MISSED", line)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
