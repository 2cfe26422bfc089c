"""All workers of a run are on the machine that it was started on.

The kernel ends a worker there when its controller dies, and the locks of the run's folder are the
kernel's; on another machine neither holds, and a node could be measured twice at the same time.
See docs/slurm.md for what to do where one machine is not enough.
"""

from __future__ import annotations

import pytest

from railgauge.core.errors import BadInput


def refuse_others(config: pytest.Config) -> None:
    """Raises ``BadInput`` if ``--tx`` asks for a worker elsewhere."""
    if hasattr(config, "workerinput"):
        return
    for spec in getattr(config.option, "tx", None) or ():
        if not _is_here(spec):
            raise BadInput(
                "a run is carried out from one machine",
                where=f"--tx {spec}",
                remedy="use -n K; for more, see 'Several control hosts' in docs/slurm.md",
            )


def _is_here(spec: str) -> bool:
    """``popen`` or ``3*popen//python=…``, but not by way of another gateway."""
    kind, *settings = spec.rpartition("*")[2].split("//")
    return kind == "popen" and not any(setting.startswith("via=") for setting in settings)
