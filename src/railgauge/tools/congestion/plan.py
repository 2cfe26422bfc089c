"""The metrics, and the commands: perftest between two nodes, and a collective over all others.

The first two nodes of a case are the victims: perftest runs between them, the latency of small
writes and the bandwidth of large ones, first by itself, then under load, then by itself again. The
load is a collective test without an end. The first victim starts it, waits for its rows, and ends
it: on that node alone the order of all that happens is known, and its output has that order::

    railgauge congestion isolated latency    perftest, then its bandwidth
    railgauge congestion load before         the collective's header and its first rows
    railgauge congestion loaded latency      perftest, then its bandwidth
    railgauge congestion load during         the rows that were printed meanwhile
    railgauge congestion load after          the rows up to the end of the load
    railgauge congestion again latency       perftest, then its bandwidth
    railgauge congestion the end
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.model import Case, Command
from railgauge.core.programs import placed
from railgauge.core.terms import Scope
from railgauge.tools import Setting
from railgauge.tools.ccl_tests import plan as collective
from railgauge.tools.metric import HIGHER, LOWER, Metric, several
from railgauge.tools.options import read_options
from railgauge.tools.perftest import plan as perftest

VICTIMS = 2
FEWEST_NODES = 4
PHASES = (ISOLATED, LOADED, AGAIN) = ("isolated", "loaded", "again")
TESTS = (LATENCY, BANDWIDTH) = ("latency", "bandwidth")
METRICS = (
    Metric("latency_impact", ("1",), LOWER),
    Metric("bandwidth_impact", ("1",), HIGHER),
    *several(tuple(f"p99_{phase}" for phase in PHASES), "us", LOWER),
    *several(tuple(f"bandwidth_{phase}" for phase in PHASES), "Gb/s"),
    Metric("load_busbw", ("GB/s",), HIGHER),
)
_COMMANDS = {LATENCY: "ib_write_lat", BANDWIDTH: "ib_write_bw"}
# What GPCNet sends in its test of latency, and what a NIC needs for its full rate.
_SIZES = {LATENCY: 8, BANDWIDTH: 1 << 20}
# Two seconds by themselves, and longer under load: a row of the load takes one. Of more than 20,000
# messages perftest prints no peak.
_ITERATIONS = {LATENCY: 400_000, BANDWIDTH: 20_000}
_UNITS: Mapping[str, Mapping[str, object]] = {LATENCY: {}, BANDWIDTH: {"report_gbits": True}}
_OF_PERFTEST = ("gid_index", "traffic_class", "service_level", "mtu")
PERCENT, LOAD_PERCENT = "load_percent", 50
"""The option of the least that the load must reach of its ideal, and its default."""
_OPTIONS = frozenset({"load", PERCENT, *_OF_PERFTEST})
# The words are the tests, with one word of the command a line. A server serves one client.
_SERVER = """\
set -f; IFS='
'
latency=$1 bandwidth=$2
for phase in isolated loaded again; do
  echo "railgauge congestion $phase latency"; $latency || exit
  echo "railgauge congestion $phase bandwidth"; $bandwidth || exit
done
echo "railgauge congestion the end"
"""
# The words are the tests, how long to wait for the load in seconds, and the launcher's command. The
# server of a test listens when that of the one before has ended.
_CLIENT = """\
set -f; IFS='
'
latency=$1 bandwidth=$2 patience=$3; shift 3
log= load= shown=0
end_load() {
  [ -n "$load" ] || return 0
  left=100; kill -s TERM "$load"
  while kill -s 0 "$load" && [ "$((left -= 1))" -gt 0 ]; do sleep 0.1; done
  kill -s KILL "$load"; wait "$load"; load=
} 2>/dev/null
clean() { end_load; [ -z "$log" ] || rm -f -- "$log"; }
trap clean EXIT; trap 'exit 143' TERM; trap 'exit 130' INT; trap 'exit 129' HUP
say() { echo "railgauge congestion $1"; }
fail() { say "load failed"; cat -- "$log"; echo "railgauge congestion failed: $1"; exit 4; }
try() {
  left=300
  until printed=$("$@" 2>&1); do
    case $printed in *"Couldn't connect to "*) ;; *) left=0 ;; esac
    [ "$((left -= 1))" -gt 0 ] || { printf '%s\\n' "$printed"; exit 4; }
    sleep 0.1
  done
  printf '%s\\n' "$printed"
}
tests() { say "$1 latency"; try $latency; say "$1 bandwidth"; try $bandwidth; }
rows() { grep -c '^#\\{0,1\\} *[0-9][0-9]*  *[0-9][0-9]*  *[a-z]' "$log"; }
await() {
  end=$(($(date +%s) + patience))
  until [ "$(rows)" -ge "$1" ]; do
    kill -s 0 "$load" 2>/dev/null || fail "the load ended after $(rows) rows"
    [ "$(date +%s)" -lt "$end" ] || fail "the load printed $(rows) rows in $patience s"
    sleep 0.05
  done
}
show() {
  now=$(wc -l <"$log")
  say "load $1"; sed -n "$((shown + 1)),$((now))p" "$log"
  shown=$now
}
tests isolated
log=$(mktemp) || exit 4
"$@" >"$log" 2>&1 </dev/null &
load=$!
await 2
show before
tests loaded
show during
await "$(($(rows) + 1))"
show after
end_load
tests again
say "the end"
"""
# A collective over many nodes takes a minute to start.
_PATIENCE_S = 120


def victim_of(
    case: Case, of: Measurement, platform: Platform, test: str
) -> tuple[Case, Measurement]:
    """Return the case and the measurement of perftest between the victims, over the first rail."""
    options = {name: of.options[name] for name in _OF_PERFTEST if name in of.options}
    measurement = replace(
        of,
        tool="perftest",
        command=_COMMANDS[test],
        options={**options, **_UNITS[test], "iterations": _ITERATIONS[test]},
        memory="host",
        scope=Scope.PATH,
    )
    pairing = next(iter(platform.pairings("host")), None)
    return Case(case.measurement, case.nodes[:VICTIMS], pairing, (_SIZES[test],)), measurement


def load_of(case: Case, of: Measurement) -> tuple[Case, Measurement]:
    """Return the case and the measurement of the collective over all other nodes."""
    given = of.options.get("load")
    options = {**(given if isinstance(given, dict) else {}), "cycles": 0}  # until it is ended
    return (
        replace(case, nodes=case.nodes[VICTIMS:], repeats=1),
        replace(of, tool="ccl-tests", options=options),
    )


def commands(setting: Setting, port: int) -> tuple[Command, ...]:
    """Return the servers of all tests on the second node, and all the rest on the first one.

    Options: ``load`` (those of the collective), ``load_percent`` (the least that the load must
    reach of its ideal, 50) and those of perftest that a network needs. Raises ``BadInput``.
    """
    options = read_options(setting, _OPTIONS, collective.COMMANDS)
    options.number(PERCENT, LOAD_PERCENT, most=100)
    if len(setting.case.nodes) < FEWEST_NODES:
        options.refuse("no pair and others that load", "measure it on four nodes or more")
    if len(set(setting.case.sizes)) != 1:
        options.refuse("not one message size of the load", "give one size")
    sides = [_perftest(setting, test, port) for test in TESTS]
    (launcher,) = _launcher(setting)
    servers, clients = (
        tuple("\n".join(side.argv) for side in ends) for ends in zip(*sides, strict=True)
    )
    source, target = setting.case.nodes[:VICTIMS]
    limit_s = setting.measurement.time_limit_s
    serving = ("sh", "-c", _SERVER, "congestion", *servers)
    leading = ("sh", "-c", _CLIENT, "congestion", *clients, str(_PATIENCE_S), *launcher.argv)
    tests = tuple(side.argv[0] for ends in sides for side in ends)
    return (
        Command(target, serving, time_limit_s=limit_s, listens_on=port, programs=tests),
        replace(launcher, node=source, argv=leading, programs=(*tests, *launcher.programs)),
    )


def _perftest(setting: Setting, test: str, port: int) -> tuple[Command, ...]:
    case, measurement = victim_of(setting.case, setting.measurement, setting.platform, test)
    return perftest.commands(replace(setting, case=case, measurement=measurement), port)


def _launcher(setting: Setting) -> tuple[Command, ...]:
    case, measurement = load_of(setting.case, setting.measurement)
    found = collective.commands(replace(setting, case=case, measurement=measurement), 0)
    return tuple(placed(one, setting.cluster.tools) for one in found)
