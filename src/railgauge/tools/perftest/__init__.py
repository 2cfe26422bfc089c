"""perftest: ib_write_bw, ib_read_bw, ib_send_bw and the matching latency tests.

``plan`` makes the server's and the client's command; ``parse`` reads the output of either side.
Formats: perftest 5 and 6, the AMD and MetaX forks, and ``--out_json``.
"""

from railgauge.tools.perftest.addresses import identity
from railgauge.tools.perftest.output_checks import output_checks
from railgauge.tools.perftest.parse import parse, payload_bytes
from railgauge.tools.perftest.plan import METRICS, commands, flow, form

__all__ = [
    "METRICS",
    "commands",
    "flow",
    "form",
    "identity",
    "output_checks",
    "parse",
    "payload_bytes",
]
