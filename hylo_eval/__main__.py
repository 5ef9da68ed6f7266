"""``python -m hylo_eval``: the same as ``hylo-eval``."""

from hylo_eval.cli import main

main()
