"""``dcgmi diag``: NVIDIA's own tests of a node's GPUs.

The diagnostic loads all GPUs, so that it disturbs a collective or another diagnostic on the node.
The lease of the node, which a measurement holds from its start to its end, prevents this. Formats:
the table and the JSON (``-j``) of DCGM 2 to 4.
"""

from railgauge.tools.dcgmi_diag.parse import parse
from railgauge.tools.dcgmi_diag.plan import commands, output_checks

__all__ = ["commands", "output_checks", "parse"]
