"""A measurement that the suite plans, run with a lab's tools and parsed as in a run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from railgauge.config import thresholds
from railgauge.config.thresholds import LEVELS, Platform
from railgauge.core.model import Case, Command, Pairing, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.facts import NodeFacts
from railgauge.facts.model import GpuFacts, NicFacts
from railgauge.judging import assess
from railgauge.planning import plan
from testing.lab_bench import Bench, wait_for_listener
from testing.places import ROOT

THRESHOLDS = ROOT / "thresholds"
_PORT = 18611


@dataclass(frozen=True)
class ToolRun:
    """One run of a case, with all that parsing needs. ``found`` holds the facts of its nodes."""

    platform: Platform
    case: Case
    outputs: tuple[Transcript, ...]
    found: dict[str, NodeFacts]

    def edited(self, pattern: str, by: str, at: int = 0) -> ToolRun:
        """The same run with other text in output ``at`` (0 is the client's)."""
        one = self.outputs[at]
        text = re.sub(pattern, by, one.stdout, flags=re.MULTILINE)
        assert text != one.stdout, f"{pattern} is not in:\n{one.stdout}"
        outputs = [*self.outputs]
        outputs[at] = replace(one, stdout=text)
        return replace(self, outputs=tuple(outputs))

    def read(self) -> assess.Measured:
        return assess.read(self.platform, self.case, CaseResult((self.outputs,)), self.found)


def run_tools(
    bench: Bench, name: str, nodes: Sequence[str], pairing: Pairing | None = None
) -> ToolRun:
    """Runs the lab's tools for ``name`` at the lowest level that measures it.

    Reading the result must give no error.
    """
    platform = thresholds.load(bench.lab.cluster.platform, THRESHOLDS)
    platform = thresholds.with_model(platform, "some-model")
    measurement = platform.measurements[name]
    extent = measurement.extents[next(filter(measurement.made_at, LEVELS))]
    case = Case(name, tuple(nodes), pairing, extent.sizes)
    *services, client = plan.commands(case, platform, bench.lab.cluster, _PORT)
    started = [(_start(bench, command), command) for command in services]
    reporting = _start(bench, client)
    outputs = [_end(reporting, client, "client")]
    for child, command in started:
        if command.endless:
            child.terminate()
        outputs.append(_end(child, command, Role.SERVICE if command.endless else "server"))
    return ToolRun(platform, case, tuple(outputs), {node: facts(platform, node) for node in nodes})


def _start(bench: Bench, command: Command) -> subprocess.Popen[str]:
    names = [node.name for node in bench.nodes]
    child = bench.start(names.index(command.node), *command.argv, **command.environment)
    if command.listens_on is not None:
        address = bench.lab.cluster.node(command.node).data_address
        wait_for_listener(address, command.listens_on)
    return child


def _end(child: subprocess.Popen[str], command: Command, role: str) -> Transcript:
    out, err = child.communicate(timeout=20)
    return Transcript(command.node, command.argv, child.returncode, out, err, 0.1, role=role)


def facts(platform: Platform, node: str) -> NodeFacts:
    """The survey's facts of a node of this platform that tool outputs are compared with."""
    gpus = platform.gpus
    buses = gpus.bus_ids if gpus else ()
    return NodeFacts(
        node=node,
        hostname=f"{node}.cluster.example",
        product="railgauge lab node",
        gpus=tuple(
            GpuFacts(index, gpus.model, buses[index] if buses else None, None)
            for index in range(gpus.count if gpus else 0)
        ),
        numa_cpus=_numa_cpus(platform),
        nics=tuple(NicFacts(nic.name, active_mtu_bytes=4096) for nic in platform.nics),
    )


def _numa_cpus(platform: Platform) -> dict[str, str]:
    expected = platform.expected.get("numa_cpus")
    value = expected.value if expected else None
    return dict(value) if isinstance(value, Mapping) else {}
