"""fio, on the storage that a hostfile declares: ``plan`` makes its command, ``parse`` reads it."""

from railgauge.tools.fio.parse import parse
from railgauge.tools.fio.plan import METRICS, claims, commands, joined

__all__ = ["METRICS", "claims", "commands", "joined", "parse"]
