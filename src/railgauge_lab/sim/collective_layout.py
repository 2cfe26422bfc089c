"""The text that nccl-tests 2.17, rccl-tests and MetaX's mccl tests print, tables included."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]
    Row = dict[str, Any]

_WIDE = 10000.0
_MIDDLE = 100.0
_FITTING = 100000.0
_SIDES = "                                                              out-of-place"
_NCCL = (
    f"#{_SIDES}                       in-place          ",
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
    "     time   algbw   busbw  #wrong ",
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        "
    "     (us)  (GB/s)  (GB/s)         ",
)
_RCCL = (
    f"#{_SIDES}                       in-place          ",
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong",
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "
    "     (us)  (GB/s)  (GB/s)       ",
)
_MCCL = (
    "#                                                           ┌----- out-of-place ------┐"
    "       ┌------ in-place -------┐",
    "#        size         count      type   redop    root      time    algbw   busbw   #wrong"
    "    time   algbw   busbw   #wrong",
    "#         (B)    (elements)                                (us)   (GB/s)  (GB/s)"
    "              (us)  (GB/s)  (GB/s)",
)
_HEADINGS = {"nccl": _NCCL, "rccl": _RCCL, "mccl": _MCCL}
_REDUCES = {"all_reduce", "reduce_scatter", "reduce", "sendrecv"}


def opening(job: Job) -> list[str]:
    """Return the lines before the list of devices."""
    run, library = job["run"], job["library"]
    counts = f"nThread {run['threads']} nGpus {run['gpus']}"
    sizes = f"minBytes {run['min']} maxBytes {run['max']} step: {run['step']}"
    iterations = (
        f"warmup iters: {run['warmup']} iters: {run['iters']} agg iters: {run['aggregated']}"
        f" validation: {run['check']} graph: {run['graph']}"
    )
    line = f"# {counts} {sizes} {iterations}"
    if run["dialect"] == "mccl":
        return [f"main_process = {job['pids'][0]}", "=" * 31, line, "#"]
    if run["dialect"] == "rccl":
        return [line, "#", f"rccl-tests: Version {library['tests']}"]
    version = f"{library['tests']} nccl-headers={library['headers']}"
    return [
        f"# nccl-tests version {version} nccl-library={library['headers']}",
        f"# Collective test starting: {run['tool']}",
        f"{line} unalign: {run['unalign']}",
        "#",
    ]


def devices(job: Job) -> list[str]:
    """Return ``# Using devices`` and one line for each rank."""
    return ["# Using devices", *(_device(job, rank) for rank in range(job["ranks"]))]


def _device(job: Job, rank: int) -> str:
    host, device, gpu = job["places"][rank]
    name, pid, bus = gpu["model"], job["pids"][rank], gpu["bus"]
    if job["run"]["dialect"] == "mccl":
        short = f"0x{bus.split(':')[1]}"
        return f"#   Rank {rank:2d} Pid {pid} on {host} device {device:2d} [{short}] {name}"
    if job["run"]["dialect"] == "rccl":
        return f"#   Rank {rank:2d} Pid {pid} on {host} device {device:2d} [{bus}] {name}"
    where = bus.rpartition(".")[0]
    return (
        f"#  Rank {rank:2d} Group  0 Pid {pid:6d} on {host:>10} device {device:2d} [{where}] {name}"
    )


def banner(job: Job) -> list[str]:
    """Return the versions that RCCL prints after the list of devices; empty for other libraries."""
    library = job["library"]
    if job["run"]["dialect"] != "rccl":
        return []
    return [
        f"RCCL version : {library['version']}",
        f"HIP version  : {library['hip']}",
        f"ROCm version : {library['rocm']}",
        f"Hostname     : {job['places'][0][0]}",
        f"Librccl path : {library['path']}",
    ]


def heading(job: Job) -> list[str]:
    """Return the heading of the table; with -C, ``cputime`` replaces ``time``."""
    lines = ["#", *_HEADINGS[job["run"]["dialect"]]]
    if job["run"]["cputime"]:
        lines = [line.replace("   time", "cputime") for line in lines]
    return lines


def row(job: Job, line: Row) -> list[str]:
    """Return a row of the table in three parts: what is measured, out of place, in place.

    ``line`` holds size, count and, for out of place and in place, time in us, algbw and busbw in
    GB/s, and the wrong values.
    """
    dialect, run = job["run"]["dialect"], job["run"]
    redop = run["redop"] if run["op"] in _REDUCES else ("" if dialect == "mccl" else "none")
    rooted = run["op"] in ("reduce", "broadcast")
    root = run["root"] if rooted else -1
    start = "#" if dialect == "mccl" else ""
    lead = 7 if dialect == "mccl" else 8
    text = f"{start}{line['size']:12d}  {line['count']:12d}  {run['type']:>8}  {redop:>6}"
    text += f"{root:{lead}d}"
    return [text, *(_side(dialect, *side) for side in line["sides"])]


def _side(dialect: str, time_us: float, algbw: float, busbw: float, count: str) -> str:
    wrong = f"{int(count):g}" if count.isdecimal() else count
    if dialect == "mccl":
        return f"  {time_us:9.2f}  {algbw:6.2f}  {busbw:6.2f}  {wrong:>5}"
    width = 7 if dialect == "nccl" else 6
    clock = _shortened(time_us, dialect)
    return f"  {clock:>7}  {algbw:6.2f}  {busbw:6.2f} {wrong:>{width}}"


def _shortened(time_us: float, dialect: str) -> str:
    """Return the time in at most seven characters; older tests drop digits earlier than newer."""
    if dialect == "nccl":
        digits = 2 if time_us < _WIDE else 1 if time_us < _FITTING else 0
    else:
        digits = 2 if time_us < _MIDDLE else 1 if time_us < _WIDE else 0
    return f"{time_us:.{digits}f}"


def closing(job: Job, average: float) -> list[str]:
    """Return the footer; ``average`` is the mean busbw in GB/s over all rows and both sides."""
    bounds = job["out_of_bounds"]
    asterisks = "# Errors with asterisks indicate errors that have exceeded the maximum threshold."
    mean = f"# Avg bus bandwidth    : {average:g} "
    lines = [f"# Out of bounds values : {bounds} {'FAILED' if bounds else 'OK'}", mean, "#"]
    if job["run"]["dialect"] == "rccl":
        return [asterisks, *lines]
    if job["run"]["dialect"] == "nccl":
        lines.append(f"# Collective test concluded: {job['run']['tool']}")
    return lines
