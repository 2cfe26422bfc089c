"""railgauge: acceptance tests for GPU clusters."""

__version__ = "0.4.0"
