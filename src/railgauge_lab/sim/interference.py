"""External causes that slow a collective: diagnostics on the GPUs, NUMA balancing, a slow link."""

from __future__ import annotations

from _blake2 import blake2b  # hashlib also loads OpenSSL, a tenth of a tool's start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]

_UNDISTURBED_US = 42660.0
# Times in microseconds from document 001, test 2, row by row: out of place, in place.
_DISTURBED_US = (
    66340, 443092, 283475, 207513, 507865, 47528, 262626, 443742, 42905, 42754, 176794, 180657,
    81973, 66950,
)  # fmt: skip
# 14 disturbed iterations in 41 give the mean of 170 GB/s that the document reports for -i 1000.
_PERIOD = 41
_NUMA_WORST = 0.12


def link_share(job: Job) -> float:
    """Return the share of the slowest link that the collective uses; it limits the whole mesh."""
    return min(
        (
            factor
            for node in job["nodes"]
            for link, factor in node["collectives"]["slow_links"].items()
            if _takes(job, job["devices"][node["name"]], link)
        ),
        default=1.0,
    )


def _takes(job: Job, gpus: list[int], link: str) -> bool:
    """Tell whether the job uses the link; a sendrecv uses only those from a rank to the next."""
    one, other = map(int, link.split(">"))
    if job["run"]["op"] != "sendrecv":
        return {one, other} <= set(gpus)
    after = [*gpus[1:], gpus[0]] if len(job["nodes"]) == 1 else gpus[1:]
    return (one, other) in zip(gpus, after)  # noqa: B905


def slowdowns(job: Job, first: int, count: int) -> float:
    """Return the mean factor on the time of ``count`` iterations that follow ``first`` others."""
    factor = 1.0
    if any(node["diagnostics"] for node in job["nodes"]):
        factor *= sum(_diagnosed(first + i) for i in range(count)) / count
    if any(_balanced(node) for node in job["nodes"]):
        factor *= sum(_migrated(job, first + i) for i in range(count)) / count
    return factor


def _diagnosed(iteration: int) -> float:
    place = iteration % _PERIOD
    return _DISTURBED_US[place] / _UNDISTURBED_US if place < len(_DISTURBED_US) else 1.0


def _balanced(node: dict[str, Any]) -> bool:
    moving = node["host"]["numa_balancing"] or any("numad" in x for x in node["processes"].values())
    return bool(node["collectives"]["numa_sensitive"] and moving)


def _migrated(job: Job, iteration: int) -> float:
    """Return the factor on the time of an iteration that waits for pages that the kernel moves."""
    digest = blake2b(f"{job['key']} {iteration}".encode(), digest_size=4).digest()
    share = int.from_bytes(digest, "big") / 2.0**32
    return 1.0 + _NUMA_WORST * share


def mean_slowdown() -> float:
    """Return the mean factor over a whole period of the diagnostics."""
    return sum(_diagnosed(i) for i in range(_PERIOD)) / _PERIOD
