"""How it is run, graded, scored, compared and reported."""
