"""What a run does: it looks at the nodes, prepares them, measures, stores, and resumes."""
