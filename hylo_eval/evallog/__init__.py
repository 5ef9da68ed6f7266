"""The EvalLog: what a run came to, one sample an instance."""
