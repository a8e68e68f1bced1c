"""Sections of the page Performance."""
