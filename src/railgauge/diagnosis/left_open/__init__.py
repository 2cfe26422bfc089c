"""What a run leaves unknown of each node, and why. Pure."""
