"""TransferBench: all links between the GPUs of a node, at the same time (a2a) or in pairs (p2p).

Formats: TransferBench 1.5x and 1.6x, plain and bordered, and the test blocks of its configuration
files.
"""

from railgauge.tools.transferbench.parse import parse
from railgauge.tools.transferbench.plan import METRICS, commands, form, output_checks

__all__ = ["METRICS", "commands", "form", "output_checks", "parse"]
