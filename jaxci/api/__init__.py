"""The NumPy-facing verbs."""
