"""Hostfiles and platform files, and the checks against their schemas."""
