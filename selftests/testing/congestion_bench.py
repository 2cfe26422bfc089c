"""One measurement of congestion on a lab, as its two commands print it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, replace

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.model import Case
from railgauge.core.terms import Role
from railgauge.planning import plan
from railgauge.tools.congestion import output_checks, parse
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest
from testing.core_values import ROOT
from testing.free_ports import free_port
from testing.lab_bench import Bench, wait_for_listener

H200 = thresholds.load("h200", ROOT / "thresholds")
NAME = "group_congestion"
Argv = tuple[str, ...]


@dataclass(frozen=True)
class Printed:
    """What client and server printed, and the client's exit code."""

    case: Case
    client: str
    server: str
    code: int = 0
    platform: Platform = H200

    def changed(self, client: str) -> Printed:
        assert client != self.client, "the change changes nothing"
        return replace(self, client=client)

    @property
    def figures(self) -> dict[str, float]:
        return {one.metric: one.value for one in parse(self.client).samples}

    @property
    def errors(self) -> set[str]:
        return {str(one.kind) for one in parse(self.client).errors}

    @property
    def denied(self) -> list[OutputCheck]:
        """The output_checks that do not agree."""
        texts = (self.client, Role.CLIENT), (self.server, Role.SERVER)
        ends = zip(self.case.nodes, texts, strict=False)
        sides = tuple(SideOutput(node, role, parse(text)) for node, (text, role) in ends)
        asked = ToolRequest(self.case, self.platform.measurements[NAME], self.platform)
        return [one for one in output_checks(asked, sides) if not one.agrees]


def measured(bench: Bench, change: Callable[[Argv], Argv] = lambda argv: argv) -> Printed:
    """Run both commands on the nodes of a lab; ``change`` changes that of the client."""
    names = [node.name for node in bench.nodes]
    case = plan.case_on(H200.measurements[NAME], "signoff", tuple(names), None)
    port = free_port()
    server, client = plan.commands(case, H200, bench.lab.cluster, port)
    at, there = names.index(server.node), bench.lab.cluster.node(server.node).data_address
    listening = bench.start(at, *server.argv, **server.environment)
    try:
        wait_for_listener(there, port)
        ran = bench.run(names.index(client.node), *change(client.argv), **client.environment)
        if ran.returncode:  # the next server waits for a client
            wait_for_listener(there, port)
            socket.create_connection((there, port)).close()
        out, _ = listening.communicate(timeout=20)
    finally:
        listening.kill()
    return Printed(case, ran.stdout, out, ran.returncode)
