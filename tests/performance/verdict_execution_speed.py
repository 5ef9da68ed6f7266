"""CPU time of grading from files, as a call and as a whole command, in every mode, beside the public package.

    python tests/performance/verdict_execution_speed.py --peer PYTHON [--rounds 30] [--only stdio,junit] [--calls | --commands]

``PYTHON`` is the interpreter of an environment that holds marin-verifyit. The two take turns, so that both see the
same machine; a figure is user and system time of the grader and of the processes it started and reaped.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GRADERS = {
    "ours": "from hylo_eval.verify.grade import grade, load_spec",
    "public": "from verifyit.grade import grade, parse_spec\nload_spec = lambda path: parse_spec(path.read_text())",
}
ENTRIES = {
    "hylo-verify": ["import sys; from hylo_eval.verify.commands import main_verify; sys.exit(main_verify())"],
    "hylo-eval": ["from hylo_eval.cli import main; main()", "verify"],
}
PUBLIC_ENTRY = ["import sys; from verifyit.grade import main; sys.exit(main())"]
SERVER = """
import json, resource, sys
from pathlib import Path
{imports}

def spent():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)

for line in sys.stdin:
    folder, count = json.loads(line)
    tests, workspace = Path(folder, "tests"), Path(folder, "app")
    spec = load_spec(tests / "verifier.toml")
    assert grade(spec, tests, workspace).reward == 1.0, folder
    before = spent()
    for _ in range(count):
        grade(spec, tests, workspace)
    print((spent() - before) / count, flush=True)
"""
CASES = "".join(f'<testcase classname="Arm" name="pose_{index}"/>' for index in range(20))
REPORT = (
    f'<testsuites><testsuite name="arm" tests="20" failures="0" errors="0" skipped="0">{CASES}</testsuite></testsuites>'
)
EVENTS = "".join(
    json.dumps({"Action": action, "Package": "example.com/arm", **test}) + "\n"
    for action, test in [
        ("run", {"Test": "TestHome"}),
        ("pass", {"Test": "TestHome", "Elapsed": 0.01}),
        ("pass", {"Elapsed": 0.02}),
    ]
)
SCHEMA = (
    '{"type": "object", "required": ["pose"], "properties": {"pose": {"type": "array", "items": {"type": "number"}}}}'
)
CALLS = '[[expected_calls]]\nname = "move_to"\narguments = \'{"x": 0.1, "frame": "base"}\'\n'
ENTRY = json.dumps({"question": "1 + 1 = ?", "answer": "2", "metadata": {"source_dataset": "basic_arithmetic"}})
TASKS = {
    "stdio": (
        'mode = "stdio"\ncommand = "cat"\n',
        {f"tests/cases/{kind}put_{case}.txt": f"{case} 2 3\n" for case in range(3) for kind in ("in", "out")},
    ),
    "stdio_build_judge": (
        'mode = "stdio"\ncommand = "./run"\nbuild = "chmod +x run"\ncompare = "float"\n',
        {"app/run": "#!/bin/sh\ncat\n", "tests/cases/input_1.txt": "0.5\n", "tests/cases/output_1.txt": "0.5\n"},
    ),
    "junit": (
        'mode = "junit"\ncommand = "cp report.xml TEST-arm.xml"\nreport = "TEST-*.xml"\n',
        {"app/report.xml": REPORT},
    ),
    "junit_folders": (
        'mode = "junit"\ncommand = "cp report.xml out/TEST-arm.xml"\n',
        {"app/report.xml": REPORT, "app/out/notes.txt": "x", **{f"app/src/{i}.py": "x" for i in range(10)}},
    ),
    "gotest": ('mode = "gotest"\n', {"app/events.jsonl": EVENTS, "bin/go": "#!/bin/sh\nexec cat events.jsonl\n"}),
    "script": ('mode = "script"\npath = "grade.sh"\n', {"tests/grade.sh": "echo 1.0\n"}),
    "script_json": (
        'mode = "script"\npath = "grade.sh"\n',
        {"tests/grade.sh": 'echo \'{"reward": 1.0, "steps": 3}\' > $VERIFYIT_LOGS_DIR/reward.json\n'},
    ),
    "script_verdict": (
        'mode = "script"\npath = "grade.sh"\nverdict_file = "v.json"\n',
        {"tests/grade.sh": 'echo \'{"status": "scored", "reward": 1.0, "detail": {}}\' > $VERIFYIT_LOGS_DIR/v.json\n'},
    ),
    "pytest": (
        f'mode = "pytest"\npython = "{sys.executable}"\npaths = ["test_arm.py"]\nrestore = ["test_arm.py"]\n',
        {
            "tests/test_arm.py": "from arm import home\n\ndef test_home():\n    assert home() == 1\n",
            "app/arm.py": "def home(): return 1\n",
        },
    ),
    "judge": (
        'mode = "judge"\nreferences = ["the red mug"]\nexact_gate = false\nmodel = "m"\n',
        {"app/answer.txt": "a red mug"},
    ),
    "judge_gate": ('mode = "judge"\nreferences = ["the red mug"]\n', {"app/answer.txt": "The red mug."}),
    "exact": ('mode = "exact"\nexpected = ["pick the red mug"]\n', {"app/answer.txt": "Pick the RED mug\n"}),
    "numeric": (
        'mode = "numeric"\nexpected = "1/8"\ntolerance_abs = 0.0\ntolerance_rel = 0.001\n',
        {"app/answer.txt": "0.125"},
    ),
    "mcq": ('mode = "mcq"\nexpected = "C"\n', {"app/answer.txt": "Answer: C"}),
    "math": ('mode = "math"\nexpected = "x^2-1"\n', {"app/answer.txt": "\\boxed{(x-1)(x+1)}"}),
    "math_number": ('mode = "math"\nexpected = "3"\n', {"app/answer.txt": "\\boxed{3}"}),
    "ifeval": (
        'mode = "ifeval"\n[[constraints]]\nname = "punctuation:no_comma"\n',
        {"app/answer.txt": "Move the arm."},
    ),
    "json-schema": ('mode = "json-schema"\n', {"app/answer.txt": '{"pose": [1, 2]}', "tests/schema.json": SCHEMA}),
    "json-schema_yaml": (
        'mode = "json-schema"\nformat = "yaml"\n',
        {"app/answer.txt": "pose: [1, 2]\n", "tests/schema.json": SCHEMA},
    ),
    "xml-elements": ('mode = "xml-elements"\nrequired = ["pose"]\n', {"app/answer.txt": "<cmd><pose>1</pose></cmd>"}),
    "csv-columns": ('mode = "csv-columns"\nrequired = ["t"]\n', {"app/answer.txt": "t,x\n0,1\n"}),
    "structured_exact": (
        'mode = "structured_exact"\nexpected = \'{"goal": [1, 2]}\'\n',
        {"app/answer.txt": '{"goal": [1, 2]}'},
    ),
    "predicted_action": (
        f'mode = "predicted_action"\n{CALLS}',
        {"app/answer.txt": '[{"name": "move_to", "arguments": {"x": 0.1, "frame": "base"}}]'},
    ),
    "reasoning-gym": (
        'mode = "reasoning-gym"\ndataset = "basic_arithmetic"\n',
        {"app/answer.txt": "2", "tests/entry.json": ENTRY},
    ),
}
EXPENSIVE = {"pytest": 10, "reasoning-gym": 10, "math": 4, "judge": 2}
"""How many times fewer rounds a mode gets whose grades take long."""


class _Judge(BaseHTTPRequestHandler):
    """A judge that accepts everything."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "fine\nSCORE: 1"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = json.dumps(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def write_tasks(folder, names):
    """The folder of every task by its name."""
    for name in names:
        specification, files = TASKS[name]
        for path, text in {"tests/verifier.toml": specification, "app/.keep": "", **files}.items():
            target = folder / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            target.chmod(0o755 if path.startswith("bin/") else 0o644)
    return {name: folder / name for name in names}


class Side:
    """One of the two packages: a process that grades on request, and its command."""

    def __init__(self, name, python, entry, environment):
        self.name, self.python, self.entry, self.environment = name, python, entry, environment
        self._server = subprocess.Popen(
            [python, "-c", SERVER.format(imports=GRADERS[name])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def call_seconds(self, folder, count):
        """CPU seconds of one call, the mean of several."""
        print(json.dumps([str(folder), count]), file=self._server.stdin, flush=True)
        return float(self._server.stdout.readline())

    def command_seconds(self, folder, _count):
        """CPU seconds of one command, start and end included."""
        command = [self.python, "-c", *self.entry, str(folder / "tests" / "verifier.toml")]
        command += ["--workspace", str(folder / "app"), "--logs-dir", str(folder / f"logs-{self.name}")]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True, env=self.environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert json.loads((folder / f"logs-{self.name}" / "verdict.json").read_text())["reward"] == 1.0, folder
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def close(self):
        """Ends the process."""
        self._server.stdin.close()
        self._server.wait()


def compare(sides, method, folder, rounds, count):
    """The CPU seconds of every round, a pair each: both sides take turns in who begins."""
    pairs = []
    for number in range(-1, rounds):
        pair = {side.name: getattr(side, method)(folder, count) for side in (sides if number % 2 else sides[::-1])}
        if number >= 0:  # the first one fills the caches
            pairs.append((pair["ours"], pair["public"]))
    return pairs


def row(name, pairs):
    """One line of the table, and whether ours is slower: in the median of the pairs' ratios and in the minimum."""
    ours, public = ([1000 * pair[side] for pair in pairs] for side in (0, 1))
    ratio = statistics.median(mine / theirs for mine, theirs in pairs)
    slower = ratio > 1.0 and min(ours) > min(public)
    text = f"{name:26} ms CPU  median {statistics.median(ours):8.3f} public {statistics.median(public):8.3f}"
    text += f"   least {min(ours):8.3f} public {min(public):8.3f}   ratio {ratio:5.2f}"
    return text + ("   SLOWER" if slower else ""), slower


def main():
    """Prints the table and exits with 1 when a mode is slower than the public package's, in median and minimum."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", metavar="PYTHON", required=True, help="interpreter with marin-verifyit")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--count", type=int, default=10, help="calls a round")
    parser.add_argument("--only", default=",".join(TASKS), help="tasks, separated by commas")
    parser.add_argument("--entry", choices=ENTRIES, default="hylo-verify", help="our command")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--calls", action="store_true", help="calls alone")
    kinds.add_argument("--commands", action="store_true", help="commands alone")
    arguments = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = write_tasks(Path(scratch), arguments.only.split(","))
        path = os.pathsep.join([*(str(folder / "bin") for folder in folders.values()), "/usr/bin", "/bin"])
        judge = {"VERIFYIT_JUDGE_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "VERIFYIT_JUDGE_API_KEY": "k"}
        environment = {**os.environ, **judge, "PATH": path}
        # A checkout is not compiled as an installed package is.
        compiling = [sys.executable, "-m", "compileall", "-q", str(ROOT / "hylo_core"), str(ROOT / "hylo_eval")]
        subprocess.run(compiling, check=True)
        sides = [
            Side("ours", sys.executable, ENTRIES[arguments.entry], {**environment, "PYTHONPATH": str(ROOT)}),
            Side("public", arguments.peer, PUBLIC_ENTRY, {**environment, "PYTHONPATH": ""}),
        ]
        for method in ("call_seconds", "command_seconds"):
            if (arguments.calls and method != "call_seconds") or (arguments.commands and method != "command_seconds"):
                continue
            for name, folder in folders.items():
                scale = EXPENSIVE.get(name, 1)
                rounds, count = max(3, arguments.rounds // scale), max(1, arguments.count // scale)
                text, slower = row(f"{method.partition('_')[0]} {name}", compare(sides, method, folder, rounds, count))
                missed += slower
                print(text, flush=True)
        for side in sides:
            side.close()
    server.shutdown()
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
