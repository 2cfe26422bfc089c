"""The parts of a run: survey and prepare the nodes, measure, store results, resume a run."""
