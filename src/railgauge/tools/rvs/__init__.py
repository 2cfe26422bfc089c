"""ROCm Validation Suite: its modules GST, IET and BABEL on each GPU, and PBQT between GPUs.

``plan`` makes the command, ``reading`` has the common form of all lines, ``peers``, ``products``
and ``memory`` read the lines of the modules, and ``parse`` the whole output.
"""

from railgauge.tools.rvs.parse import parse
from railgauge.tools.rvs.plan import METRICS, commands, output_checks

__all__ = ["METRICS", "commands", "output_checks", "parse"]
