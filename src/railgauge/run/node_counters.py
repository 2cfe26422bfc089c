"""Reads the error counters of a node that checks itself, and the reading of an earlier check."""

from __future__ import annotations

import json

from railgauge.config.thresholds import Platform
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import BadInput, CountersUnread, NoEvidence
from railgauge.core.model import Cluster
from railgauge.facts.counters import CounterReading, parse_reading
from railgauge.planning import counters
from railgauge.run.node_state import NodeState, read_json
from railgauge.run.store import write_whole
from railgauge.run.this_node import BegunSurvey

_KEPT_S = 3600.0


def counted(
    platform: Platform, cluster: Cluster, survey: BegunSurvey
) -> CounterReading | NoEvidence | None:
    """Return the counters of the node; ``None`` if the platform limits no growth."""
    if platform.growth is None:
        return None
    try:
        output = survey.run(counters.reading(survey.node, platform, cluster))
    except NoEvidence as error:
        return CountersUnread(error.what, where=survey.node)
    if output.error:
        what = f"the reading of the counters ended with {output.error}"
        return CountersUnread(what, where=survey.node)
    return parse_reading(output.stdout, counters.stack_of(platform))


def earlier(state: NodeState, now: CounterReading | NoEvidence | None) -> CounterReading | None:
    """Return the reading that an earlier check kept, and keep this one in its place if it is old.

    A kept reading is replaced after an hour, so that checks each minute also see slow growth.
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


def _is_old(before: CounterReading, now: CounterReading) -> bool:
    before_s, now_s = before.up_s or 0.0, now.up_s or 0.0
    return before.boot_id != now.boot_id or not 0 <= now_s - before_s < _KEPT_S
