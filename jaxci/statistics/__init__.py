"""What is estimated."""
