"""Video of what the policy saw: encoded while an episode runs, beside its trace, never part of its outcome."""
