"""All nodes at once on a shared mount: rates of each, and what one wrote checked on others.

Every node runs the same phases, and waits for all others before each of them: it fills its file,
writes it, reads it, writes a file with checksums, and checks those of the two nodes behind it in
the order of the case. The nodes wait by files in the folder that they share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from railgauge.core.model import Command, Parsed, Sample
from railgauge.tools import Setting, on_storage
from railgauge.tools.options import command_on
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, equal

# The words are the folder, the node, the number of nodes, the free space in KiB, how long to wait
# for the others in seconds, the first node, the program, and the phases: a name and the options of
# fio, one a line. A node's own new file makes an NFS client look at the folder anew. The last node
# removes the folder.
_SCRIPT = (
    on_storage.FUNCTIONS
    + """\
folder=$1 node=$2 count=$3 need=$4 patience=$5 first=$6 program=$7; shift 7
mount=${folder%/*} mine=$folder/$node run=${RAILGAUGE_RUN:-none} turn=0; run=${run%%/*}
own() { set +f; rm -rf -- "$mine" "$folder/@$node@"*; set -f; }
clean() { end_started; own; rmdir -- "$folder"; } 2>/dev/null
meet() {
  phase=$1 end=$(($(date +%s) + patience))
  : >"$folder/@$node@$phase@$run" || fail "$folder cannot be written"
  while set +f; set -- "$folder"/@*"@$phase@$run"; set -f; [ $# -lt "$count" ]; do
    [ "$(date +%s)" -lt "$end" ] || fail "$# of $count nodes came to phase $phase"
    : >"$folder/@$node@beat"; rm -f -- "$folder/@$node@beat"
    sleep 0.2
  done
}
is_folder "$mount"
mkdir -- "$folder" 2>/dev/null
[ -d "$folder" ] && [ ! -L "$folder" ] || fail "$folder cannot be made"
own
has_room "$mount" "$need"
mkdir -m 755 -- "$mine" || fail "$mine cannot be made"
for options; do
  name=${options%%"$IFS"*}
  meet "$((turn += 1))"
  start "$program" --thread --output-format=json "--output=$mine/output" --verify_state_save=0 \\
    ${options#*"$IFS"}
  [ "$name" = fill ] || { echo "railgauge storage phase $name"; cat -- "$mine/output"; echo; }
  [ "$code" -eq 0 ] || exit "$code"
done
meet end
# That a node came to the end is seen by the others until all have gone, and the first removes it.
set +f; rm -rf -- "$mine" "$folder/@$node@"[0-9]*
[ "$node" = "$first" ] || { trap - EXIT; exit 0; }
while set -- "$folder"/*/; [ -d "$1" ]; do
  [ "$(date +%s)" -lt "$end" ] || fail "not all nodes have ended"
  sleep 0.1
done
rm -f -- "$folder/@"*"@end@$run"
"""
)
_START_S = 60
_SLOWEST_MIB_PER_S = 50
_READERS = 2
_KIB = 1024
_RATES = {"write": "bandwidth_write", "read": "bandwidth_read"}


@dataclass(frozen=True, slots=True)
class _Phase:
    """A phase of one node: the job's name, and the options of fio."""

    name: str
    options: Mapping[str, str]

    def word(self, folder: str) -> str:
        words = (f"--{name}={value}" for name, value in self.options.items())
        return "\n".join((self.name, f"--name={self.name}", f"--directory={folder}", *words))


def commands(
    setting: Setting, mounts: Mapping[str, Mapping[str, Any]], fio: str
) -> Iterator[Command]:
    """Yield the command of each node, that of the first one last: it reports."""
    nodes = setting.case.nodes
    for node in (*nodes[1:], nodes[0]):
        for asked in mounts.values():
            folder = f"{asked['path']}/{on_storage.FOLDER}{setting.cluster.name}-together"
            phases = (
                phase.word(f"{folder}/{author}") for phase, author in _phases(asked, nodes, node)
            )
            need = int(2 * asked["size_mib"] * _KIB * len(nodes) * on_storage.ROOM)
            patience = _START_S + asked["size_mib"] // _SLOWEST_MIB_PER_S
            words = (
                folder,
                node,
                str(len(nodes)),
                str(need),
                str(patience),
                nodes[0],
                fio,
                *phases,
            )
            yield command_on(setting, node, ("sh", "-c", _SCRIPT, "fio", *words))


def _phases(
    asked: Mapping[str, Any], nodes: Sequence[str], node: str
) -> Iterator[tuple[_Phase, str]]:
    """Yield each phase of a node, and whose folder it works in."""
    size = {"filename": "data", "size": f"{asked['size_mib']}M"}
    rate = {**_PAST_CACHE, **size, "time_based": "1", "runtime": str(asked["seconds"])}
    yield _Phase("fill", {**_PAST_CACHE, **size, "rw": "read", "create_only": "1"}), node
    yield _Phase("write", {**rate, "rw": "write"}), node
    yield _Phase("read", {**rate, "rw": "read"}), node
    checked = {**_PAST_CACHE, "filename": "check", "size": size["size"], "verify": "crc32c"}
    yield _Phase(f"sign-{node}", {**checked, "rw": "write", "do_verify": "0"}), node
    for author in _behind(nodes, node):
        there = {"allow_file_create": "0", "continue_on_error": "verify"}
        yield _Phase(f"check-{author}", {**checked, **there, "rw": "read"}), author


_PAST_CACHE = {"ioengine": "libaio", "direct": "1", "bs": "1M", "iodepth": "16"}


def _behind(nodes: Sequence[str], node: str) -> tuple[str, ...]:
    """The nodes whose files a node checks."""
    at = nodes.index(node)
    others = (nodes[(at + step) % len(nodes)] for step in range(1, _READERS + 1))
    return tuple(one for one in dict.fromkeys(others) if one != node)


# --- what all sides show together ---


@dataclass(frozen=True, slots=True)
class SharedRun:
    """The rates of each node in MB/s by way (``write``, ``read``), and the errors of each check.

    ``errors`` maps author and reader to the number of blocks that were not as they were written.
    """

    rates: Mapping[str, Mapping[str, float]]
    errors: Mapping[tuple[str, str], float]

    def slow_clients(self, way: str, fairness: float) -> tuple[str, ...]:
        """The nodes below this share of the median."""
        rates = self.rates[way]
        least = fairness * median(rates.values())
        return tuple(node for node, rate in rates.items() if rate < least)


def shared_run(sides: Mapping[str, Parsed]) -> SharedRun:
    """Return what the outputs of the nodes show, by node."""
    rates: dict[str, dict[str, float]] = {way: {} for way in _RATES}
    errors: dict[tuple[str, str], float] = {}
    for node, parsed in sides.items():
        for sample in parsed.samples:
            place = sample.placement or ""
            if sample.metric == _RATES.get(place):
                rates[place][node] = sample.value
            elif sample.metric == "corrupt":
                errors[place.removeprefix("check-"), node] = sample.value
    return SharedRun(rates, errors)


def joined(asked: ToolRequest, sides: Sequence[SideOutput]) -> Parsed:
    """Return the figures of all nodes: the mean of each way, its fairness, and all errors.

    A figure that a node did not print is of no node: it is missing.
    """
    nodes = asked.case.nodes
    found = shared_run({side.node: side.parsed for side in sides})
    samples: list[Sample] = []
    for way, rates in found.rates.items():
        if rates.keys() == set(nodes):
            mean, middle = sum(rates.values()) / len(nodes), median(rates.values())
            samples.append(Sample(f"shared_{way}", "MB/s", mean))
            samples.append(Sample(f"fairness_{way}", "1", min(rates.values()) / middle))
    wanted = {(author, node) for node in nodes for author in _behind(nodes, node)}
    if found.errors.keys() == wanted:
        samples.append(Sample("corrupt", "count", sum(found.errors.values())))
    return replace(sides[0].parsed, samples=tuple(samples))


def output_checks(
    asked: ToolRequest, sides: Sequence[SideOutput], mount: Mapping[str, Any]
) -> Iterator[OutputCheck]:
    """Compare the options of every phase of every node."""
    for side in sides:
        jobs = side.parsed.summary.get("jobs")
        of_jobs: Mapping[str, Mapping[str, str]] = jobs if isinstance(jobs, dict) else {}
        for phase, _ in _phases(mount, asked.case.nodes, side.node):
            if phase.name == "fill":
                continue
            own = of_jobs.get(phase.name)
            for name, wanted in phase.options.items():
                reported = own.get(name, "") if own else None
                yield replace(equal(f"{name} of {phase.name}", wanted, reported), node=side.node)
