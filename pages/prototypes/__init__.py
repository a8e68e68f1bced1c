"""Prototypes: a file for each section of the page, and what they share."""
