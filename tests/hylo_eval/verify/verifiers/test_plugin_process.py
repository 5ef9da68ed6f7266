"""A plugin's function in a process of its own."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hylo_core.verifier import VerifierRef
from hylo_eval.errors import EvalError, VerificationError
from hylo_eval.verify.verifiers.plugin import PluginVerifier
from hylo_eval.verify.verifiers.plugin_process import PluginCallInterrupted, PluginProcesses
from hylo_eval.verify.verifiers.resolving import VerifierSetup, resolve_verifier
from tests.verifiers import PLUGIN, write_plugin

REF = VerifierRef("plugin", "verify:score")
SOURCE = """
import os, signal, sys, time

PID = os.getpid()

def score(task, trajectory):
    exec(task["prompt"])
    return task.get("reference", float(os.getpid() == PID))
"""


@pytest.fixture
def made(tmp_path):
    """Makes verifiers of a plugin's source, and ends their processes."""
    verifiers = []

    def make(source=SOURCE, ref=REF, **options):
        folder = write_plugin(tmp_path / "plugin", source)
        verifiers.append(PluginProcesses(ref, folder, **{"timeout_seconds": 30.0, **options}))
        return verifiers[-1]

    yield make
    for verifier in verifiers:
        verifier.close()


def doing(statement, **more):
    return {"prompt": statement, **more}


def test_it_gives_what_the_function_gives_in_this_process(made, tmp_path):
    """The same reward, metadata and digest; the trajectory arrives as JSON."""
    verifier = made("def score_arithmetic(task, trajectory): return trajectory[0]['x']\n", ref=PLUGIN)
    here = PluginVerifier(PLUGIN, tmp_path / "plugin")
    assert verifier.digest == here.digest
    assert verifier.verify({}, [{"x": 0.25}]) == here.verify({}, [{"x": 0.25}])
    assert verifier({}, [{"x": 0.5}]) == 0.5


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("os._exit(3)", "ended with exit code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL"),
        ("os.closerange(3, 100)", "ended with exit code"),
        ("sys.exit(0)", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise ValueError('no reference')", "ValueError: no reference"),
        ("task['x'] = 1", "TypeError"),
    ],
)
def test_what_the_function_does_to_its_process_is_the_failure_of_that_task(made, statement, reason):
    """The next task is judged."""
    verifier = made()
    with pytest.raises(VerificationError, match=reason) as caught:
        verifier(doing(statement), [])
    assert (caught.value.kind, caught.value.ref) == ("plugin", "verify:score")
    assert verifier(doing("pass"), []) == 1.0


@pytest.mark.parametrize("statement", ["os.fork()", "os.chdir('/')", "print('x'); sys.stdin.read()"])
def test_what_it_does_beside_its_answer_reaches_nobody(made, statement, capfd):
    """Neither a second answer of a copied process, nor another folder, nor a line on standard output."""
    here = Path.cwd()
    verifier = made()
    assert verifier(doing(statement), []) == 1.0
    assert verifier(doing("pass", reference=0.125), []) == 0.125
    assert Path.cwd() == here
    assert capfd.readouterr().out == ""


def test_a_call_without_end_ends_at_its_deadline(made):
    """Also one that no signal handler of Python's could interrupt."""
    verifier = made(timeout_seconds=3.0)
    with pytest.raises(VerificationError, match="within 3 seconds"):
        verifier(doing("9 ** 9 ** 9 ** 9"), [])
    assert verifier(doing("pass"), []) == 1.0


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os; os._exit(4)", "while it was imported, its process ended with exit code 4"),
        ("import absent_module", "importing it raised ModuleNotFoundError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_a_failed_import_is_an_error_of_the_first_task_and_stays_one(made, tmp_path, source, reason):
    """It is tried once: no later task imports anything."""
    count = f"open({str(tmp_path / 'imports')!r}, 'a').write('x')\n"
    verifier = made(count + source)
    for _ in range(3):
        with pytest.raises(VerificationError, match=reason):
            verifier({}, [])
    assert (tmp_path / "imports").read_text() == "x"


def test_it_is_imported_once_and_serves_every_task(made, tmp_path):
    """State of the module stays from one task to the next."""
    verifier = made("N = []\ndef score(task, trajectory):\n    N.append(1)\n    return len(N)\n")
    assert [verifier({}, []) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_several_processes_judge_at_once(made, tmp_path):
    """Two tasks that wait for each other are both judged; one process alone would wait for ever."""
    os.mkfifo(tmp_path / "meeting")
    wait = f"open({str(tmp_path / 'meeting')!r}, task['mode']).close()"
    verifier = made(processes=2)
    assert verifier.parallel
    assert not PluginProcesses(REF, tmp_path / "plugin").parallel
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(verifier, doing(wait, mode=mode), []) for mode in "rw"]
        assert [future.result() for future in futures] == [1.0, 1.0]


def test_a_process_that_died_between_two_tasks_is_replaced(made):
    """What a thread of the plugin does later is no failure of another task."""
    verifier = made()
    assert verifier(doing("pass"), []) == 1.0
    (process,) = verifier._processes._idle
    os.kill(process._process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process._process.pid, os.WEXITED | os.WNOWAIT)
    assert verifier(doing("pass"), []) == 1.0


def test_closing_ends_a_call_that_is_under_way(made, tmp_path):
    """A command that is interrupted leaves no process behind, starts no other and blames nobody."""
    os.mkfifo(tmp_path / "reached")
    verifier = made()
    interrupted = []

    def judged():
        try:
            verifier(doing(f"open({str(tmp_path / 'reached')!r}, 'w').close(); time.sleep(1000)"), [])
        except PluginCallInterrupted as interrupt:
            interrupted.append(interrupt)

    thread = threading.Thread(target=judged)
    thread.start()
    (tmp_path / "reached").open().close()
    verifier.close()
    thread.join(10)
    assert len(interrupted) == 1
    with pytest.raises(PluginCallInterrupted):
        verifier(doing("pass"), [])


def test_what_is_no_json_is_refused_before_it_is_sent(made):
    """It is said, and not printed in its stead."""
    with pytest.raises(VerificationError, match="as JSON"):
        made()({}, object())


def test_options_are_refused_out_of_range(tmp_path):
    """And are the setup's to choose."""
    folder = write_plugin(tmp_path / "plugin", SOURCE)
    for options in ({"processes": 0}, {"processes": 65}, {"timeout_seconds": 0.0}, {"timeout_seconds": 1e7}):
        with pytest.raises(EvalError, match=next(iter(options))):
            PluginProcesses(REF, folder, **options)
    setup = VerifierSetup(plugin_folder=folder)
    assert isinstance(resolve_verifier(REF, setup), PluginVerifier)
    setup = VerifierSetup(plugin_folder=folder, plugin_processes=3, timeout_seconds=5.0)
    assert resolve_verifier(REF, setup).parallel


def test_no_temporary_file_is_left(made, tmp_path, monkeypatch):
    """Those of a process that was killed go with the others."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    verifier = made()
    with pytest.raises(VerificationError):
        verifier(doing("import tempfile; tempfile.mkdtemp(); os._exit(1)"), [])
    assert list(tmp_path.glob("hylo-plugin-*"))
    verifier.close()
    assert not list(tmp_path.glob("hylo-plugin-*"))
