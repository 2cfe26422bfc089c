"""mpi-bench, this project's own benchmark of MPI collectives in host memory.

``program`` is the program itself (MPI through mpi4py), ``plan`` makes the launcher's command,
``parse`` reads the output of rank 0.
"""

from railgauge.tools.mpi_bench.parse import parse, payload_bytes
from railgauge.tools.mpi_bench.plan import METRICS, commands, form, output_checks

__all__ = ["METRICS", "commands", "form", "output_checks", "parse", "payload_bytes"]
