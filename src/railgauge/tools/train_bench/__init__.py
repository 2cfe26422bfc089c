"""train-bench, this project's own benchmark of training steps: replayed, or made together.

``program`` is the program itself (PyTorch), ``plan`` makes the launcher's command, ``parse`` reads
the output of rank 0: ``lines`` its lines, ``replayed`` and ``together`` what they mean.
"""

from railgauge.tools.train_bench.parse import parse, payload_bytes
from railgauge.tools.train_bench.plan import METRICS, commands, form, output_checks

__all__ = ["METRICS", "commands", "form", "output_checks", "parse", "payload_bytes"]
