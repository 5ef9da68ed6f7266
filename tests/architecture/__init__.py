"""Laws of the code base itself."""
