"""``python -m hylo_eval.evaluation.workers``: the process of a worker, started by a supervisor."""

from hylo_eval.evaluation.workers.process import main

if __name__ == "__main__":
    main()
