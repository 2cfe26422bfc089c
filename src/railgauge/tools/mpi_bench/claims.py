"""What mpi-bench says of its run, beside what was asked for."""

from __future__ import annotations

from railgauge.tools.claims import Asked, Claim, Heard, equal
from railgauge.tools.hosts import claims_of_ranks

_DEFAULTS = {"iterations": 5, "warmup": 1, "cycles": 1}


def claims(asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:
    """Collective, data type, iterations, warm-up, cycles, ranks and their hosts."""
    said = heard[0].parsed.summary
    return (
        equal("collective", asked.measurement.command, said.get("collective")),
        equal("data type", "float32", said.get("dtype")),
        *(equal(name, asked.option(name, own), said.get(name)) for name, own in _DEFAULTS.items()),
        *claims_of_ranks(
            asked, asked.option("ranks_per_node", 1), said, said.get("ranks"), "ranks"
        ),
    )
