"""Making benchmarks of questions: from scenes of our own, and from somebody's JSONL file.

Authoring sits above environments and the verdict layer, because a task needs both: the picture that is shown and the
truth that a response is scored against.
"""
