"""Graders: side effects (running code, asking a model), whose judgements become grade events in the trace."""
