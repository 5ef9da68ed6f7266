"""One run of pytest in a task's own interpreter: the program, its report, and who is to blame for a failure."""
