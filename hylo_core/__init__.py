"""What is evaluated: tasks, benchmarks, traces and scores as immutable values with digests."""
