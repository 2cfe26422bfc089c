"""iperf3: TCP between two nodes, over however many streams.

Formats: the JSON (``-J``) of iperf 3.1 to 3.19.
"""

from railgauge.tools.iperf3.claims import claims
from railgauge.tools.iperf3.parse import parse, payload_bytes
from railgauge.tools.iperf3.plan import commands

__all__ = ["claims", "commands", "parse", "payload_bytes"]
