"""What to do about each node of a run: a table, CSV, and commands for Slurm and Kubernetes."""
