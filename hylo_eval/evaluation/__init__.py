"""From a benchmark and an agent to a run folder."""
