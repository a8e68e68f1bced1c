"""Models as Python, for a host or for MicroPython."""
