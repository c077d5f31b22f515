"""From what users pass to what the engine reads: arrays, labels, samples, layouts, metrics."""
