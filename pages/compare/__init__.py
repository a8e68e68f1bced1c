"""Compare: who takes part, how they are judged, and where they differ."""
