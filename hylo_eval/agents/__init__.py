"""Agents: what is evaluated. One session an episode; the harness alone buffers action chunks."""
