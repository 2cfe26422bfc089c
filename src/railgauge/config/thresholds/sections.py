"""The sections of a platform file that depend on no other section. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from railgauge.config.thresholds.basis import basis_of
from railgauge.config.thresholds.model import (
    FabricLimits,
    KernelLog,
    Peers,
    Preparation,
    Results,
    Traffic,
    Transport,
)


def preparation(entry: Mapping[str, Any]) -> Preparation:
    words = {key: tuple(entry.get(key, ())) for key in ("read", "apply", "undo", "save")}
    return Preparation(name=entry["name"], want=entry["want"], basis=basis_of(entry), **words)


def variables(entry: Mapping[str, Any]) -> dict[str, str]:
    return dict(entry.get("environment", {}).get("variables", {}))


def traffic(entry: Mapping[str, Any] | None) -> Traffic | None:
    if entry is None:
        return None
    least, most = entry["share"]
    return Traffic((least, most), entry.get("spread"), basis_of(entry), entry.get("devmem_packet"))


def transport(entry: Mapping[str, Any] | None) -> Transport | None:
    if entry is None:
        return None
    wanted, refused = tuple(entry["wanted"]), tuple(entry.get("refused", ()))
    return Transport(wanted, refused, basis_of(entry))


def fabric(entry: Mapping[str, Any] | None) -> FabricLimits | None:
    if entry is None:
        return None
    most = {name: float(value) for name, value in entry.get("most", {}).items()}
    return FabricLimits(
        basis=basis_of(entry),
        most=most,
        bit_error_rate=entry.get("bit_error_rate"),
        since=entry.get("since", ""),
        per_switch=entry.get("per", "switch") == "switch",
    )


def peers(entry: Mapping[str, Any] | None) -> Peers | None:
    if not entry:
        return None
    return Peers(float(entry["behind_peers_max"]) / 100, basis_of(entry))


def kernel_log(entry: Mapping[str, Any] | None) -> KernelLog | None:
    if not entry:
        return None
    before = entry.get("since_boot")
    return KernelLog(basis_of(entry), basis_of(before) if before else None)


def results(entry: Mapping[str, Any] | None) -> Results | None:
    return Results(tuple(entry["tests"]), basis_of(entry)) if entry else None
