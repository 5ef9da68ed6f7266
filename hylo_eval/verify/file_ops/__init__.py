"""Files that a candidate may have prepared: bounded reads, restored test files, paths that cannot leave a folder."""
