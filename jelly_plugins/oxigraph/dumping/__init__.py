"""A store into Jelly."""
