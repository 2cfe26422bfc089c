"""The hostfile with the lines that a check proposes. Pure.

The user's text stays unchanged, with its comments: only the keys that change are written anew, and
new keys come last.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import yaml

from railgauge.config import strict_yaml
from railgauge.core.model import Cluster, Node, SshSettings
from railgauge.core.naming import folded
from railgauge.core.node_names import MOST_NODES
from railgauge.core.nodeset import expanded
from railgauge.describing.readiness.model import HostfileLine

_HEAD = "# Proposed by railgauge check; look at each line before you use it.\n"
_NODES = "nodes"


def applied(document: Mapping[str, Any], lines: Iterable[HostfileLine]) -> dict[str, Any]:
    """Return a copy of the document with the lines in it."""
    made = dict(document)
    of_nodes: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line.keys[0] == _NODES:
            of_nodes.setdefault(line.keys[1], {})[line.keys[2]] = line.value
        else:
            made[line.keys[0]] = _with(made.get(line.keys[0]), line.keys[1:], line.value)
    if of_nodes:
        made[_NODES] = list(_nodes(made[_NODES], of_nodes))
    return made


def _with(old: Any, keys: Sequence[str], value: Any) -> Any:
    if keys:
        inner = old if isinstance(old, dict) else {}
        return {**inner, keys[0]: _with(inner.get(keys[0]), keys[1:], value)}
    if isinstance(value, list) and isinstance(old, list) and all(isinstance(v, str) for v in old):
        return [*old, *(one for one in value if one not in old)]
    return {**old, **value} if isinstance(value, dict) and isinstance(old, dict) else value


def _nodes(entries: Any, settings: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """Yield the entries in the order that they have; a set of nodes is split where it must be."""
    for entry in entries if isinstance(entries, list) else [entries]:
        if isinstance(entry, dict):
            yield {**entry, **settings.get(entry["name"], {})}
            continue
        names = expanded(entry, MOST_NODES)
        for is_changed, some in groupby(names, key=lambda name: name in settings):
            if is_changed:
                yield from ({"name": name, **settings[name]} for name in some)
            elif len(names) and not set(names) & set(settings):
                yield entry
                break
            else:
                yield folded(some)


def block(document: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Return the YAML of some keys."""
    return "".join(_dumped(key, document[key]) for key in keys)


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [key for key, value in new.items() if old.get(key) != value]


def written(text: str, lines: Sequence[HostfileLine]) -> str:
    """Return the text of a YAML hostfile with the lines in it. Raises ``BadYaml``."""
    text = text.removeprefix(_HEAD)
    document, tree = strict_yaml.loads(text)
    made = applied(document, lines)
    keys = changed(document, made)
    if tree.flow_style:
        return _HEAD + block(made, made)
    rows = text.splitlines(keepends=True)
    if rows and not rows[-1].endswith("\n"):
        rows[-1] += "\n"
    starts = {key.value: key.start_mark.line for key, _ in tree.value}
    for key in sorted((key for key in keys if key in starts), key=lambda key: -starts[key]):
        end = _end(
            rows,
            starts[key],
            min((s for s in starts.values() if s > starts[key]), default=len(rows)),
        )
        rows[starts[key] : end] = [_dumped(key, made[key])]
    new = [key for key in keys if key not in starts]
    return _HEAD + "".join(rows) + block(made, new)


def _end(rows: Sequence[str], start: int, following: int) -> int:
    """Return where a key's rows end: comments and empty rows before the next key are that one's."""
    end = following
    while end > start + 1 and (not rows[end - 1].strip() or rows[end - 1].startswith("#")):
        end -= 1
    return end


def _dumped(key: str, value: Any) -> str:
    """Return a key with a row for each entry of its value."""
    if isinstance(value, dict) and value:
        return f"{key}:\n" + "".join(f"  {_flow(k)}: {_flow(v)}\n" for k, v in value.items())
    if isinstance(value, list):
        return f"{key}:\n" + "".join(f"  - {_flow(one)}\n" for one in value)
    return f"{key}: {_flow(value)}\n"


def _flow(value: Any) -> str:
    dumped = yaml.safe_dump(
        value, sort_keys=False, default_flow_style=True, width=sys.maxsize, allow_unicode=True
    )
    return dumped.removesuffix("\n").removesuffix("\n...")


# --- a plain list, which can hold none of this ---


def of_plain(cluster: Cluster, platform: str) -> str:
    """Return the text of a YAML hostfile with the content of a plain list."""
    document: dict[str, Any] = {"cluster": cluster.name}
    document |= {"platform": platform} if platform else {}
    plain = all(node.ssh == SshSettings() for node in cluster.nodes)
    names = [node.name for node in cluster.nodes]
    document |= {"transport": cluster.transport}
    kept = list(expanded(folded(names), MOST_NODES)) == names
    document |= {
        _NODES: folded(names) if plain and kept else [_entry(node) for node in cluster.nodes]
    }
    return block(document, document)


def _entry(node: Node) -> Any:
    ssh = {k: v for k, v in (("user", node.ssh.user), ("port", node.ssh.port)) if v is not None}
    return {"name": node.name, "ssh": ssh} if ssh else node.name
