"""``dcgmi diag``: NVIDIA's own tests of a node's GPUs.

It takes the GPUs for itself: two of them, or one beside a collective, measure each other. What
keeps them apart is the lease of the node, which a measurement holds from its start to its end.
Formats: the table and the JSON (``-j``) of DCGM 2 to 4.
"""

from railgauge.tools import NOT_LIMITED as METRICS
from railgauge.tools import sends_nothing as payload_bytes
from railgauge.tools.dcgmi_diag.parse import parse
from railgauge.tools.dcgmi_diag.plan import claims, commands

__all__ = ["METRICS", "claims", "commands", "parse", "payload_bytes"]
