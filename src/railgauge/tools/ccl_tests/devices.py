"""The GPUs that the ranks of a collective name: one for each, of the node, of the right model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from railgauge.tools.ccl_tests.facts import Device
from railgauge.tools.claims import Asked, Claim, same_models

_SHORT = re.compile(r"0x([0-9a-f]{1,2})")
_LONG = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.[0-9a-f])?")
_DISTINCT, _OF_NODE = "GPU of each rank", "GPUs of the nodes"


def claims_of_devices(asked: Asked, listed: object) -> Iterator[Claim]:
    """``listed`` are the ranks' devices, as far as the output lists them."""
    entries = listed if isinstance(listed, tuple) else ()
    devices = [one for one in entries if isinstance(one, Device)]
    yield _distinct(asked, devices)
    yield _known(asked, devices)
    models = same_models(
        "GPU model", asked.models(asked.case.nodes), (device.model for device in devices)
    )
    if models:
        yield models


def _distinct(asked: Asked, devices: Sequence[Device]) -> Claim:
    """Two ranks on one GPU. A number alone means nothing where each process sees only its own."""
    wanted = "one of its own"
    counts = Counter(
        (device.host, -1 if _tells_apart(asked, device.bus) else device.number, device.bus)
        for device in devices
    )
    (host, _, bus), most = max(counts.items(), key=lambda one: one[1], default=(("", 0, ""), 0))
    if not devices or (most > 1 and not _tells_apart(asked, bus)):
        return Claim(_DISTINCT, wanted, None)
    shared = f"{most} ranks on the GPU at {bus} of {host}"
    said = shared if most > 1 else f"{len(counts)} GPUs for {len(devices)} ranks"
    return Claim(_DISTINCT, wanted, said, most == 1)


def _tells_apart(asked: Asked, bus: str) -> bool:
    """Whether a printed address is of one GPU: a short one has no PCI domain."""
    if not _SHORT.fullmatch(bus.lower()):
        return bool(bus)
    known = [_shortened(address) for address in _addresses(asked)]
    return bool(known) and max(Counter(known).values()) == 1


def _known(asked: Asked, devices: Sequence[Device]) -> Claim:
    """Whether the addresses are those of GPUs that the nodes have."""
    known = _addresses(asked)
    said = [device.bus for device in devices if device.bus]
    if not known or not said:
        return Claim(_OF_NODE, "GPUs at the addresses that the nodes have", None)
    whole, short = {_normal(one) for one in known}, {_shortened(one) for one in known}
    strange = [bus for bus in dict.fromkeys(said) if not _is_of(bus.lower(), whole, short)]
    asked_for = f"GPUs at {', '.join(sorted(set(known)))}"
    shown = ", ".join(strange) or f"{len(set(said))} of them"
    return Claim(_OF_NODE, asked_for, shown, not strange)


def _addresses(asked: Asked) -> list[str]:
    """Of one node as the survey saw it, which is alike on all, or as declared; else none."""
    found = {
        tuple(gpu.bus_id for gpu in facts.gpus if gpu.bus_id)
        for node in asked.case.nodes
        if (facts := asked.facts(node))
    }
    if len(found) == 1 and (seen := next(iter(found))):
        return list(seen)
    return list(asked.platform.gpus.bus_ids) if asked.platform.gpus and not found else []


def _is_of(bus: str, whole: Iterable[tuple[int, int, int] | None], short: Iterable[int]) -> bool:
    if brief := _SHORT.fullmatch(bus):
        return int(brief[1], 16) in set(short)
    place = _normal(bus)
    return place is None or place in set(whole)


def _normal(address: str) -> tuple[int, int, int] | None:
    match = _LONG.fullmatch(address.lower())
    return (int(match[1] or "0", 16), int(match[2], 16), int(match[3], 16)) if match else None


def _shortened(address: str) -> int:
    place = _normal(address)
    return place[1] if place else -1
