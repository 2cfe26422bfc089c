"""Derive the verdict of a run from the outcomes of its items."""
