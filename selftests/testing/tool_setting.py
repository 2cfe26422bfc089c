"""A setting for the planning tests, and the recorded outputs beside this repository."""

from types import MappingProxyType, SimpleNamespace

import pytest

from railgauge.core.devices import AS_DECLARED
from railgauge.core.model import Case, Cluster, Node
from testing.places import SHARED

NODES = tuple(Node(f"n{index}", f"192.0.2.{index}", f"10.0.0.{index}") for index in (1, 2))


def setting(
    tool="some-tool",
    *,
    nodes=("n1",),
    sizes=(),
    options=None,
    tools=None,
    environment=None,
    pairing=None,
):
    """Everything that the small tools read, with the given parts."""
    measurement = SimpleNamespace(
        name="measured", tool=tool, time_limit_s=90.0, options=options or {}
    )
    return SimpleNamespace(
        case=Case("measured", nodes, pairing, sizes),
        measurement=measurement,
        cluster=Cluster("c", "p", "ssh", NODES, "c.yaml", tools=tools or {}),
        platform=SimpleNamespace(devices=AS_DECLARED),
        environment=MappingProxyType(environment or {}),
        stack=None,
    )


def recorded(folder, name):
    """The text of a recorded output; ``name`` is its number, or its full name."""
    paths = sorted((SHARED / folder).glob(f"{name}*"))
    if not paths:
        pytest.skip(f"recorded output {folder}/{name} is not beside this repository")
    return paths[0].read_bytes().decode("utf-8", "replace")


def values(parsed):
    """(metric, placement) to value; no two samples of these outputs share both."""
    found = {(s.metric, s.placement): s.value for s in parsed.samples}
    assert len(found) == len(parsed.samples)
    return found


def kinds(parsed, severity="error"):
    return [p.kind for p in parsed.problems if p.severity == severity]
