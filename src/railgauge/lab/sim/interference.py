"""What disturbs a collective from outside: diagnostics on the GPUs, NUMA balancing, a slow link."""

from __future__ import annotations

from _blake2 import blake2b  # hashlib loads OpenSSL, a tenth of a tool's start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]

_UNDISTURBED_US = 42660.0
# Document 001, test 2, row by row, out of place and in place.
_DISTURBED_US = (
    66340, 443092, 283475, 207513, 507865, 47528, 262626, 443742, 42905, 42754, 176794, 180657,
    81973, 66950,
)  # fmt: skip
# 14 disturbed of 41 iterations make the mean of 170 GB/s that the document reports for -i 1000.
_PERIOD = 41
_NUMA_WORST = 0.12


def link_share(job: Job) -> float:
    """A collective in a mesh is as fast as the slowest link that it takes."""
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
    """All links between its GPUs; a sendrecv those from each rank to the next one."""
    one, other = map(int, link.split(">"))
    if job["run"]["op"] != "sendrecv":
        return {one, other} <= set(gpus)
    after = [*gpus[1:], gpus[0]] if len(job["nodes"]) == 1 else gpus[1:]
    return (one, other) in zip(gpus, after)  # noqa: B905


def slowdowns(job: Job, first: int, count: int) -> float:
    """The mean factor on the time of ``count`` iterations, of which ``first`` went before."""
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
    """Now and then an iteration waits for pages that the kernel is moving."""
    digest = blake2b(f"{job['key']} {iteration}".encode(), digest_size=4).digest()
    share = int.from_bytes(digest, "big") / 2.0**32
    return 1.0 + _NUMA_WORST * share


def mean_slowdown() -> float:
    """The mean over a whole period of the diagnostics."""
    return sum(_diagnosed(i) for i in range(_PERIOD)) / _PERIOD
