"""gemm-bench, this project's own benchmark of matrix products and of memory, for each GPU alone.

``program`` is the program itself (PyTorch, CuPy or NumPy), ``plan`` makes its command, ``parse``
reads its output.
"""

from railgauge.tools.gemm_bench.parse import parse
from railgauge.tools.gemm_bench.plan import METRICS, commands, output_checks

__all__ = ["METRICS", "commands", "output_checks", "parse"]
