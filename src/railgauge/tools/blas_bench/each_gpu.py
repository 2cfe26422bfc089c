"""A few lines of shell that run a program on each GPU of a node, one after the other. Pure.

They print the GPU before each run, and a closing line after the last one::

    railgauge: gpu3 cycle 0
    railgauge: end of 8 GPUs

The first run that fails ends them all with its exit code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SCRIPT = " ".join(
    (
        "gpus=$1; cycles=$2; shift 2; gpu=0;",
        'while [ "$gpu" -lt "$gpus" ]; do cycle=0;',
        'while [ "$cycle" -lt "$cycles" ]; do',
        'echo "railgauge: gpu$gpu cycle $cycle";',
        '"$@" --device "$gpu" || exit; cycle=$((cycle + 1)); done;',
        "gpu=$((gpu + 1)); done;",
        'echo "railgauge: end of $gpus GPUs"',
    )
)
BEGIN = re.compile(r"railgauge: (gpu[0-9]{1,4}) cycle ([0-9]{1,6})")
END = re.compile(r"railgauge: end of ([0-9]{1,4}) GPUs")


def on_each_gpu(name: str, argv: Sequence[str], gpus: int, cycles: int) -> tuple[str, ...]:
    """Return the command. ``name`` is the tool's, as errors call it."""
    return ("sh", "-c", _SCRIPT, name, str(gpus), str(cycles), *argv)
