"""Evidence bundles: makes one signed file of a run, and verifies it."""
