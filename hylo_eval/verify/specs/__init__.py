"""The frozen specification of every mode, by concept: answers, judged answers, executions."""
