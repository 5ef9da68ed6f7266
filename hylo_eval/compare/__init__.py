"""Paired comparison."""
