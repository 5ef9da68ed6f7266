"""Worker processes and actors: how they are started, watched, ended, and what the loss of one comes to."""
