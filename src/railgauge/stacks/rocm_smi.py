"""Parser for ``rocm-smi … --json``, whose keys differ between releases."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.stacks import readings as read
from railgauge.stacks.readings import Raw

_CARD = re.compile(r"card(\d{1,4})")
_LINK = re.compile(r"\(topology\) link type between drm devices (\d{1,4}) and (\d{1,4})")
_PID = re.compile(r"pid(\d{1,10})")

# The key of each value in the various releases, in lower case and without a trailing colon.
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
    """The output of one ``rocm-smi … --json``: its cards, and the values of the whole system.

    ``links`` are link types by pair of cards; ``problem`` is why there are no cards.
    """

    cards: Mapping[int, Raw] = field(default_factory=dict)
    driver: str | None = None
    processes: tuple[str, ...] = ()
    links: Mapping[tuple[int, int], str] = field(default_factory=dict)
    problem: str = ""


def parse_json(text: str) -> RocmLog:
    """Parse the JSON, which may follow a blank line or warnings.

    JSON that is cut off is a problem, and never yields some of the cards.
    """
    start = re.search(r"^\{", text, re.MULTILINE)
    try:
        data = json.JSONDecoder().raw_decode(text, start.start())[0] if start else None
    except (ValueError, RecursionError) as error:
        return RocmLog(problem=f"the JSON is malformed: {error}"[:200])
    if not isinstance(data, dict):
        return RocmLog(problem="prints no JSON")
    objects = {str(name): _plain(item) for name, item in data.items() if isinstance(item, dict)}
    system = objects.get("system", {})
    cards = {int(m[1]): _named(objects[m[0]]) for m in map(_CARD.fullmatch, objects) if m}
    links = {(int(m[1]), int(m[2])): system[m[0]] for m in map(_LINK.fullmatch, system) if m}
    return RocmLog(
        cards,
        read.value(system.get("driver version")),
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
        name: next((card[key] for key in keys if read.value(card.get(key))), None)
        for name, keys in _KEYS.items()
    }
    return {name: text for name, text in found.items() if text is not None}


def _process(pid: re.Match[str], text: str) -> str:
    words = [word.strip() for word in text.split(",")]
    memory = f", {read.mib(f'{words[2]} B')} MiB" if len(words) > 2 and words[2].isdigit() else ""  # noqa: PLR2004
    return f"{words[0]} (pid {pid[1]}{memory})"


def _works(text: str) -> bool:
    """Whether a process uses a GPU: one of its GPUs, memory, SDMA or occupancy is not 0."""
    return any(word.strip() != "0" for word in text.split(",")[1:]) or "," not in text
