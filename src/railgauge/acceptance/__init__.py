"""A run from its options to its reports, in the order of its steps. pytest is not needed for it."""
