"""Reader of ``rocm-smi … --json``, whose keys change with the release."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.stacks import readings as read

Raw = Mapping[str, str]
_CARD = re.compile(r"card(\d{1,4})")
_LINK = re.compile(r"\(topology\) link type between drm devices (\d{1,4}) and (\d{1,4})")
_PID = re.compile(r"pid(\d{1,10})")

# What the releases call one thing; keys are compared in lower case and without a last colon.
_KEYS = {
    "model": ("device name", "card series"),
    "bus_id": ("pci bus",),
    "memory": ("vram total memory (b)",),
    "power_limit": ("max graphics package power (w)",),
    "clock": ("sclk clock speed",),
    "numa_node": ("(topology) numa node",),
    "pcie": ("pcie clock level",),
    "compute_partition": ("compute partition",),
    "memory_partition": ("memory partition",),
    "unique_id": ("unique id",),
    "device_id": ("device id", "gpu id"),
    "temperature_edge_c": ("temperature (sensor edge) (c)",),
    "temperature_junction_c": ("temperature (sensor junction) (c)",),
    "temperature_memory_c": ("temperature (sensor memory) (c)",),
}


@dataclass(frozen=True, slots=True)
class RocmLog:
    """What one ``rocm-smi … --json`` said: cards, and what it says of the whole system.

    ``links`` are link types by pair of cards; ``problem`` is why there is nothing.
    """

    cards: Mapping[int, Raw] = field(default_factory=dict)
    driver: str | None = None
    processes: tuple[str, ...] = ()
    links: Mapping[tuple[int, int], str] = field(default_factory=dict)
    problem: str = ""


def parse_json(text: str) -> RocmLog:
    """The JSON may follow a blank line or warnings; torn JSON is a problem, never fewer cards."""
    start = re.search(r"^\{", text, re.MULTILINE)
    try:
        data = json.JSONDecoder().raw_decode(text, start.start())[0] if start else None
    except (ValueError, RecursionError) as error:
        return RocmLog(problem=f"the JSON is torn: {error}"[:200])
    if not isinstance(data, dict):
        return RocmLog(problem="prints no JSON")
    objects = {str(name): _plain(item) for name, item in data.items() if isinstance(item, dict)}
    system = objects.get("system", {})
    cards = {int(m[1]): _named(objects[m[0]]) for m in map(_CARD.fullmatch, objects) if m}
    links = {(int(m[1]), int(m[2])): system[m[0]] for m in map(_LINK.fullmatch, system) if m}
    return RocmLog(
        cards,
        read.said(system.get("driver version")),
        tuple(
            _process(m, system[m[0]])
            for m in map(_PID.fullmatch, system)
            if m and _works(system[m[0]])
        ),
        links,
        "" if cards else "lists no card",
    )


def _plain(item: Mapping[str, object]) -> dict[str, str]:
    return {str(key).lower().rstrip(":"): str(value) for key, value in item.items()}


def _named(card: Mapping[str, str]) -> Raw:
    found = {
        name: next((card[key] for key in keys if read.said(card.get(key))), None)
        for name, keys in _KEYS.items()
    }
    return {name: text for name, text in found.items() if text is not None}


def _process(pid: re.Match[str], text: str) -> str:
    words = [word.strip() for word in text.split(",")]
    memory = f", {read.mib(f'{words[2]} B')} MiB" if len(words) > 2 and words[2].isdigit() else ""  # noqa: PLR2004
    return f"{words[0]} (pid {pid[1]}{memory})"


def _works(text: str) -> bool:
    """Name, GPUs, memory, SDMA, occupancy: one with none only looked."""
    return any(word.strip() != "0" for word in text.split(",")[1:]) or "," not in text
