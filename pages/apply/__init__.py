"""Apply: new rows from a file, matched, answered and scored."""
