"""Targets: what a program can be written as, one file or folder each."""
