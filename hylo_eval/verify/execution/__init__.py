"""Programs run for a verdict: bounded in time and output, and ended with everything they started.

The values in here are named tuples and plain classes: making an attrs class takes ten times as long, and whoever
starts a command for one grade makes all of them.

What this cannot do: a command that runs under the grader's own user id can read whatever the grader can
read and can signal the grader. Where candidates may be hostile, run the verifier in a container of its own or
name another user in ``HYLO_VERIFY_USER`` (see :mod:`hylo_eval.verify.execution.environment`).
"""
