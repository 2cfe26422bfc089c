"""One check of ``railgauge node``: reads the node, judges it, and keeps its counters."""

from __future__ import annotations

import argparse
import os
import time

from railgauge.cli.node_report import NodeReport
from railgauge.config import hostfile, thresholds
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster, Node
from railgauge.core.node_names import tool_address, why_not
from railgauge.run import this_node
from railgauge.run.node_state import NodeState


def made(options: argparse.Namespace, named: str, state: NodeState, until: float) -> NodeReport:
    """Check the node ``named``, and return what is found by then."""
    began = time.monotonic()
    cluster = this_node.alone(*_cluster(options, named))
    platform = thresholds.load(cluster.platform, options.root / "thresholds")
    platform = thresholds.on_site(platform, cluster, cluster.source)
    survey = this_node.begun(platform, cluster, until)

    # The survey runs while this is imported.
    from railgauge.cli import node_lines  # noqa: PLC0415
    from railgauge.judging import stamp  # noqa: PLC0415
    from railgauge.planning import alone  # noqa: PLC0415
    from railgauge.run import node_counters, node_log, node_measuring  # noqa: PLC0415
    from railgauge.verdict import one_node  # noqa: PLC0415

    asked = alone.measurements(platform, options.measure)
    answer, counted = survey.answer(), node_counters.counted(platform, cluster, survey)
    earlier = node_counters.earlier(state, counted)
    facts = one_node.facts(platform, cluster, answer, has_jobs=options.busy)
    measured = node_measuring.measured(platform, cluster, survey, asked, facts)
    since = node_log.since(options.log_since, state, answer, cluster.rootfs)
    found = (measured.results, measured.blocked)
    reading = one_node.NodeReading(answer, counted, earlier, *found, since)
    results = one_node.judged(platform, cluster, reading, has_jobs=options.busy)
    evidence = stamp.of_nodes([answer], cluster.transport)
    took_s = time.monotonic() - began
    return node_lines.report(
        node_lines.CheckedNode(survey.node, platform.name, evidence, results, took_s)
    )


def _cluster(options: argparse.Namespace, named: str) -> tuple[Cluster, str]:
    """Return the cluster, and the name of the node in it that this machine is."""
    if options.hostfile is None:
        return _without_hostfile(options.platform, named), named
    schema_file = options.root / "hostfiles" / "schema.json"
    cluster = hostfile.load(options.hostfile, schema_file=schema_file, platform=options.platform)
    host = os.uname().nodename
    own = {host, host.partition(".")[0]} if named == host else {named}
    names = [n.name for n in cluster.nodes if {n.name, n.address, n.name.partition(".")[0]} & own]
    if len(names) != 1:
        what = f"names {'several nodes' if names else 'no node'} {named[:60]}"
        raise BadInput(what, where=str(options.hostfile), remedy="say which one: --name NODE")
    return cluster, names[0]


def _without_hostfile(platform: str | None, name: str) -> Cluster:
    if platform is None:
        remedy = "give --hostfile FILE, or --platform NAME for a node without one"
        raise BadInput("neither a hostfile nor a platform is named", remedy=remedy)
    if why := why_not(name):
        raise BadInput(f"{name[:60]!r} cannot be a node's name: it {why}", remedy="--name NODE")
    return Cluster(name, platform, "local", (Node(name, name, tool_address(name)),), "")
