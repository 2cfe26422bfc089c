"""``all_reduce_perf`` and the other tests of nccl-tests, rccl-tests and MetaX's mccl tests.

``run_job`` runs a job of one or more ranks. It is called by the launchers and by ``run``, the tool
without a launcher.
"""

from __future__ import annotations

import os
import sys

from . import (
    algorithms,
    background,
    collective_faults,
    collective_json,
    collective_layout,
    collective_log,
    collective_times,
    fabric,
    figures,
)
from .collective_options import TYPES, CollectiveRefused, read_options
from .counters import count_ethernet, count_traffic, lost_per_gb, turn
from .interference import slowdowns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Job = dict[str, Any]
    Row = dict[str, Any]
    Slots = list[tuple[Node, int]]

_ETHERNET = {"xmit": "tx", "rcv": "rx"}
_ALIGNED_BYTES = 16
_PER_RANK = {"all_gather", "reduce_scatter", "alltoall"}
_VISIBLE = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "MACA_VISIBLE_DEVICES",
)
_RESERVED_MIB = 1024
_MIB = 1 << 20


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Run one process without a launcher; return the exit code of the real tool."""
    return run_job(tool, arguments, [(node, 0)], dict(os.environ))


def run_job(tool: str, arguments: list[str], slots: Slots, environment: dict[str, str]) -> int:
    """Run one job, and return the exit code of the real tool.

    ``slots`` holds, for every process in the order of the ranks, its node and its number on that
    node. Prints the output of rank 0 and the messages of ranks that fail.
    """
    library = slots[0][0]["collectives"]
    try:
        options = read_options(tool, arguments, library["dialect"])
        job = job_of(options, arguments, slots, environment)
        screen = _start(job)
    except CollectiveRefused as refusal:
        sys.stdout.write(str(refusal.args[0]))
        return int(refusal.args[1])
    if not options["cycles"]:
        return background.endless(job, screen, lambda cycle: _printed(job, _cycle(job, cycle)))
    rows = _measure(job)
    job["out_of_bounds"] = collective_faults.out_of_bounds(job, rows)
    screen += _printed(job, rows)
    averages = [side[2] for row in rows for side in row["sides"]]
    average = sum(averages) / len(averages)
    screen += collective_layout.closing(job, average)
    sys.stdout.write("\n".join(screen) + "\n")
    if job["json_path"]:
        collective_json.write(job["json_path"], job, rows, average)
    _count(job, rows)
    return 1 if job["out_of_bounds"] else 0


def job_of(
    options: dict[str, Any], arguments: list[str], slots: Slots, environment: dict[str, str]
) -> Job:
    """Return all that the times of a job depend on. Raises ``CollectiveRefused``."""
    places, pids, addresses = _places(options, slots, environment)
    nodes = list({node["name"]: node for node, _ in slots}.values())
    devices: dict[str, list[int]] = {node["name"]: [] for node in nodes}
    numbers = {node["name"]: [gpu["bus"] for gpu in node["gpus"]] for node in nodes}
    for host, _, gpu in places:
        # The first device of a process need not be the node's first GPU.
        devices[host].append(numbers[host].index(gpu["bus"]))
    job: Job = {
        "run": options,
        "arguments": [options["tool"], *arguments],
        "library": nodes[0]["collectives"],
        "environment": environment,
        "nodes": nodes,
        "ranks": len(places),
        "places": places,
        "pids": pids,
        "addresses": addresses,
        "devices": devices,
        "algorithm": algorithms.chosen(nodes[0]["collectives"], environment),
        "path": fabric.path(nodes, environment, devices, options["op"]),
    }
    job["variants"] = _variants(job)
    collective_times.prepare(job)
    key = f"{':'.join(devices)} {options['tool']} {options['type']} {len(places)}"
    job["turn"] = turn(nodes[0], key)
    job["key"] = f"{key} turn {job['turn']}"
    return job


def _places(
    options: dict[str, Any], slots: Slots, environment: dict[str, str]
) -> tuple[list[tuple[str, int, Any]], list[int], list[str]]:
    """Return, for every rank: (host, device number, GPU); process ID; address.

    Raises ``CollectiveRefused`` if a node has too few GPUs.
    """
    each = options["threads"] * options["gpus"]
    places, pids, addresses = [], [], []
    for process, (node, local) in enumerate(slots):
        gpus = _visible(node, environment)
        pid = 2000 + (os.getpid() * 31 + process) % 60000
        wanted = (local + 1) * each
        if wanted > len(gpus):
            raise CollectiveRefused(
                _too_few(options, node, wanted, len(gpus), pid), collective_faults.TEST_FAILURE
            )
        for device in range(local * each, wanted):
            places.append((str(node["name"]), device, gpus[device]))
            pids.append(pid)
            addresses.append(str(node["address"]))
    return places, pids, addresses


def _visible(node: Node, environment: dict[str, str]) -> list[Any]:
    known = {**node["environment"], **environment}
    chosen = next((known[name] for name in _VISIBLE if known.get(name)), "")
    gpus: list[Any] = node["gpus"]
    if not chosen:
        return gpus
    return [gpus[int(word)] for word in chosen.split(",") if int(word) < len(gpus)]


def _too_few(options: dict[str, Any], node: Node, wanted: int, found: int, pid: int) -> str:
    head = "# Using devices\n" if options["dialect"] != "mccl" else ""
    return (
        f"{head}Invalid number of GPUs: {wanted} requested but only {found} were found.\n"
        f"Please check the number of processes and GPUs per process.\n"
        f" .. {node['name']} pid {pid}: Test failure common.cu:1454\n"
    )


def _variants(job: Job) -> list[str]:
    """Return the names of the variants whose figures apply: none, or only the worst one."""
    path, tuning = job["path"], job["library"]["tuning"]
    found = []
    if path["network"] == "Socket":
        found.append("socket")
    elif path["network"] and not path["gdr"]:
        found.append("no-gdr")
    if path["network"] and any(job["environment"].get(k) != v for k, v in tuning.items()):
        found.append("untuned")
    if job["run"]["graph"]:
        found.append("graph")
    return found[:1]


def _start(job: Job) -> list[str]:
    options = job["run"]
    collective_faults.check_memlock(job)
    collective_faults.check_algorithm(job)
    job["json_path"] = collective_json.open_new(options["json"]) if options["json"] else ""
    announced = [f"# Writing JSON output to {job['json_path']}"] if job["json_path"] else []
    return [
        *announced,
        *collective_layout.opening(job),
        *collective_layout.devices(job),
        *_reduced(job),
        *collective_log.version(job),
        *collective_layout.banner(job),
        *collective_log.lines(job),
        *collective_layout.heading(job),
    ]


def _reduced(job: Job) -> list[str]:
    """Cut the sweep at the largest size of which the smallest GPU can hold three buffers.

    Returns the lines that the tests print about it; none if the whole sweep fits.
    """
    mib = min(gpu["memory_mib"] for _, _, gpu in job["places"])
    most = (mib - _RESERVED_MIB) * _MIB // 3
    options = job["run"]
    if options["max"] <= most:
        return []
    options["sizes"] = [size for size in options["sizes"] if size <= most]
    return ["#", f"# Reducing maxBytes to {most} due to memory limitation"]


def _measure(job: Job) -> list[Row]:
    return [row for cycle in range(job["run"]["cycles"]) for row in _cycle(job, cycle)]


def _cycle(job: Job, cycle: int) -> list[Row]:
    sizes = job["run"]["sizes"]
    return [_row(job, size, cycle, index) for index, size in enumerate(sizes)]


def _printed(job: Job, rows: list[Row]) -> list[str]:
    """Return the printed rows; the log of the calls comes between the three parts of each."""
    return [
        collective_log.calls(job, row["size"]).join(collective_layout.row(job, row)) for row in rows
    ]


def _row(job: Job, asked: int, cycle: int, index: int) -> Row:
    options, ranks = job["run"], job["ranks"]
    count = _elements(options, asked, ranks)
    size = count * TYPES[options["type"]] * (ranks if options["op"] in _PER_RANK else 1)
    first = 2 * options["iters"] * (cycle * len(options["sizes"]) + index)
    quiet = collective_times.times(job, size, cycle)
    sides = []
    for side, exact_us in enumerate(quiet):
        key = f"{job['key']} {cycle} {side}"
        calm = figures.noise(job["nodes"][0], key, size)
        before = _before(options, first, side) + 5 * (job["turn"] - 1)
        time_us = exact_us / calm * slowdowns(job, before, options["iters"])
        algbw = size / time_us / 1e3
        busbw = algbw * collective_times.bus_factor(options["op"], ranks) if ranks > 1 else 0.0
        sides.append((time_us, algbw, busbw, collective_faults.wrong(job, count, side)))
    redop = options["redop"] if options["op"] not in ("all_gather", "alltoall") else "none"
    return {"size": size, "count": count, "redop": redop, "root": -1, "sides": sides}


def _before(options: dict[str, Any], first: int, side: int) -> int:
    """Return how many iterations came before.

    With one iteration each, out of place and in place alternate, as in document 001.
    """
    return first + side * int(options["iters"])


def _elements(options: dict[str, Any], asked: int, ranks: int) -> int:
    """Return the column ``count``.

    Where each rank has its own part, it counts the elements of that part, in multiples of 16 bytes.
    """
    width = TYPES[options["type"]]
    if options["op"] not in _PER_RANK:
        return asked // width
    step = max(1, _ALIGNED_BYTES // width)
    return asked // width // ranks // step * step


def _count(job: Job, rows: list[Row]) -> None:
    """Add to the NICs' counters what timed, warm-up and checked iterations moved."""
    options = job["run"]
    extra = 1 + (1 if options["check"] else 0)
    passes = 2 * (options["iters"] * options["aggregated"] + extra)
    moved = passes * sum(row["size"] for row in rows)
    moved += options["warmup"] * (rows[0]["size"] + rows[-1]["size"]) if rows else 0
    count_moved(job, moved)


def count_moved(job: Job, moved: float) -> None:
    """Add to the NICs' counters what messages of so many bytes moved between the nodes."""
    if not job["path"]["network"]:
        return
    payload = int(moved * _network_factor(job))
    for node in job["nodes"]:
        others = [one for one in job["nodes"] if one is not node]
        _count_node(node, job["path"], payload, others)


def _network_factor(job: Job) -> float:
    """Return the bytes that a node's NICs carry in each direction for one byte of message."""
    op, ranks, count = job["run"]["op"], job["ranks"], len(job["nodes"])
    if op == "alltoall":
        local = ranks / count
        return float(local * (ranks - local) / ranks)
    if op == "all_reduce":
        return algorithms.sent(job["algorithm"], count, ranks)
    return collective_times.bus_factor(op, ranks)


def _count_node(node: Node, path: dict[str, Any], payload: int, others: list[Node]) -> None:
    if path["network"] == "Socket":
        netdev = node["collectives"]["bootstrap"]
        for direction in ("tx", "rx"):
            count_ethernet(node, netdev, direction, payload)
        return
    for way, nics in path["ways"][node["name"]].items():
        for nic in nics:
            if nic in node["devices"]:
                partners = [one["devices"].get(nic, {}).get("lost_per_gb", 0.0) for one in others]
                lost = lost_per_gb(node, nic, partners)
                count_traffic(node, nic, way, payload // len(nics), lost)
            else:
                count_ethernet(node, nic, _ETHERNET[way], payload // len(nics), devmem=path["gdr"])
