"""nvbandwidth: copies between host and GPUs and between GPUs, and their latencies.

Formats: text of all versions from 0.2 to 0.10, JSON since 0.5.
"""

from railgauge.tools.nvbandwidth.parse import parse
from railgauge.tools.nvbandwidth.plan import METRICS, commands, form, output_checks

__all__ = ["METRICS", "commands", "form", "output_checks", "parse"]
