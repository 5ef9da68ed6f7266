"""One run of pytest in a task's interpreter: the program, its report, and who is to blame for a failure."""
