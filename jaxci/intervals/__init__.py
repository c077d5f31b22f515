"""From replicates, or closed forms, to bounds."""
