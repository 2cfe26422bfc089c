"""Hostfiles: parse a file into a ``Cluster``, or report each error with file and line.

Two forms are read: the project's own YAML (checked by ``hostfiles/schema.json``) and the plain
lists that MPI and pssh use. ``root@gpu1:2222`` in such a list is the node ``gpu1`` with SSH user
``root`` and port 2222; in ``gpu1:8`` the 8 is MPICH's number of slots, which is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from railgauge import launchers
from railgauge.config import launching, reaching, storage, strict_yaml, texts
from railgauge.config.refusal import refuse
from railgauge.config.schema import complaints
from railgauge.config.strict_yaml import BadYaml
from railgauge.config.transports import NAMES as TRANSPORTS
from railgauge.core import run_files
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import BadInput, Gathered
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.model import (
    ALL_MODELS,
    Cluster,
    Node,
    PerftestSettings,
    SlurmSettings,
    SshSettings,
)
from railgauge.core.naming import NAME, listed
from railgauge.core.node_names import MOST_NODES, tool_address, why_not
from railgauge.core.nodeset import expanded
from railgauge.core.terms import LaunchWay, RankPlace
from railgauge.subnet.declared import declared_fabric, declared_leaves

# The members of all groups: a node is in a handful of groups, for leaves, pods or racks.
_MOST_MEMBERS = 5 * MOST_NODES
# A leaf has thirty nodes, a rack eight.
_MOST_GROUPS = 4_000
_NODES_REMEDY = "write node01 or node[01-16]"
_NAME_REMEDY = "give it a plain name, and its address with 'address:'"
_OTHER_NAME_REMEDY = (
    "names are in the names of files and the ids of tests: give another one, or another value to"
    " the variable whose value it is"
)
_PLACEHOLDER = re.compile(r"<change-?me>", re.IGNORECASE)


def load(
    path: Path, *, schema_file: Path, platform: str | None = None, unnamed: str | None = None
) -> Cluster:
    """Return the cluster that ``path`` declares.

    ``platform`` is needed for plain lists. It cannot override the platform that a file names: two
    different names are an error. ``unnamed`` is the name where neither is given. Raises
    ``HostfileError``, or ``BadInputs`` with all errors.
    """
    text = _read(path)
    cluster = (
        _from_yaml(path, text, schema_file, platform or unnamed)
        if path.suffix in (".yaml", ".yml")
        else _from_plain(path, text, platform or unnamed)
    )
    if platform and cluster.platform != platform:
        refuse(
            path,
            f"the file says platform {cluster.platform}, --platform says {platform}",
            "drop one of them",
        )
    _refuse_secret_names(path, cluster)
    return cluster


def _refuse_secret_names(path: Path, cluster: Cluster) -> None:
    """Names are part of file names and item ids, which would be useless if masked."""
    nics = (nic for node in cluster.nodes for nic in node.nic_addresses)
    names = {
        "this file": path.stem,
        "the cluster": cluster.name,
        "a node": "\n".join(node.name for node in cluster.nodes),
        "a NIC": "\n".join(nics),
    }
    for what, name in names.items():
        if MASK_OF_PROCESS.text(name) != name:
            refuse(path, f"the name of {what} holds a secret", _OTHER_NAME_REMEDY)


def named_platform(path: Path) -> str:
    """Return the platform that a hostfile names, even if the rest is invalid; empty if none.

    With it the platform file can be checked in the same pass.
    """
    try:
        named = strict_yaml.scalar(texts.read(path), "platform")
    except (texts.Unreadable, BadYaml):
        return ""
    return named if NAME.fullmatch(named) else ""


def _read(path: Path) -> str:
    try:
        return texts.read(path)
    except texts.Unreadable as error:
        refuse(path, str(error), "give a hostfile, as text in UTF-8, to --hostfile")


# --- the project's own YAML ---


def _from_yaml(path: Path, text: str, schema_file: Path, platform: str | None) -> Cluster:
    try:
        document, tree = strict_yaml.loads(text)
    except BadYaml as error:
        refuse(path, error.what, error.remedy, error.line)
    MASK_OF_PROCESS.learn(document)
    if not isinstance(document, dict):
        refuse(
            path,
            "is not a mapping of keys to values",
            "start from hostfiles/example-metax-c500.yaml",
        )
    if platform:
        document.setdefault("platform", platform)
    listed = document.get("nodes")
    if isinstance(listed, list) and len(listed) > MOST_NODES:
        line = strict_yaml.line_of(tree, ("nodes",))
        refuse(path, f"nodes: has more than {MOST_NODES} entries", _NODES_REMEDY, line)
    gathered = Gathered()
    for number, raw in enumerate(text.splitlines(), 1):
        with gathered.trying():
            _check_placeholder(path, raw, number)
    for json_path, what in complaints(schema_file, document):
        place = ".".join(map(str, json_path)) or "top level"
        with gathered.trying():
            refuse(path, f"{place}: {what}", line=strict_yaml.line_of(tree, json_path))
    for key, names in _REGISTERED.items():
        with gathered.trying():
            _check_registered(path, document, key, names, tree)
    gathered.raise_any()
    return _cluster(path, document, lambda *keys: strict_yaml.line_of(tree, keys))


# Keys that name a registered module; the schema does not list their values.
_REGISTERED = {"transport": TRANSPORTS, "launcher": launchers.NAMES}


def _check_registered(
    path: Path, document: Mapping[str, Any], key: str, names: Sequence[str], tree: Any
) -> None:
    named = document.get(key, names[0])
    if isinstance(named, str) and named not in names:
        what = f"{key}: {named!r} is not one of {', '.join(map(repr, names))}"
        refuse(path, what, line=strict_yaml.line_of(tree, (key,)))


def _check_placeholder(path: Path, line: str, number: int) -> None:
    if match := _PLACEHOLDER.search(line.split("#", maxsplit=1)[0]):
        refuse(path, f"{match[0]} is still there", "put your own value in its place", number)


def _cluster(path: Path, document: Mapping[str, Any], line: Any) -> Cluster:
    ssh = _ssh(path, document.get("ssh", {}))
    entries = document["nodes"] if isinstance(document["nodes"], list) else [document["nodes"]]
    nodes: list[Node] = []
    gathered = Gathered()
    for index, entry in enumerate(entries):
        with gathered.trying():
            nodes += _nodes(path, entry, ssh, line("nodes", index))
        if len(nodes) > MOST_NODES:
            what = f"nodes: are more than {MOST_NODES} together"
            refuse(path, what, _NODES_REMEDY, line("nodes", index))
    nodes = [_with_nic_addresses(node, document.get("nic_addresses", {})) for node in nodes]
    with gathered.trying():
        slurm = _slurm(path, document, line("slurm"))
        nodes = [replace(node, slurm=slurm) for node in nodes]
    with gathered.trying():
        nodes = reaching.declared(path, document, nodes, line)
    with gathered.trying():
        _check_unique(path, nodes, line("nodes"))
    gathered.raise_any()  # the checks below need all nodes
    names = {node.name for node in nodes}
    groups: Mapping[str, tuple[str, ...]] = {}
    with gathered.trying():
        groups = _groups(path, document.get("groups", {}), names, line)
    with gathered.trying():
        fabric = declared_fabric(path, document.get("fabric"), names, line("fabric"))
    with gathered.trying():
        reaching.check_devices(path, document, names, line)
    with gathered.trying():
        launch = launching.way(path, document, line("launch"))
    with gathered.trying():
        ports = launching.ports(path, document.get("ports"), line("ports"))
    with gathered.trying():
        declared = storage.mounts(path, document, line)
    gathered.raise_any()
    if fabric and "groups" not in document:
        groups = declared_leaves(fabric, [node.name for node in nodes])
    return Cluster(
        name=document["cluster"],
        platform=document["platform"],
        transport=document.get("transport", "ssh"),
        nodes=tuple(nodes),
        source=str(path),
        groups=groups,
        launcher=document.get("launcher", "openmpi"),
        rootfs=document.get("rootfs", "/"),
        tools=document.get("tools", {}),
        environment={key: str(value) for key, value in document.get("environment", {}).items()},
        fabric=fabric,
        versions={
            name: {ALL_MODELS: version} if isinstance(version, str) else version
            for name, version in document.get("versions", {}).items()
        },
        model=document.get("model", ""),
        mpi_network=document.get("mpi_network", ""),
        perftest=PerftestSettings(**document.get("perftest", {})),
        runtime=reaching.containers(document),
        devices=document.get("devices", {}),
        no_fabric=document.get("fabric", {}).get("none", ""),
        launch=launch,
        launcher_args=tuple(document.get("launcher_args", ())),
        ports=ports,
        ranks=launching.placement(document),
        independent_pairs=_independent_pairs(document, len(nodes)),
        storage=declared,
    )


def _independent_pairs(document: Mapping[str, Any], nodes: int) -> int:
    count: int | str = document.get("independent_pairs", 1)
    return max(1, nodes // 2) if count == "all" else int(count)


def _slurm(path: Path, document: Mapping[str, Any], line: int) -> SlurmSettings:
    if "slurm" in document and document.get("transport") != "slurm":
        what = "slurm: is only used with transport: slurm"
        refuse(path, what, "set transport: slurm, or remove slurm:", line)
    return _slurm_from(document.get("slurm", {}))


def _slurm_from(settings: Mapping[str, Any]) -> SlurmSettings:
    values: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()
    }
    return SlurmSettings(**values)


def _with_nic_addresses(node: Node, patterns: Mapping[str, str]) -> Node:
    """Return the node with its address for each NIC; ``{node}`` becomes the node's name."""
    if not patterns:
        return node
    addresses = {nic: text.replace("{node}", node.name) for nic, text in patterns.items()}
    return replace(node, nic_addresses={n: tool_address(text) for n, text in addresses.items()})


def _ssh(path: Path, settings: Mapping[str, Any], base: SshSettings | None = None) -> SshSettings:
    """Return ``base`` with these settings on top; file names are relative to the hostfile."""
    paths = {
        key: str((path.parent / Path(settings[key]).expanduser()).absolute())
        for key in ("key", "config", "known_hosts")
        if key in settings
    }
    return replace(base or SshSettings(), **{**settings, **paths})


def _nodes(
    path: Path, entry: str | Mapping[str, Any], ssh: SshSettings, line: int
) -> Iterable[Node]:
    if isinstance(entry, str):
        return [Node(name, name, tool_address(name), ssh) for name in _expand(path, entry, line)]
    name = _checked(path, entry["name"], line)
    address = entry.get("address", name)
    data_address = tool_address(entry.get("data_address", address))
    return [Node(name, address, data_address, _ssh(path, entry.get("ssh", {}), ssh))]


def _expand(path: Path, text: str, line: int | None) -> list[str]:
    """Return the names of a NodeSet expression, without reading site-wide group files."""
    try:
        names = expanded(text, MOST_NODES)
    except BadInput as error:
        refuse(path, error.what, _NODES_REMEDY, line)
    if not names:
        refuse(path, f"{text[:60]!r} names no node", _NODES_REMEDY, line)
    return [_checked(path, name, line) for name in names]


def _checked(path: Path, name: str, line: int | None) -> str:
    """Return ``name`` if it can be used in test ids, reports and on command lines."""
    if why := why_not(name):
        refuse(path, f"{name[:60]!r} cannot be a node's name: it {why}", _NAME_REMEDY, line)
    return name


def _check_unique(path: Path, nodes: Iterable[Node], line: int) -> None:
    seen: set[str] = set()
    for node in nodes:
        if node.name in seen:
            refuse(path, f"node {node.name} is given twice", "drop one of the two", line)
        seen.add(node.name)


def _groups(
    path: Path, declared: Mapping[str, str], known: set[str], line: Any
) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    gathered = Gathered()
    room = _MOST_MEMBERS
    if len(declared) > _MOST_GROUPS:
        what = f"groups: {len(declared)} groups, and at most {_MOST_GROUPS} are read"
        refuse(path, what, "name fewer of them", line("groups"))
    for name, members in declared.items():
        with gathered.trying():
            groups[name] = _group(path, name, members, known, line("groups", name))
            room -= len(groups[name])
        if room < 0:
            what = f"groups: have more than {_MOST_MEMBERS} members together"
            refuse(path, what, "name fewer of them", line("groups"))
    gathered.raise_any()
    return groups


def _group(path: Path, name: str, members: str, known: set[str], line: int) -> tuple[str, ...]:
    names = _expand(path, members, line)
    if unknown := [member for member in names if member not in known]:
        what = f"group {name} has nodes that are not under 'nodes': {listed(unknown)}"
        refuse(path, what, "add them to 'nodes' or remove them from the group", line)
    return tuple(names)


# --- plain lists, as MPI and pssh read them ---

_PLAIN = re.compile(
    r"(?:(?P<user>[^@\s]+)@)?(?P<host>[^\s:@]+)(?::(?P<number>\d{1,9}))?(?P<rest>(?:\s+\S+)*)"
)
_MOST_SLOTS = 256


def _from_plain(path: Path, text: str, platform: str | None) -> Cluster:
    if not platform:
        refuse(path, "a plain hostfile names no platform", "add --platform NAME")
    nodes: dict[str, Node] = {}
    gathered = Gathered()
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#")[0].strip()
        if line:
            with gathered.trying():
                node = _plain_node(path, line, number)
                nodes.setdefault(node.name, node)  # MPI repeats a host to give it more slots
    gathered.raise_any()
    if not nodes:
        refuse(path, "names no host", "write one host a line")
    if len(nodes) > MOST_NODES:
        refuse(path, f"names {len(nodes)} hosts, and a cluster has at most {MOST_NODES}", "")
    through, beside = LaunchWay.THROUGH_SUITE, RankPlace.BESIDE_GPU
    own = path.stem, platform, "ssh", tuple(nodes.values()), str(path)
    return Cluster(*own, launch=through, ranks=beside)


def _plain_node(path: Path, line: str, number: int) -> Node:
    """Parse ``[user@]host[:number] [slots=N ...]``; a number up to 256 is MPICH's slots."""
    match = _PLAIN.fullmatch(line)
    why = f": it {why_not(match['host'])}" if match else ""
    if not match or why_not(match["host"]):
        remedy = "write: host, host slots=8 or user@host:port"
        refuse(path, f"{line[:60]!r} is not a host{why}", remedy, number)
    words = match["rest"].split()
    user = match["user"] or (words[0] if len(words) == 1 and "=" not in words[0] else None)
    value = int(match["number"] or 0)
    if value >= 2**16:
        refuse(path, f"{value} is neither a port nor a number of slots", "fix the line", number)
    port = value if value > _MOST_SLOTS else None
    host = match["host"]
    return Node(host, host, tool_address(host), SshSettings(user=user, port=port))


# --- a cluster as plain data, for other processes and later runs ---


def cluster_to_json(cluster: Cluster) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(cluster)
    return plain


def cluster_from_json(data: Mapping[str, Any]) -> Cluster:
    """Restore a cluster from the data of ``cluster_to_json``. Raises ``BadInput``."""
    return from_plain(Cluster, run_files.unstamped(run_files.CLUSTER, data))
