"""Platform files: parse JSON into a ``Platform``, or report errors with file and JSON path."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from railgauge.config.schema import complaints_of_json
from railgauge.config.thresholds import sections, source
from railgauge.config.thresholds.basis import basis_of
from railgauge.config.thresholds.expand import Origins, Written, expanded, is_short
from railgauge.config.thresholds.growth import read_growth
from railgauge.config.thresholds.loose import declared
from railgauge.config.thresholds.masked import masked
from railgauge.config.thresholds.model import (
    LEVELS,
    Assertion,
    Expectation,
    Extent,
    Gpus,
    GrowthLimit,
    Measurement,
    Nic,
    PairLevel,
    Platform,
)
from railgauge.config.thresholds.telemetry import Telemetry, read_telemetry
from railgauge.core.errors import BadInput, Gathered, ThresholdError
from railgauge.core.limits import Bound, Curve, Dispersion, Limit, Sweep
from railgauge.core.terms import Rung, Scope
from railgauge.core.units import parse_size


def load(name: str, folder: Path) -> Platform:
    """Return the platform ``name`` from ``folder`` (``thresholds/``).

    Raises ``ThresholdError``, or ``BadInputs`` with all errors at once.
    """
    path = folder / f"{name}.json"
    platform = _loaded(path, source.text(path, folder), folder, folder / source.SCHEMA)
    if platform.name != name:
        _refuse(path, "$/platform", f"is {platform.name!r}, but the file is named {name!r}")
    return platform


def load_file(path: Path, text: str, folder: Path | None = None) -> Platform:
    """Return the platform in ``text``, the content of ``path``; the file may have any name.

    Files that it extends are read from ``folder``. Without a folder it must extend nothing, like
    the platform file in the folder of a run.
    """
    return _loaded(path, text, folder, _SCHEMA)


# A copy of ``thresholds/schema.json`` in the package, for an installation without the checkout.
_SCHEMA = Path(__file__).with_name(source.SCHEMA)


def _loaded(path: Path, text: str, folder: Path | None, schema_file: Path) -> Platform:
    files = source.files(path, source.parsed(path, text), folder)
    for file in files:
        _check(file, schema_file, "" if file != files[-1] or is_short(file.document) else _COMPLETE)
    long = expanded(files)
    if long.document != files[-1].document:
        _check(Written(str(path), long.document), schema_file, _COMPLETE, long.origins)
        text = json.dumps(long.document, indent=2, ensure_ascii=False) + "\n"
    document = long.document if folder is None else masked(path, long.document)
    if document != long.document:
        _check(Written(str(path), document), schema_file, _COMPLETE)
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return replace(_Reader(path).platform(document), text=text)


# The definition of the schema that only the long form must satisfy, not each file by itself.
_COMPLETE = "complete"


def _check(
    file: Written, schema_file: Path, definition: str, origins: Origins = MappingProxyType({})
) -> None:
    gathered = Gathered()
    for keys, what in complaints_of_json(schema_file, file.document, definition):
        with gathered.trying():
            raise ThresholdError(what, where=_where(file, [*map(str, keys)], origins))
    gathered.raise_any()


def _where(file: Written, keys: list[str], origins: Origins) -> str:
    """Return the file and key as written, such as ``mlx5_[0-7]`` for an error in ``mlx5_3``."""
    entry, rest = tuple(keys[:2]), keys[2:]
    if origins and entry == ("hardware", "nics") and rest:
        entry, rest = ("nics", file.document["hardware"]["nics"][int(rest[0])]["name"]), rest[1:]
    path, key = origins.get((entry[0], entry[-1]) if entry else ("", ""), (file.path, ""))
    return "/".join([f"{path}: {key}", *rest] if key else [f"{file.path}: $", *keys])


def _refuse(path: Path, json_path: str, what: str) -> NoReturn:
    raise ThresholdError(what, where=f"{path}: {json_path}")


def _is_matrix(rows: Sequence[str], count: int) -> bool:
    """Whether there are ``count`` rows of as many words, and ``X`` stands on the diagonal alone."""
    words = [row.split() for row in rows]
    own = [[index for index, word in enumerate(row) if word == "X"] for row in words]
    return own == [[gpu] for gpu in range(count)] and all(len(row) == count for row in words)


class _Reader:
    """Converts a document that satisfies the schema to values; errors name the file ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._documents: Collection[str] = ()

    def platform(self, document: Mapping[str, Any]) -> Platform:
        hardware, self._documents = document["hardware"], document.get("documents", ())
        nics = tuple(map(self._nic, hardware["nics"]))
        affinity: dict[int, Mapping[str, str]] = {}
        measurements: dict[str, Measurement] = {}
        gathered = Gathered()
        with gathered.trying():
            gpus = self._gpus(hardware.get("gpus"))
            affinity = self._affinity(hardware.get("affinity", {}), gpus, nics)
        for name, entry in document["measurements"].items():
            with gathered.trying():
                measurements[name] = self._measurement(name, entry)
        telemetry: Telemetry | None = None
        growth: Mapping[str, GrowthLimit] | None = None
        with gathered.trying():
            vendor = hardware.get("gpus", {}).get("vendor", "")
            telemetry = read_telemetry(document.get("telemetry"), vendor, str(self.path))
            growth = read_growth(document.get("growth"), vendor, nics, str(self.path))
        gathered.raise_any()
        return Platform(
            name=document["platform"],
            title=document["title"],
            path=str(self.path),
            nics=nics,
            gpus=gpus,
            affinity=affinity,
            expected={name: self._expectation(name, e) for name, e in document["expected"].items()},
            pair_levels={
                level: PairLevel(choice["scheme"], choice.get("rounds"))
                for level, choice in document["levels"].items()
            },
            measurements=measurements,
            not_applicable=document.get("not_applicable", {}),
            environment=sections.variables(document),
            preparations=tuple(map(sections.preparation, document.get("prepare", ()))),
            peers=sections.peers(document.get("peers")),
            kernel_log=sections.kernel_log(document.get("kernel_log")),
            telemetry=telemetry,
            growth=growth,
            loose=declared(document),
        )

    def _nic(self, nic: Mapping[str, Any]) -> Nic:
        return Nic(
            name=nic["name"],
            model=nic["model"],
            rate_gbps=nic["rate_gbps"],
            data_rate_gbps=nic.get("data_rate_gbps", nic["rate_gbps"]),
            link_layer=nic["link_layer"],
            pcie_generation=nic.get("pcie", {}).get("generation"),
            pcie_width=nic.get("pcie", {}).get("width"),
            fabric=nic.get("fabric", True),
            pci_address=nic.get("pci_address"),
            numa_node=nic.get("numa_node"),
            rdma=nic.get("rdma", True),
        )

    def _gpus(self, gpus: Mapping[str, Any] | None) -> Gpus | None:
        if gpus is None:
            return None
        bus_ids = tuple(gpus.get("bus_ids", ()))
        if bus_ids and len(bus_ids) != gpus["count"]:
            what = f"{len(bus_ids)} bus ids for {gpus['count']} GPUs"
            _refuse(self.path, "$/hardware/gpus/bus_ids", what)
        topology = tuple(" ".join(row.split()) for row in gpus.get("topology", ()))
        if topology and not _is_matrix(topology, gpus["count"]):
            what = f"is no row for each of {gpus['count']} GPUs, with X for the GPU itself"
            _refuse(self.path, "$/hardware/gpus/topology", what)
        return Gpus(
            gpus["vendor"],
            gpus["model"],
            gpus["count"],
            gpus["memory_mib"],
            bus_ids,
            gpus.get("link", {}).get("gb_per_s"),
            gpus.get("link", {}).get("to") == "switch",
            topology,
        )

    def _affinity(
        self, declared: Mapping[str, Mapping[str, str]], gpus: Gpus | None, nics: tuple[Nic, ...]
    ) -> dict[int, Mapping[str, str]]:
        wanted = {nic.name for nic in nics if nic.fabric}
        for gpu in range(gpus.count if gpus else 0):
            if absent := wanted - set(declared.get(str(gpu), {})):
                what = f"GPU {gpu} has no link to {', '.join(sorted(absent))}"
                _refuse(self.path, "$/hardware/affinity", what)
        self._refuse_undeclared(declared, gpus, {nic.name for nic in nics})
        return {int(gpu): links for gpu, links in declared.items()}

    def _refuse_undeclared(
        self, declared: Mapping[str, Mapping[str, str]], gpus: Gpus | None, nics: set[str]
    ) -> None:
        known = {str(gpu) for gpu in range(gpus.count if gpus else 0)}
        others = [f"GPU {gpu}" for gpu in sorted(set(declared) - known)]
        others += sorted({nic for links in declared.values() for nic in links} - nics)
        if others:
            _refuse(self.path, "$/hardware/affinity", f"{', '.join(others)} is not declared")

    def _expectation(self, name: str, entry: Mapping[str, Any]) -> Expectation:
        rule = next(key for key in entry if key not in _BESIDE_THE_RULE)
        pointer, own = f"/expected/{name}", (entry.get("fact", ""), entry.get("per", ""))
        known = tuple(entry.get("measured_with", ()))
        return Expectation(name, rule, entry[rule], basis_of(entry), pointer, *own, known)

    def _measurement(self, name: str, entry: Mapping[str, Any]) -> Measurement:
        pointer = f"/measurements/{name}"
        self._check_rails(pointer, entry)
        loopback = entry.get("loopback")
        if loopback and entry.get("scope", Scope.PATH) != Scope.PATH:
            _refuse(self.path, f"${pointer}/loopback", "only a measurement of paths has NICs")
        return Measurement(
            name=name,
            rung=Rung(entry["rung"]),
            tool=entry["tool"],
            command=entry["command"],
            memory=entry.get("memory", "host"),
            asserts=tuple(self._assertion(pointer, a) for a in entry.get("asserts", ())),
            extents={
                x: self._extent(pointer, entry["levels"][x]) for x in LEVELS if x in entry["levels"]
            },
            limits=tuple(
                self._limit(f"{pointer}/limits/{index}", limit)
                for index, limit in enumerate(entry.get("limits", ()))
            ),
            time_limit_s=entry["time_limit_s"],
            typical_s=entry["typical_s"],
            options=entry.get("options", {}),
            environment=sections.variables(entry),
            scope=Scope(entry.get("scope", Scope.PATH)),
            traffic=sections.traffic(entry.get("traffic")),
            transport=sections.transport(entry.get("transport")),
            fabric=sections.fabric(entry.get("fabric")),
            results=sections.results(entry.get("results")),
            together=entry.get("rails") == "together",
            loopback=basis_of(loopback) if loopback else None,
            ladder=self._has_groups(pointer, entry, "ladder"),
            victims=self._has_groups(pointer, entry, "victims"),
        )

    def _has_groups(self, pointer: str, entry: Mapping[str, Any], kind: str) -> bool:
        has = entry.get("groups") == kind
        if has and entry.get("scope") != Scope.GROUP:
            _refuse(self.path, f"${pointer}/groups", f"only a measurement of groups has a {kind}")
        return has

    def _check_rails(self, pointer: str, entry: Mapping[str, Any]) -> None:
        """Refuse settings that are meaningless for rails that are measured at the same time."""
        if entry.get("rails") != "together":
            return
        if entry.get("scope", Scope.PATH) != Scope.PATH:
            _refuse(self.path, f"${pointer}/rails", "only a measurement of paths has rails")
        if entry.get("traffic"):
            what = "the NICs carry the traffic of all rails at once: remove traffic"
            _refuse(self.path, f"${pointer}/traffic", what)
        if any(level.get("cross_rail") for level in entry["levels"].values()):
            _refuse(self.path, f"${pointer}/levels", "cross_rail would use each NIC several times")

    def _assertion(self, pointer: str, entry: str | Mapping[str, Any]) -> Assertion:
        if isinstance(entry, str):
            return Assertion(entry)
        return Assertion(
            metric=entry["metric"],
            per=entry.get("per", "size"),
            sizes=self._span(pointer, entry.get("sizes")),
            of=entry.get("of", ""),
            over=entry.get("over", ""),
            by=entry.get("by", ""),
        )

    def _span(self, pointer: str, span: list[str] | None) -> tuple[int, int] | None:
        return (self._size(pointer, span[0]), self._size(pointer, span[1])) if span else None

    def _extent(self, pointer: str, entry: Mapping[str, Any]) -> Extent:
        sizes = tuple(self._size(pointer, text) for text in entry.get("sizes", ()))
        if list(sizes) != sorted(set(sizes)):
            _refuse(self.path, f"${pointer}/levels", "sizes must rise, each given once")
        return Extent(
            sizes,
            entry.get("pairings", "all"),
            entry.get("repeats", 1),
            entry.get("cross_rail", False),
        )

    def _limit(self, pointer: str, entry: Mapping[str, Any]) -> Limit:
        measured = self._measured(pointer, entry["basis"])
        return Limit(
            metric=entry["metric"],
            unit=entry["unit"],
            floor=self._bound(pointer, entry.get("floor")),
            ceiling=self._bound(pointer, entry.get("ceiling")),
            basis=replace(basis_of(entry), measured=measured),
            marginal=entry.get("marginal", 0.0),
            dispersion=Dispersion(**entry.get("dispersion", {})),
            record_only=entry.get("record_only", False),
            pairings=tuple(entry.get("pairings", ())),
            sizes=self._span(pointer, entry.get("sizes")),
            pointer=pointer,
            of=entry.get("of", ""),
            over=self._sweep(pointer, entry.get("over")),
        )

    def _measured(self, pointer: str, basis: Mapping[str, Any]) -> Bound | None:
        source = basis["source"]
        if "measured" in basis and source.isdigit() and source not in self._documents:
            what = f"measured by document {source}, which is not among the documents of this file"
            _refuse(self.path, f"${pointer}/basis", what)
        return self._bound(pointer, basis.get("measured"))

    def _sweep(self, pointer: str, entry: Mapping[str, Any] | None) -> Sweep | None:
        if entry is None:
            return None
        first, last = self._size(pointer, entry["from"]), self._size(pointer, entry["to"])
        found = Sweep(first, last, entry["factor"])
        if first > last or found.sizes[-1] != last:
            steps = f"in steps of x{entry['factor']}"
            what = f"over: {entry['to']} is not reached from {entry['from']} {steps}"
            _refuse(self.path, f"${pointer}/over", what)
        return found

    def _bound(self, pointer: str, entry: Any) -> Bound | None:
        if entry is None:
            return None
        if not isinstance(entry, Mapping):
            return float(entry)
        points = sorted((self._size(pointer, s), float(v)) for s, v in entry["curve"].items())
        if len({size for size, _ in points}) < len(points):
            _refuse(self.path, f"${pointer}", "two points of the curve are at the same size")
        return Curve(tuple(points))

    def _size(self, pointer: str, text: str) -> int:
        """Return a size in bytes; 0 is refused: it moves nothing, and curves use its logarithm."""
        try:
            size = parse_size(text)
        except BadInput as error:
            _refuse(self.path, f"${pointer}", str(error))
        if not size:
            _refuse(self.path, f"${pointer}", f"{text} is not a size that can be measured")
        return size


_BESIDE_THE_RULE = ("basis", "fact", "per", "measured_with")
