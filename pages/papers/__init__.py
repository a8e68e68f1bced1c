"""What only the page Papers uses."""
