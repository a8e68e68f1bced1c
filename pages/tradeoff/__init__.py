"""Trade-off: the sweep, its charts, the batch command."""
