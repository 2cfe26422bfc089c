"""fio, on the storage that a hostfile declares: ``plan`` makes its command, ``parse`` reads it."""

from railgauge.tools.fio.parse import parse
from railgauge.tools.fio.plan import METRICS, commands, joined, output_checks

__all__ = ["METRICS", "commands", "joined", "output_checks", "parse"]
