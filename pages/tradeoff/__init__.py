"""Trade-off: the sweep, its charts, the operating point, the batch command."""
