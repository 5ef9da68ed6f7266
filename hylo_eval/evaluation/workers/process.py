"""The process of a worker: commands on standard input, events on a descriptor of its own, episodes in between.

Standard output and error belong to simulators and agents, who print; what they print is the supervisor's log. Commands
and events are JSON lines (:mod:`hylo_eval.evaluation.recipe` says what the first command holds):

==============  ==========================================================================
command         ``setup`` (recipe, first task to open or none), ``task`` (a TaskSpec),
                ``episode`` (number, task id, seed, episode_index, split, attempt), ``stop``
event           ``ready`` (setup, differences), ``refused``, ``outcome``, ``cancelled``,
                ``skipped``, ``disturbed``, ``fault``
==============  ==========================================================================

Several episodes may stand in the pipe; those that the supervisor withdraws meanwhile are skipped.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import attrs
import orjson

from hylo_core.errors import HyloError, clean_text, describe_error
from hylo_core.task import TaskInstance, TaskSpec
from hylo_eval.errors import Disturbance, DisturbedTrace, EnvUnready, EvalError
from hylo_eval.evaluation.executor import close_agent
from hylo_eval.evaluation.file_size import FileSizeLimit
from hylo_eval.evaluation.outcomes import outcome_members
from hylo_eval.evaluation.phases import IDLE, PhaseBoard
from hylo_eval.evaluation.preflight import preflight
from hylo_eval.evaluation.recipe import Recipe
from hylo_eval.evaluation.source_files import source_digests, source_of
from hylo_eval.evaluation.stopping import StopRequest
from hylo_eval.evaluation.worker import MadeWorker, Worker, make_worker
from hylo_eval.evaluation.workers.events import DISTURBED
from hylo_eval.interpreters.own import hylo_version, source_digest
from hylo_eval.video.recorder import VideoRecorder, make_recorder

EVENTS_VARIABLE: Final = "HYLO_WORKER_EVENTS"
"""The number of the descriptor that events are written to."""

BOARD_VARIABLE: Final = "HYLO_WORKER_BOARD"
"""The number of the descriptor of the shared memory for phases."""

_PR_SET_PDEATHSIG: Final = 1


def main() -> NoReturn:
    """Run commands until standard input ends."""
    _end_with_supervisor()
    faulthandler.enable()
    process = _Process(
        commands=os.fdopen(os.dup(0), "rb"),
        events=int(os.environ.pop(EVENTS_VARIABLE)),
        board=PhaseBoard(int(os.environ.pop(BOARD_VARIABLE))),
        file_size_limit=FileSizeLimit.now(),
    )
    process.board.close_to_others()
    # Whoever reads standard input meanwhile must not take the commands away.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for descriptor in (process.events, process.board.descriptor, process.commands.fileno()):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - the signature is Python's
    with StopRequest(insist=False) as stop:
        process.run(stop)
    _leave()


def _end_with_supervisor() -> None:
    """Have the kernel end this process when its supervisor is gone, so that nothing runs on without a lease."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # It may have gone before the kernel was asked. Nobody else holds the other end of standard input.
        poll = select.poll()
        poll.register(0, 0)
        if any(event & select.POLLHUP for _, event in poll.poll(0)):
            os._exit(1)


def _leave(code: int = 0) -> NoReturn:
    """Leave at once: every outcome is on disk, and simulators are known to crash or hang while Python shuts down."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


@attrs.define
class _Process:
    commands: Any
    events: int
    board: PhaseBoard
    file_size_limit: FileSizeLimit
    tasks: dict[str, TaskSpec] = attrs.field(factory=dict[str, TaskSpec])

    def run(self, stop: StopRequest) -> None:
        """Read and obey."""
        self.board.enter("make")
        try:
            made = self._set_up(self._command(), stop)
        except KeyboardInterrupt:
            return
        except HyloError as error:
            self._send({"type": "refused", **_described(error)})
            return
        self.board.enter(IDLE)
        try:
            while (command := self._command()) and self._obey(command, made.worker):
                self.board.enter(IDLE)
        finally:
            self.board.enter("close")
            made.worker.close()
            close_agent(made.agent)

    def _set_up(self, command: Mapping[str, Any], stop: StopRequest) -> MadeWorker:
        recipe = Recipe.from_dict(command["recipe"])
        _refuse_other_hylo(command["hylo"])
        made = make_worker(recipe, stop=stop, on_phase=self.board.enter)
        filters = [source_of(type(item)) for item in made.worker.safety or ()]
        ready: dict[str, Any] = {
            "type": "ready",
            "agent": made.agent.info.to_dict(),
            "sources": source_digests(made.agent_ref, made.env_ref, filters),
        }
        if command["first"] is not None:
            first = TaskSpec.from_dict(command["first"])
            setup, differences = preflight(made.worker, first, made.agent, made.env_ref, made.agent_ref)
            made.worker.video = make_recorder(made.worker.run, recipe.video, setup.env_spec)
            ready["setup"] = setup.to_dict()
            ready["differences"] = [attrs.asdict(difference) for difference in differences]
        elif recipe.video != "none":
            made.worker.video = VideoRecorder(made.worker.run, recipe.video)
        self._send(ready)
        return made

    def _obey(self, command: Mapping[str, Any], worker: Worker) -> bool:
        """Do one command; False when it was the last."""
        kind = command["type"]
        if kind == "task":
            spec = TaskSpec.from_dict(command["spec"])
            self.tasks[spec.id] = spec
            return True
        if kind == "episode" and command["number"] <= self.board.withdrawn():
            self._send({"type": "skipped", "number": command["number"]})
            return True
        return kind == "episode" and self._run(command, worker)

    def _run(self, command: Mapping[str, Any], worker: Worker) -> bool:
        """Run an episode; False when this worker runs no other."""
        if worker.stop is not None and worker.stop():
            self._send({"type": "cancelled"})
            return False
        instance = TaskInstance(
            spec=self.tasks[command["task"]],
            seed=command["seed"],
            episode_index=command["episode_index"],
            split=command["split"],
        )
        started_at, began = time.time(), time.monotonic()
        try:
            result = worker.attempt(instance, command["attempt"])
        except KeyboardInterrupt:
            self._send({"type": "cancelled"})
            return False
        except EvalError as error:
            how = error.how if isinstance(error, DisturbedTrace) else None
            if self.file_size_limit.explains(error):
                how = Disturbance.FILE_SIZE
            if how is None:
                self._send({"type": "fault", **_described(error)})
                return False
            # Whoever writes there writes elsewhere too: this process cannot be trusted, another one can.
            traceback.print_exc()
            self._send({"type": DISTURBED, "how": how.name})
            return False
        except BaseException:  # noqa: BLE001 - no memory left, say: this process cannot go on, another one can
            traceback.print_exc()
            _leave(1)
        self._send(
            {
                "type": "outcome",
                "number": command["number"],
                "attempt": command["attempt"],
                "outcome": outcome_members(result, instance, worker.run, started_at, time.monotonic() - began),
                "resident_bytes": result.end.volatile.get("resident_bytes"),
                "videos": None if worker.video is None else attrs.asdict(worker.video.take_tally()),
            }
        )
        return True

    def _command(self) -> dict[str, Any]:
        """The next command; a stop where the supervisor has nothing more to say."""
        line = self.commands.readline()
        return orjson.loads(line) if line.endswith(b"\n") else {"type": "stop"}

    def _send(self, event: Mapping[str, Any]) -> None:
        try:
            data = memoryview(orjson.dumps(event) + b"\n")
        except TypeError as error:
            raise EvalError(f"what agent or environment say of themselves is no JSON: {error}") from error
        try:
            while data:
                data = data[os.write(self.events, data) :]
        except OSError:
            # Somebody has closed this end of the pipe, or its number is another file's now: nobody hears this process.
            traceback.print_exc()
            _leave(1)


def _refuse_other_hylo(wanted: Mapping[str, str]) -> None:
    """Episodes of one run are run by one state of the code."""
    if wanted["version"] != hylo_version():
        raise EvalError(
            f"this interpreter has Hylo {hylo_version()}, the run was started by {wanted['version']}",
            fix=f"{sys.executable} -m pip install hylo-eval=={wanted['version']}",
        )
    if wanted["source_digest"] != source_digest():
        raise EvalError(
            f"the source files of Hylo in {sys.executable} are not those that the run was started by: they were "
            "changed meanwhile, or another state of them is installed there",
            fix="hylo-eval doctor; then hylo-eval run --resume RUN_ID --allow-code-change",
        )


def _described(error: BaseException) -> dict[str, Any]:
    message = error.message if isinstance(error, EvalError) else describe_error(error)
    return {
        "message": clean_text(message),
        "fix": error.fix if isinstance(error, EvalError) else "",
        "unready": isinstance(error, EnvUnready),
    }
