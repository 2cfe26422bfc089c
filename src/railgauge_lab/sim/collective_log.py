"""The log of the collective library at INFO, above all the transport of its channels."""

from __future__ import annotations

import os

from . import algorithms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]

_CHANNELS_SHOWN = 2


def version(job: Job) -> list[str]:
    """Return NCCL's version line if the log level asks for it; RCCL prints its own in a banner."""
    library = job["library"]
    level = job["environment"].get(f"{library['prefix']}_DEBUG", "").upper()
    if job["run"]["dialect"] != "nccl" or level not in ("VERSION", "WARN", "INFO", "TRACE"):
        return []
    return [f"NCCL version {library['version']}"]


def lines(job: Job) -> list[str]:
    """Return all INFO lines of the initialisation, rank by rank; none below that log level."""
    if not _logs(job, "INIT"):
        return []
    job = {**job, "communicator": f"0x{os.urandom(8).hex()}"}
    return [_line(job, rank, text) for rank in range(job["ranks"]) for text in _of_rank(job, rank)]


def calls(job: Job, size: int) -> str:
    """Return the lines about the calls of one side of a row: which algorithm each took."""
    name = algorithms.printed(job["library"], job["algorithm"])
    if not name or not _logs(job, "TUNING") or not job["path"]["network"]:
        return ""
    text = f"{size} Bytes -> Algo {name} proto 2 time {size / 2e5:f}"
    return f"{_line(job, 0, text)}\n" * int(job["run"]["iters"])


def _logs(job: Job, subsystem: str) -> bool:
    prefix, environment = job["library"]["prefix"], job["environment"]
    wanted = environment.get(f"{prefix}_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV").split(",")
    return environment.get(f"{prefix}_DEBUG", "").upper() in ("INFO", "TRACE") and (
        subsystem in wanted or "ALL" in wanted
    )


def _line(job: Job, rank: int, text: str) -> str:
    host, device, _ = job["places"][rank]
    pid = job["pids"][rank]
    return f"{host}:{pid}:{pid + 64} [{device}] {job['library']['log_name']} INFO {text}"


def _of_rank(job: Job, rank: int) -> list[str]:
    library, count = job["library"], job["ranks"]
    _, device, gpu = job["places"][rank]
    bus = int(gpu["bus"].replace(":", "").replace(".", "")[4:], 16)
    end = (
        f"ncclCommInitRank comm 0x55d0c0de{rank:04x} rank {rank} nranks {count} cudaDev {device}"
        f" busId {bus:x} commId {job['communicator']} - Init COMPLETE"
    )
    return [
        *(_environment(job) if rank == 0 else []),
        f"Bootstrap : Using {library['bootstrap']}:{job['addresses'][rank]}<0>",
        *_network(job, rank),
        *(["NVLS multicast support is available on dev " + str(device)] if _nvls(job) else []),
        *_channels(job, rank),
        "Connected all rings",
        *(["Connected NVLS tree"] if _nvls(job) and count > 1 else []),
        _counts(job),
        end,
    ]


def _counts(job: Job) -> str:
    wanted = job["environment"].get(f"{job['library']['prefix']}_MIN_NCHANNELS", "16")
    nvls = "16 nvls channels" if _nvls(job) else "0 nvls channels"
    return (
        f"{wanted} coll channels, 0 collnet channels, {nvls}, {wanted} p2p channels,"
        " 2 p2p channels per peer"
    )


def _nvls(job: Job) -> bool:
    library = job["library"]
    enabled = job["environment"].get(f"{library['prefix']}_NVLS_ENABLE", "2")
    return bool(library["nvls"]) and enabled != "0"


def _environment(job: Job) -> list[str]:
    prefix = job["library"]["prefix"]
    return [
        f"{key} set by environment to {value}."
        for key, value in sorted(job["environment"].items())
        if key.startswith(f"{prefix}_") and not key.startswith(f"{prefix}_DEBUG")
    ]


def _network(job: Job, rank: int) -> list[str]:
    host, _, _ = job["places"][rank]
    network, nics = job["path"]["network"], job["path"]["nics"].get(host, [])
    if not network:
        return []
    out_of_band = f"OOB {job['library']['bootstrap']}:{job['addresses'][rank]}<0>"
    if network == "Socket":
        socket = f"[0]{job['library']['bootstrap']}:{job['addresses'][rank]}<0>"
        return ["NET/IB : No device found.", f"NET/Socket : Using {socket}", "Using network Socket"]
    if network == "IB":
        used = " ".join(f"[{i}]{nic}:1/IB" for i, nic in enumerate(nics))
        return [f"NET/IB : Using {used} [RO]; {out_of_band}", "Using network IB"]
    used = " ".join(f"[{i}]{nic}" for i, nic in enumerate(nics))
    plugin = network.partition("_")[0]
    return [
        f"NET/{plugin} : Using {used}",
        f"NET/{plugin} ver. 3.1.9. initialized",
        f"Using network {network}",
    ]


def _channels(job: Job, rank: int) -> list[str]:
    """Return the rank's ring lines: to the next rank, and from a previous rank on another node."""
    count, places = job["ranks"], job["places"]
    if count == 1:
        return []
    after, before = (rank + 1) % count, (rank - 1) % count
    found = []
    for channel in range(_CHANNELS_SHOWN):
        name = f"Channel {channel:02d}/0"
        if places[before][0] != places[rank][0]:
            via = _net(job, rank, channel)
            found.append(f"{name} : {_rank(job, before)} -> {_rank(job, rank)} [receive] via {via}")
        if places[after][0] != places[rank][0]:
            via = _net(job, rank, channel)
            found.append(f"{name} : {_rank(job, rank)} -> {_rank(job, after)} [send] via {via}")
        else:
            via = _local(job, rank, after)
            found.append(f"{name} : {_rank(job, rank)} -> {_rank(job, after)} via {via}")
    return found


def _rank(job: Job, rank: int) -> str:
    return f"{rank}[{job['places'][rank][1]}]"


def _net(job: Job, rank: int, channel: int) -> str:
    path = job["path"]
    nics = path["nics"].get(job["places"][rank][0], [])
    direct = "/GDRDMA" if path["gdr"] else ""
    index = channel % len(nics) if nics and path["network"] != "Socket" else 0
    return f"NET/{path['network']}/{index}{direct}"


def _local(job: Job, rank: int, after: int) -> str:
    one, other = job["places"][rank][2], job["places"][after][2]
    linked = one.get("island", 0) == other.get("island", 0)
    return str(job["library"]["p2p"]) if linked else "SHM/direct/direct"
