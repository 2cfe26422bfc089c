"""A pair of nodes by itself, and while all others load the fabric: GPCNet's question.

``plan`` makes the commands of perftest and of the collective that loads, ``parse`` reads them.
"""

from railgauge.tools.congestion.output_checks import output_checks
from railgauge.tools.congestion.parse import parse
from railgauge.tools.congestion.plan import METRICS, commands
from railgauge.tools.perftest.addresses import identity

__all__ = ["METRICS", "commands", "identity", "output_checks", "parse"]
