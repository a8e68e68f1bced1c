"""Models as JavaScript."""
