"""Traces on disk: the layout of a run folder, the writer, the reader."""
