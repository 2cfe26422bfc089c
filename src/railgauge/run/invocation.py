"""How a run was started: its options, its input, and the addresses of its nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from railgauge.core.codec import to_plain
from railgauge.core.errors import BadInput
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.model import Cluster
from railgauge.leases.files import held_open
from railgauge.planning.pairing import ALTERNATING
from railgauge.run.store import Store

FILE = "invocation.json"
SCHEMA_VERSION = 1
# The node addresses of earlier runs that this one resumes: a line for each run whose addresses
# differ from this one's.
ELSEWHERE = "elsewhere.jsonl"


@dataclass(frozen=True, slots=True)
class Invocation:
    """How a run was started. ``invocation.json`` is the first file in its folder.

    ``hostfile_sha256`` is computed over the file with secret values masked. ``resumes`` is the name
    of the run in ``reports/`` that this one resumes, or empty. ``directions`` is the
    scheme that decided which node of a pair sends; runs that did not keep it used the first.
    ``sampled`` is false for runs of versions that measured every node at smoke.
    """

    schema_version: int
    hostfile: str
    hostfile_sha256: str
    thresholds_sha256: str
    platform: str | None
    level: str
    rounds: int | None
    lab_nodes: int | None
    lab_seed: int | None
    lab_faults: tuple[str, ...]
    no_gates: bool
    prepare: bool
    keyword: str
    marks: str
    resumes: str = ""
    confirm: bool = False
    directions: int = ALTERNATING
    sampled: bool = False
    soak: str | None = None
    soak_below: str | None = None
    soak_seed: int | None = None
    shard: str | None = None
    only: str | None = None
    partners: str | None = None
    partners_from: str | None = None

    def hostfile_of(self, site: Path, where: str) -> str:
        """Return the run's hostfile, if it is one of this site. Raises ``BadInput``.

        A hostfile can run programs: the folder of a run may not choose any other one.
        """
        named = Path(self.hostfile).resolve()
        if named.parent == site.resolve() or named.is_relative_to((site / "hostfiles").resolve()):
            return str(named)
        raise BadInput(
            f"its hostfile {named} is not in {site} or its folder hostfiles",
            where=where,
            remedy="name it with --hostfile, if you trust it: a hostfile can run programs",
        )


OPTIONS = {
    "platform": "--platform",
    "level": "--level",
    "rounds": "--rounds",
    "lab_nodes": "--lab-nodes",
    "lab_seed": "--lab-seed",
    "lab_faults": "--lab-fault",
    "no_gates": "--no-gates",
    "prepare": "--prepare",
    "keyword": "-k",
    "marks": "-m",
    "soak": "--soak",
    "soak_below": "--soak-below",
    "soak_seed": "--soak-seed",
    "shard": "--shard",
    "only": "--only",
    "partners": "--partners",
    "partners_from": "--partners-from",
}
"""The fields of an invocation and their options."""


def write(store: Store, invocation: Invocation) -> None:
    store.write_evidence(FILE, to_plain(invocation))


def begin(store: Store, started: Invocation) -> BinaryIO:
    """Record how the run was started, before anything else is done.

    Returns the open file. ``--resume`` takes the run to be in progress while the file is open.
    """
    write(store, started)
    return held_open(store.folder / FILE)


@dataclass(frozen=True, slots=True)
class Address:
    """The addresses at which tools contacted one node; the fields are as in ``Node``."""

    data_address: str
    nic_addresses: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of the nodes in ``run``, by node."""

    run: str
    nodes: Mapping[str, Address]


def addresses(run: str, cluster: Cluster) -> Addresses:
    nodes = {n.name: Address(n.data_address, dict(n.nic_addresses)) for n in cluster.nodes}
    return Addresses(run, nodes)


def hostfile_sha256(cluster: Cluster) -> str:
    """The SHA-256 of the cluster's hostfile without its secrets, which may change."""
    return sha256(MASK_OF_PROCESS.text(Path(cluster.source).read_text(encoding="utf-8")))


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
