"""Training runs under many seeds: running them, keeping them, reading their files."""
