"""The work queue of a run: one SQLite file from which worker processes claim episodes under leases."""

from hylo_eval.queue.heartbeat import Heartbeat
from hylo_eval.queue.owner import Machine, Owner
from hylo_eval.queue.run_queue import RunQueue
from hylo_eval.queue.settings import AnotherConfiguration, CodeChange, max_losses
from hylo_eval.queue.trace_check import Demotion
from hylo_eval.queue.values import Attempt, Ending, Item, Lease, Outcome, Result, State

__all__ = [
    "AnotherConfiguration",
    "Attempt",
    "CodeChange",
    "Demotion",
    "Ending",
    "Heartbeat",
    "Item",
    "Lease",
    "Machine",
    "Outcome",
    "Owner",
    "Result",
    "RunQueue",
    "State",
    "max_losses",
]
