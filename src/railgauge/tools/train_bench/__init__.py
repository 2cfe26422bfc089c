"""train-bench, this project's own benchmark of training steps: replayed, or together.

``program`` is the program itself (PyTorch), ``plan`` makes the launcher's command, ``parse`` reads
the output of rank 0.
"""

from railgauge.tools.train_bench.parse import parse
from railgauge.tools.train_bench.plan import METRICS, claims, commands

__all__ = ["METRICS", "claims", "commands", "parse"]
