"""Reads the machine that this process runs on as one node of a cluster, within a time."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from railgauge.config.thresholds import Platform
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import BadInput, CommandTimedOut, CountersUnread, NoEvidence
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.facts import NodeAnswer
from railgauge.facts.counters import CounterReading, parse_reading
from railgauge.planning import counters
from railgauge.planning.part import within
from railgauge.planning.plan import platform_stack
from railgauge.run.node_state import NodeState, read_json
from railgauge.run.store import write_whole
from railgauge.run.survey import surveyed_by
from railgauge.transport import Session
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag
from railgauge.verdict.one_node import NodeReading

_LOCAL = "local"
_NO_LINE = 2**63  # which is never printed
_SETTLES_S = 2.0
_KEPT_S = 3600.0


def alone(cluster: Cluster, name: str) -> Cluster:
    """Return the cluster with this one node, which is reached without a connection.

    Root need not become root: the node may have no sudo.
    """
    one = replace(within(cluster, (name,)), transport=_LOCAL)
    if os.geteuid() != 0:
        return one
    return replace(one, nodes=tuple(replace(node, become=()) for node in one.nodes))


def read(platform: Platform, cluster: Cluster, until: float, state: NodeState) -> NodeReading:
    """Survey the one node of a cluster, which is this machine, and read its counters.

    What is not printed until then, by the monotonic clock, is not known.
    """
    (node,) = cluster.nodes
    session = connect(_LOCAL, node, Tag(f"node-{secrets.token_hex(6)}", "main"))
    run = partial(_in_time, session, until)
    try:
        found: NodeAnswer = surveyed_by(run, cluster, platform_stack(platform), node.name)
    except NoEvidence as error:
        found = error
    counted = None if platform.growth is None else _counted(platform, cluster, run)
    return NodeReading(found, counted, _earlier(state, counted))


def _in_time(session: Session, until: float, command: Command) -> Transcript:
    """Return what a command has printed until its end or until then.

    The kernel may not let a command end that waits for a device, and nobody is to wait for it: the
    time limit on the node ends it when it can be ended. Raises ``CommandTimedOut`` if none is left.
    """
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise CommandTimedOut("no time was left to read it", where=command.node)
    running = session.start(replace(command, time_limit_s=left_s))
    running.line(_NO_LINE, left_s)
    if running.has_ended:
        return running.wait(_SETTLES_S)
    return replace(running.so_far(), error=CommandTimedOut.kind)


def _counted(
    platform: Platform, cluster: Cluster, run: Callable[[Command], Transcript]
) -> CounterReading | NoEvidence:
    (node,) = cluster.nodes
    try:
        said = run(counters.reading(node.name, platform, cluster))
    except NoEvidence as error:
        return CountersUnread(error.what, where=node.name)
    if said.error:
        what = f"the reading of the counters ended with {said.error}"
        return CountersUnread(what, where=node.name)
    return parse_reading(said.stdout, counters.stack_of(platform))


def _earlier(state: NodeState, now: CounterReading | NoEvidence | None) -> CounterReading | None:
    """Return the reading that an earlier check kept, and keep this one in its place if it is old.

    A check each minute must not look at a minute alone: what grows slowly grows in an hour.
    """
    if not isinstance(now, CounterReading):
        return None
    try:
        found = from_plain(CounterReading, read_json(state.counters))
    except BadInput:
        found = None
    if found is None or _is_old(found, now):
        write_whole(state.counters, json.dumps(to_plain(now)))
    return found


def _is_old(earlier: CounterReading, now: CounterReading) -> bool:
    before_s, now_s = earlier.up_s or 0.0, now.up_s or 0.0
    return earlier.boot_id != now.boot_id or not 0 <= now_s - before_s < _KEPT_S
