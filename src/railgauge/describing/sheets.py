"""The data sheets of ``thresholds/shared/datasheets.json``, to be found by model. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from railgauge.config.thresholds.expand import Written, expanded
from railgauge.describing.hardware import NicFound

FILE = "shared/datasheets"


@dataclass(frozen=True, slots=True)
class Sheets:
    """Name of a data sheet -> its keys in the long form, for GPUs and for NICs."""

    gpus: Mapping[str, Mapping[str, Any]]
    nics: Mapping[str, Mapping[str, Any]]

    def gpu(self, model: str) -> str:
        """Return the name of the data sheet of a GPU, by the model that its tool prints."""
        return next((name for name, sheet in self.gpus.items() if sheet["model"] == model), "")

    def nic(self, nic: NicFound) -> str:
        """Return the name of the data sheet of a NIC: of its model and rate, else of its model."""
        same = [name for name, sheet in self.nics.items() if sheet["model"] == nic.model]
        at_rate = (name for name in same if self.nics[name].get("rate_gbps") == nic.rate_gbps)
        return next(at_rate, same[0] if same else "")


def sheets_of(path: str, document: Mapping[str, Any]) -> Sheets:
    """Return the data sheets of the file ``path``; ``document`` is its JSON."""
    named = document["templates"]
    file = Written(path, document)
    gpus = {name: _long(file, {"gpus": {"extends": name}})["gpus"] for name in named["gpus"]}
    nics = _long(file, {"nics": {name: {"extends": name} for name in _quoted(named["nics"])}})
    return Sheets(gpus, {nic["name"]: nic for nic in nics["nics"]})


def _quoted(names: Iterable[str]) -> list[str]:
    return [name for name in names if not set(name) & set(",[]")]


def _long(file: Written, hardware: Mapping[str, Any]) -> Any:
    return expanded([file, Written(file.path, {"hardware": hardware})]).document["hardware"]
