"""How data are resampled."""
