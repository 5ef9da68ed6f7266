"""Logs and traces in the forms of other tools, and back."""
