"""Models as libraries of Arduino."""
