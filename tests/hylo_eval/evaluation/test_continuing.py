"""What is advised where a run cannot be continued as it is."""

from __future__ import annotations

from hylo_eval.evaluation.continuing import how_to_continue
from hylo_eval.queue.configuration import Difference, differences


def test_an_edited_file_is_put_back() -> None:
    """Nobody can leave a digest out, and whoever edited the file may have the one of the run's beginning."""
    stored = {"agent": {"source_digest": "a"}, "env": {"source_digest": "a"}, "safety": [{"source_digest": "a"}]}
    now = {"agent": {"source_digest": "b"}, "env": {"source_digest": "a"}, "safety": [{"source_digest": "b"}]}
    assert how_to_continue(list(differences(stored, now)), "reach") == (
        "put the file of the agent and the safety filter safety[0] back as it was; "
        "or begin another run, without --resume and under another --run-id"
    )


def test_what_else_differs_is_left_out() -> None:
    """Options can be; where nothing but options differs, the queue's own advice stands."""
    option = Difference("env.options.speed", 1, 2)
    assert how_to_continue([option], "reach") == ""
    assert how_to_continue([option, Difference("env.source_digest", "a", "b")], "reach").endswith(
        "; leave out what else differs"
    )
