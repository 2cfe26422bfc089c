"""ROCm Validation Suite: its modules GST, IET and BABEL on each GPU, and PBQT between GPUs.

``plan`` has the command, ``reading`` what all of its lines share, ``peers``, ``products`` and
``memory`` the lines of the modules, and ``parse`` the whole.
"""

from railgauge.tools.rvs.parse import parse
from railgauge.tools.rvs.plan import METRICS, claims, commands

__all__ = ["METRICS", "claims", "commands", "parse"]
