"""Files that a candidate may have prepared: bounded reads, restored files, paths kept in their folder."""
