"""Whether a collective ran on the GPUs, or with the ranks, that it was planned for."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.errors import ToolFailed
from railgauge.model import Case, Parsed
from railgauge.thresholds import Measurement, Platform


def refuse_other_ranks(
    parsed: Parsed, case: Case, measurement: Measurement, platform: Platform
) -> None:
    """Raise ``ToolFailed`` if the ranks that the tool lists are not those that were asked for.

    A job over fewer GPUs prints a whole table all the same, and may well be the faster for it.
    Tools that list no ranks have nothing to refuse.
    """
    found = parsed.summary.get("nranks")
    by_host = parsed.summary.get("gpus", parsed.summary.get("ranks"))
    each = planned_each(measurement, platform)
    if not isinstance(found, int) or not isinstance(each, int):
        return
    wanted = [each] * len(case.nodes)
    spread = list(by_host.values()) if isinstance(by_host, Mapping) else wanted
    if found == sum(wanted) and spread == wanted:
        return
    raise ToolFailed(
        f"ran on {found} {'GPUs' if platform.gpus else 'ranks'}{_spread(by_host)}, "
        f"not on {sum(wanted)} ({each} on each of {len(wanted)} nodes)",
        where=f"{case.nodes[0]}: {measurement.command}",
        remedy="look at the launcher, its host list and what hides GPUs from a process",
    )


def planned_each(measurement: Measurement, platform: Platform) -> object:
    """Ranks on each node: one for each GPU, or as the measurement says."""
    if platform.gpus is None:
        return measurement.options.get("ranks_per_node", 1)
    return measurement.options.get("gpus_per_node", platform.gpus.count)


def _spread(by_host: object) -> str:
    if not isinstance(by_host, Mapping):
        return ""
    return f" ({', '.join(f'{count} on {host}' for host, count in by_host.items())})"
