"""What only the page Lessons uses."""
