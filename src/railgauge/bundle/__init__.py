"""Evidence bundles: one signed file of a run, and what checks it."""
