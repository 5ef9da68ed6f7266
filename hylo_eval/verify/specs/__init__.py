"""The frozen specification of every mode, by concept: answers, judged answers, executions."""

DEFAULT_WORKSPACE = "/app"
"""The candidate's folder in the contract; the commands put their own in its place."""
