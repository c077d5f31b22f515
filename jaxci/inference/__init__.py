"""The engine: from statistics and data to evidence, and from evidence to bounds."""
