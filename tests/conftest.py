"""Shared by all tests: which of them run where."""
