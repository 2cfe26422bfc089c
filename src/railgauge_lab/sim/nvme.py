"""``nvme smart-log -o json DEVICE``: the health that an NVMe disk reports."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_KELVIN = 273
_HEALTHY = {
    "critical_warning": 0,
    "temperature": 38 + _KELVIN,
    "avail_spare": 100,
    "spare_thresh": 10,
    "percent_used": 1,
    "endurance_grp_critical_warning_summary": 0,
    "data_units_read": 41203417,
    "data_units_written": 38114062,
    "host_read_commands": 912834411,
    "host_write_commands": 845113027,
    "controller_busy_time": 1120,
    "power_cycles": 31,
    "power_on_hours": 2160,
    "unsafe_shutdowns": 3,
    "media_errors": 0,
    "num_err_log_entries": 0,
    "warning_temp_time": 0,
    "critical_comp_time": 0,
}


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return 0, or 1 for an unknown device or a command line that the lab does not know."""
    words = [word for word in arguments if not word.startswith("-") and word != "json"]
    if len(words) != 2 or words[0] != "smart-log" or "json" not in arguments:  # noqa: PLR2004
        sys.stderr.write("ERROR: Invalid sub-command\n")
        return 1
    name = os.path.basename(words[1])  # noqa: PTH119 - see main.py
    if name not in [f"nvme{number}" for number in range(node["host"].get("nvmes", 0))]:
        sys.stderr.write(f"{words[1]}: No such file or directory\n")
        return 1
    log = {**_HEALTHY, **node.get("nvme_smart", {}).get(name, {})}
    rows = ",\n".join(f'  "{key}" : {value}' for key, value in log.items())
    print(f"{{\n{rows}\n}}")
    return 0
