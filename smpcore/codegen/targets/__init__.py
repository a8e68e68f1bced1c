"""Writers of a compiled model, one file for each language or runtime."""
