"""nccl-tests, rccl-tests and MetaX's mccl tests: one collective over the GPUs of the nodes.

``commands`` makes the launcher's command; ``parse`` reads the output of rank 0, as text or as the
JSON file of ``-J``. Formats: nccl-tests 2.0 to 2.20, their AMD and MetaX forks, and nccom-test.
"""

from railgauge.tools.ccl_tests.facts import identity
from railgauge.tools.ccl_tests.output_checks import output_checks
from railgauge.tools.ccl_tests.parse import parse, payload_bytes
from railgauge.tools.ccl_tests.plan import METRICS, commands, form

__all__ = ["METRICS", "commands", "form", "identity", "output_checks", "parse", "payload_bytes"]
