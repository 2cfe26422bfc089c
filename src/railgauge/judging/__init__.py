"""From what a tool printed to an outcome: evidence, limits, traffic, links and facts."""
