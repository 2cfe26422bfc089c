"""The lines of the five documents, and what holds each."""
