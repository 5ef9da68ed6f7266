"""Asking a judge model: the connection, one bounded exchange, the prompts, and the score in a reply."""
