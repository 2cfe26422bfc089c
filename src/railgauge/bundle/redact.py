"""Redacts the files of a run: JSON string by string, other files as text."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from railgauge.core.errors import BadInput
from railgauge.core.masking import Mask
from railgauge.core.pseudonyms import Pseudonyms
from railgauge.core.run_files import CLUSTER, FACTS
from railgauge.facts.parts import PartKind
from railgauge.run.case_files import DIGESTED, renamed
from railgauge.run.kept_text import changed_text
from railgauge.subnet import topology

HOSTS, ADDRESSES, SERIALS = "hosts", "addresses", "serials"
REQUESTS = (HOSTS, ADDRESSES, SERIALS)
# A shorter word would also be replaced where it means something else.
_LEAST_SERIAL = 6

_JUNIT_HOST = re.compile(r'<testsuite\b[^<>]*\bhostname="([^"]+)"')


class FileRedactor:
    """Redacts file names and contents; a host has the same pseudonym in all of them."""

    def __init__(
        self,
        hosts: Iterable[str] | None,
        *,
        addresses: bool,
        serials: Iterable[str] | None = None,
        versions: Iterable[str] = (),
    ) -> None:
        self._thorough = hosts is not None or addresses or serials is not None
        names = Pseudonyms(hosts, addresses=addresses, serials=serials or (), versions=versions)
        self._pseudonyms = names if self._thorough else None
        self._mask = Mask()

    def know_stems(self, keys: Mapping[str, str]) -> None:
        """Rename files, whose stems are given with the keys of their cases, as the keys change."""
        if self._pseudonyms is not None:
            found = {stem: renamed(stem, self.name(key)) for stem, key in keys.items()}
            self._pseudonyms.know(found)

    @property
    def counts(self) -> dict[str, int]:
        """The number of replacements by kind."""
        return {kind: count for kind, count in sorted(self._mask.counts.items()) if count}

    def name(self, name: str) -> str:
        """The redacted name of a file; its replacements are not counted."""
        before = self._mask.counts.copy()
        redacted = self._redacted(name)
        self._mask.counts = before
        return redacted

    def file(self, name: str, data: bytes) -> bytes | None:
        """The redacted content; ``None`` for a binary file, which cannot be searched."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return None if self._thorough else data
        return changed_text(name, text, self._redacted, self._data).encode()

    def again(self, name: str, data: bytes) -> bytes:
        """The redacted content of a file that was counted before, or empty for a binary file."""
        before = self._mask.counts.copy()
        redacted = self.file(name, data)
        self._mask.counts = before
        return redacted if redacted is not None else b""

    def _redacted(self, text: str) -> str:
        masked = self._mask.text(text)
        return self._pseudonyms.text(masked, self._mask.counts) if self._pseudonyms else masked

    def _data(self, data: Any) -> Any:
        masked = self._mask.data(data)
        names, counts = self._pseudonyms, self._mask.counts
        return _in_strings(masked, lambda text: names.text(text, counts)) if names else masked


def _in_strings(data: Any, change: Callable[[str], str]) -> Any:
    """Return plain data with ``change`` applied to every string, keys included."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {change(key): _in_strings(item, change) for key, item in data.items()}
    return [_in_strings(item, change) for item in data] if isinstance(data, list) else data


def digested_keys(run: Path, names: Iterable[str]) -> dict[str, str]:
    """The stems of file names that have a digest in place of a case's key, each with that key."""
    files = (PurePosixPath(name) for name in names if name.endswith(".json"))
    return {
        file.stem: json.loads((run / file).read_text(encoding="utf-8"))["case"]["key"]
        for file in files
        if DIGESTED.search(file.stem)
    }


def hosts_of(run: Path, names: Iterable[str]) -> set[str]:
    """All host names in a run: of the hostfile, the nodes' own, and of the controller's machine."""
    held = set(names)
    found: set[str] = set()
    for of, hosts in ((CLUSTER, _of_cluster), (FACTS, _of_facts)):
        for name in _each(of, held):
            found.update(hosts(json.loads((run / name).read_text(encoding="utf-8"))))
    if "junit.xml" in held:
        found.update(_JUNIT_HOST.findall((run / "junit.xml").read_text(encoding="utf-8")))
    return found


def _each(file: str, names: Iterable[str]) -> Iterator[str]:
    """The file of the run with this name, and those of the runs that it was made of."""
    for name in sorted(names):
        if name == file or name.endswith(f"/{file}"):
            yield name


def _of_cluster(cluster: Mapping[str, Any]) -> Iterator[str]:
    for node in cluster["nodes"]:
        yield from (node["name"], node["address"], node["data_address"])
        yield from node["nic_addresses"].values()
        jump = node["ssh"]["jump"] or ""
        yield from (hop.rpartition("@")[2].partition(":")[0] for hop in jump.split(","))
    # Every scan names all hosts of the subnet, also those that are not under test.
    yield from sorted(topology((cluster.get("fabric") or {}).get("topology", "")).hosts())


def _of_facts(environment: Mapping[str, Any]) -> Iterator[str]:
    for name, entry in environment["nodes"].items():
        yield name
        yield (entry.get("facts") or {}).get("hostname") or ""


def serials_of(run: Path, names: Iterable[str]) -> set[str]:
    """All serial numbers and UUIDs of nodes, GPUs and NICs; a GUID is an address.

    Raises ``BadInput`` for one that is too short to be replaced wherever it occurs.
    """
    found: set[str] = set()
    for name in _each(FACTS, names):
        environment = json.loads((run / name).read_text(encoding="utf-8"))
        for node, entry in environment["nodes"].items():
            for part in (entry.get("facts") or {}).get("parts", ()):
                place = f"{node} {part['name']}"
                found |= {_long_enough(word, place) for word in _identities(part)}
    return found


def versions_of(run: Path, names: Iterable[str]) -> set[str]:
    """The versions of GPU software in the nodes' facts that look like a public IPv4 address.

    A version that is an address of the hostfile, or in a range for private or special use, is left
    out: it may be the address of a node.
    """
    held = set(names)
    found, addresses = set[str](), set[str]()
    for name in _each(FACTS, held):
        environment = json.loads((run / name).read_text(encoding="utf-8"))
        for entry in environment["nodes"].values():
            found.update(((entry.get("facts") or {}).get("gpu_software") or {}).values())
    for name in _each(CLUSTER, held):
        addresses.update(_of_cluster(json.loads((run / name).read_text(encoding="utf-8"))))
    return {word for word in found - addresses if _is_public(word)}


def _is_public(word: str) -> bool:
    try:
        return ipaddress.IPv4Address(word).is_global
    except ValueError:
        return False


def _identities(part: Mapping[str, Any]) -> Iterator[str]:
    if part["serial"]:
        yield part["serial"]
    if part["uuid"] and part["kind"] != PartKind.NIC:
        yield part["uuid"]


def _long_enough(word: str, where: str) -> str:
    if len(word) >= _LEAST_SERIAL:
        return word
    raise BadInput(
        f"{word!r} is too short to be redacted wherever it occurs",
        where=where,
        remedy="make the bundle without --redact serials",
    )
