"""Turns the facts of a survey into a platform file with derived limits. Pure."""
