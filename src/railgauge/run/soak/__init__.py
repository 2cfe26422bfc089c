"""A soak is judged: rounds after the ladder, each like a run. Pure."""
