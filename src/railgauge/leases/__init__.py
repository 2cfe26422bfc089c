"""Leases: one measurement at a time on a node, among a run's workers and among runs."""
