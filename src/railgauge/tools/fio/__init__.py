"""fio, on the storage that a hostfile declares: ``plan`` makes its command, ``parse`` reads it."""

from railgauge.tools.fio.parse import parse
from railgauge.tools.fio.plan import METRICS, output_checks, commands, joined

__all__ = ["METRICS", "output_checks", "commands", "joined", "parse"]
