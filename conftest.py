"""Loads the acceptance suite; everything else is in the package."""

pytest_plugins = ["railgauge.plugin"]
