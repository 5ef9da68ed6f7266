"""The index of a run root: a SQLite file derived from the run folders, always rebuildable."""
