"""Comparison of perftest's headers and tables, of both sides, with the command."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from railgauge.config.thresholds.physics import path_ceiling_gbps
from railgauge.core.errors import UnitUnknown
from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.core.terms import Role
from railgauge.core.units import convert, format_size, format_value
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    equal,
    long_enough,
    same_models,
)
from railgauge.tools.perftest.addresses import checks_of_addresses
from railgauge.tools.perftest.parse import payload_bytes

_DEFAULT_ITERATIONS = {"ib_write_bw": 5000}
_OTHER_ITERATIONS = 1000
# The header's names of the link layers.
_LINKS = {"InfiniBand": "IB", "Ethernet": "Ethernet"}
_BUS = re.compile(r"(?:^|:)([0-9a-fA-F]{1,2}):[0-9a-fA-F]{1,2}\.[0-9a-fA-F]$")
_MEMORY = {"nvidia": "cuda", "amd": "rocm", "metax": "maca"}
# A server repeats the client's values. For sends and latencies it measures the same packets with
# its own clock: nearly the same values for large messages, the same order for small ones.
_LARGE_BYTES = 1 << 16
_APART, _SMALL_APART = 1.1, 2.0
_COMPARED = {"bw_average": "Gb/s", "lat_typical": "us"}


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare operation, device, memory, link layer, MTU, QPs, connection, iterations of each side.

    Then compare the server's table with the client's, the addresses of both sides with the survey
    and with each other, and the time of the command with what its payload takes. Items that a
    server's header does not show give no check; items that the client's header does not show are
    checks with ``shown`` ``None``.
    """
    client, *servers = sides
    found = [*_of_side(asked, client)]
    for server in servers:
        shown = (check for check in _of_side(asked, server) if check.shown is not None)
        found += [
            replace(check, item=f"{check.item} of the server", node=server.node) for check in shown
        ]
        found += _of_tables(client.parsed, server)
    found += checks_of_addresses(asked, client, servers)
    found += _of_time(asked, client)
    return tuple(found)


def _of_time(asked: ToolRequest, client: SideOutput) -> Iterator[OutputCheck]:
    """Check that the payload did not move faster than the path carries, one way."""
    pairing = asked.case.pairing
    if pairing is None or client.lasted_s is None:
        return
    gbps = path_ceiling_gbps(asked.platform, asked.measurement, pairing)
    moved = payload_bytes(client.parsed)
    least_s = moved / convert(gbps, "Gb/s", "B/s")
    why = f"for {format_value(convert(moved, 'B', 'GB'), 'GB')} at {format_value(gbps, 'Gb/s')}"
    yield from long_enough(client, least_s, why)


def _of_side(asked: ToolRequest, side: SideOutput) -> Iterator[OutputCheck]:
    summary = side.parsed.summary
    end, command = asked.case.path_at(side.node), asked.measurement.command
    yield equal(
        "operation", _operation(command, asked.option("bidirectional")), _shown_operation(summary)
    )
    if end is not None:
        yield equal("device", end.nic, _declared(asked, side.node, summary.get("device")))
        layers = (nic.link_layer for nic in asked.platform.nics if nic.name == end.nic)
        for layer in layers:
            yield equal("link layer", _LINKS.get(layer, layer), summary.get("link_type"))
    yield equal("queue pairs", asked.option("qps", 1), summary.get("qps"))
    yield equal("connection", "RC", summary.get("connection_type"))
    if mtu := asked.option("mtu") or _mtu(asked):
        yield equal("MTU", mtu, summary.get("mtu_bytes"))
    for option, (item, shown) in _SHOWN.items():
        if (wanted := asked.option(option)) is not None:
            yield equal(item, wanted, summary.get(shown))
    yield from _relaxed_ordering(asked, side.parsed)
    yield from _memory(asked, side)
    yield from _of_table(asked, side.parsed)


# Options, the items that they are, and the fields of the header; perftest prints no traffic class
# and no service level.
_SHOWN = {
    "gid_index": ("GID index", "gid_index"),
    "traffic_class": ("traffic class", "traffic_class"),
    "service_level": ("service level", "service_level"),
    "inline_bytes": ("bytes sent inline", "inline_bytes"),
    "cq_moderation": ("CQ moderation", "cq_moderation"),
}


def _relaxed_ordering(asked: ToolRequest, parsed: Parsed) -> Iterator[OutputCheck]:
    """Check relaxed ordering; it must be off if perftest warns that the CPU does not comply."""
    shown = parsed.summary.get("relaxed_ordering")
    if any(problem.kind == ProblemKind.RELAXED_ORDERING for problem in parsed.problems):
        wanted = "off, because this CPU is not compliant"
        yield OutputCheck("relaxed ordering", wanted, "on", False, remedy=_DISABLE)
    elif asked.option("disable_pcie_relaxed") or shown is not None:
        yield equal("relaxed ordering", not asked.option("disable_pcie_relaxed"), shown)


_DISABLE = "add 'disable_pcie_relaxed' to the measurement's options"


def _operation(command: object, both_ways: object) -> str:
    return f"{command}{' both ways' if both_ways else ''}"


def _shown_operation(summary: Mapping[str, object]) -> str | None:
    command = summary.get("command")
    return _operation(command, summary.get("bidirectional")) if command else None


def _mtu(asked: ToolRequest) -> int | None:
    """Return the smaller MTU of both ports, which perftest uses; ``None`` if unknown."""
    if asked.case.pairing is None:
        return None
    seen = [
        nic.active_mtu_bytes
        for node, end in zip(asked.case.nodes, asked.case.pairing.ends, strict=False)
        if (facts := asked.facts(node))
        for nic in facts.nics
        if nic.name == end.nic and nic.active_mtu_bytes
    ]
    if len(seen) == len(asked.case.nodes):
        return min(seen)
    expected = asked.platform.expected.get("active_mtu")
    return expected.value if expected and isinstance(expected.value, int) else None


def _memory(asked: ToolRequest, side: SideOutput) -> Iterator[OutputCheck]:
    """Compare the payload's memory. A build that uses a GPU names it before its header."""
    summary, gpus = side.parsed.summary, asked.platform.gpus
    end = asked.case.path_at(side.node)
    memory, gpu = summary.get("memory"), end.gpu if end else None
    if gpu is None or gpus is None:
        yield equal("memory", "host", memory)
        return
    wanted = _MEMORY.get(gpus.vendor, gpus.vendor)
    nothing = "nothing about a GPU" if side.role == Role.CLIENT else None
    yield equal("memory", wanted, memory or nothing)
    # Operators may choose the way of their own runs.
    if memory not in (None, "host") and (asked.is_planned or asked.option("dmabuf")):
        yield equal("DMA-BUF", bool(asked.option("dmabuf", False)), summary.get("dmabuf"))
    yield equal("GPU", gpu, _declared_gpu(asked, side.node, summary.get("gpu")))
    if (bus := _bus(asked, side.node, gpu)) is not None:
        shown = summary.get("gpu_bus")
        yield equal("PCI bus of the GPU", f"{bus:#04x}", None if shown is None else f"{shown:#04x}")
    model = summary.get("gpu_model")
    models = same_models("GPU model", asked.models([side.node]), [str(model)] if model else [])
    if models:
        yield models


def _declared(asked: ToolRequest, node: str, device: object) -> str | None:
    return None if device is None else asked.platform.devices.declared(node, str(device))


def _declared_gpu(asked: ToolRequest, node: str, gpu: object) -> str | None:
    named = None if gpu is None else _declared(asked, node, f"gpu{gpu}")
    return named and named.replace("gpu", "")


def _bus(asked: ToolRequest, node: str, gpu: int) -> int | None:
    """Return the PCI bus of a GPU, from the survey or as declared; ``None`` if unknown."""
    facts, gpus = asked.facts(node), asked.platform.gpus
    seen = [one.bus_id for one in facts.gpus if one.index == gpu] if facts else []
    declared = gpus.bus_ids[gpu : gpu + 1] if gpus and not facts else ()
    address = next(iter([*seen, *declared]), None)
    match = _BUS.search(address or "")
    return int(match[1], 16) if match else None


def _of_table(asked: ToolRequest, parsed: Parsed) -> Iterator[OutputCheck]:
    summary = parsed.summary
    tables = summary.get("tables")
    if isinstance(tables, int) and tables:
        yield equal("tables", 1, tables)
    rows = Counter((sample.metric, sample.size_bytes) for sample in parsed.samples)
    (_, size), most = max(rows.items(), key=lambda row: row[1], default=((None, None), 0))
    if most > 1:
        yield OutputCheck("rows", "one for each size", f"{most} of {format_size(size or 0)}", False)
    iterations = summary.get("iterations")
    if isinstance(iterations, dict) and iterations:
        wanted, qps = _iterations(asked), asked.option("qps", 1)
        counts = sorted(set(iterations.values()))
        wanted *= qps if isinstance(qps, int) else 1
        yield equal("iterations", wanted, ", ".join(map(str, counts)))


def _iterations(asked: ToolRequest) -> int:
    wanted = asked.option("iterations")
    if isinstance(wanted, int):
        return wanted
    return _DEFAULT_ITERATIONS.get(asked.measurement.command, _OTHER_ITERATIONS)


def _of_tables(client: Parsed, server: SideOutput) -> Iterator[OutputCheck]:
    """Deny the first row in which the two tables cannot be of one run."""
    theirs = _figures(server.parsed)
    for key, mine in _figures(client).items():
        metric, size = key
        other = theirs.get(key)
        apart = _APART if size >= _LARGE_BYTES and metric == "bw_average" else _SMALL_APART
        if other is None or max(mine, other) <= apart * min(mine, other):
            continue
        unit = _COMPARED[metric]
        asked = f"the client's value at {format_size(size)}, {mine:.2f} {unit}"
        yield OutputCheck(
            f"{metric} of the server", asked, f"{other:.2f} {unit}", False, server.node
        )
        return


def _figures(parsed: Parsed) -> dict[tuple[str, int], float]:
    """Return average or typical values by metric and size, in a common unit."""
    found = {}
    for sample in parsed.samples:
        unit = _COMPARED.get(sample.metric)
        if unit and sample.size_bytes is not None:
            try:
                value = convert(sample.value, sample.unit_means or sample.unit, unit)
            except UnitUnknown:
                continue
            found[sample.metric, sample.size_bytes] = value
    return found
