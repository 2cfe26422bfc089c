"""Turn a tool's output into an outcome, by evidence, limits, traffic, links and facts."""
