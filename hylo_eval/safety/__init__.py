"""Safety filters: the last look at an action before it reaches the environment."""
