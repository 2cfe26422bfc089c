"""iperf3: TCP between two nodes, over however many streams.

Formats: the JSON (``-J``) of iperf 3.1 to 3.19.
"""

from railgauge.tools.iperf3.metrics import METRICS
from railgauge.tools.iperf3.parse import parse, payload_bytes
from railgauge.tools.iperf3.plan import commands

__all__ = ["METRICS", "claims", "commands", "parse", "payload_bytes"]
from railgauge.tools.iperf3.claims import claims
