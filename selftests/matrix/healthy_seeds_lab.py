"""A lab inside this process: its tools are called as functions, and nothing is on disk.

The commands are those of the suite, and the tools are the lab's own. Three parts of a lab are
replaced: the other side of a connection answers within this process, the repeats of a measurement
are counted in memory, and no traffic is counted.
"""

from __future__ import annotations

import dataclasses
import os
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from injections import NODES, ROOT, limits_of
from lab_cluster import lab_cluster

from railgauge.config import thresholds
from railgauge.config.storage import mounts
from railgauge.config.thresholds.storage import GROUP_STORAGE, with_storage
from railgauge.core.model import Case, Cluster, Command, Node, SshSettings, Transcript
from railgauge.core.question import CaseResult
from railgauge.judging import assess
from railgauge.planning import plan
from railgauge_lab import faults, platforms, sim
from railgauge_lab.sim import (
    collective,
    directions,
    hosts,
    iperf,
    main,
    perftest,
    perftest_options,
    vllm,
    wire,
)

# All of them: one that is forgotten would count in files, below the root of this machine.
_SIMULATING = [
    import_module(f"{sim.__name__}.{module.name}") for module in pkgutil.iter_modules(sim.__path__)
]
_TURNING = [module for module in _SIMULATING if hasattr(module, "turn")]
_COUNTING = ((collective, "count_traffic"), (collective, "count_ethernet"),
             (iperf, "count_ethernet"), (perftest, "count_traffic"))  # fmt: skip
_ENVIRONMENT = {"USER": "lab", "LOGNAME": "lab", "LANG": "C.UTF-8"}
_PORT = 18515
Reply = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class InProcessLab:
    """The nodes of one platform's lab, and the platform file with their limits.

    ``count`` is the number of nodes; ``injected`` holds faults in the syntax of ``--lab-fault``.
    ``noise`` is a multiple of the documents' noise; ``physics`` are names of
    ``railgauge_lab.sim.physics``; ``storage`` is that section of the hostfile.
    """

    def __init__(
        self,
        name: str,
        limits: Path = ROOT / "thresholds",
        *,
        count: int | None = None,
        injected: Sequence[str] = (),
        noise: float = 1.0,
        physics: Sequence[str] = (),
        storage: Mapping[str, Any] | None = None,
    ) -> None:
        declared = mounts(Path(name), {"storage": storage or {}}, lambda *_: 0)
        served = thresholds.with_model(limits_of(name, limits), "some-model")
        self.platform = with_storage(served, declared)
        cluster = _cluster(name, count or len(NODES[name]))
        self.cluster = dataclasses.replace(cluster, storage=declared)
        data = platforms.load(name)
        self.nodes = {
            node.name: platforms.describe(data, node.name, index, 0)
            | {"address": node.address, "root": "", "noise": noise, "physics": physics}
            for index, node in enumerate(self.cluster.nodes)
        }
        for fault in (faults.parse(text, list(self.nodes)) for text in injected):
            faults.apply(fault, self.nodes[fault.node], data)
        self._turns: Counter[tuple[str, str]] = Counter()
        self._services: list[Command] = []

    def reseed(self, seed: int) -> None:
        """Set the state of a lab that was just started with this seed."""
        self._turns.clear()
        for node in self.nodes.values():
            node["seed"] = seed

    def turn(self, node: Mapping[str, Any], key: str) -> int:
        self._turns[node["name"], key] += 1
        return self._turns[node["name"], key]

    def named(self, _node: object, host: str, _agent: str = "") -> dict[str, Any]:
        return next(n for n in self.nodes.values() if host in (n["name"], n["address"]))

    def connect(self, _host: str, _port: int, _source: str) -> RemoteEnd:
        """The server's side of the current commands."""
        nodes = [self.nodes[command.node] for command in self._services]
        argv = self._services[-1].argv
        return RemoteEnd(_REPLIES[nodes[-1]["tools"][argv[0]]](argv, nodes))

    def commands(self, case: Case) -> Sequence[Command]:
        return plan.commands(case, self.platform, self.cluster, _PORT)

    def run_tool(self, command: Command, services: Sequence[Command] = ()) -> Transcript:
        """Run the client's command while ``services`` wait for it; return its output."""
        self._services = list(services)
        node, (program, *words) = self.nodes[command.node], _program(command)
        stdout, stderr = StringIO(), StringIO()
        environment = _ENVIRONMENT | dict(command.environment)
        with (
            patch.dict(os.environ, environment),
            redirect_stdout(stdout),
            redirect_stderr(stderr),
        ):
            code = main.module(node["tools"][program]).run(program, words, node)
        return Transcript(
            command.node, command.argv, code, stdout.getvalue(), stderr.getvalue(), 0.0
        )

    def measured(self, case: Case) -> assess.Measured:
        """Measure and read the case as the suite does."""
        *services, client = self.commands(case)
        if case.measurement == GROUP_STORAGE:
            together = tuple(self._together((*services, client)) for _ in range(case.repeats))
            return assess.read(self.platform, case, CaseResult(together))
        runs = tuple((self.run_tool(client, services),) for _ in range(case.repeats))
        return assess.read(self.platform, case, CaseResult(runs))

    def _together(self, commands: Sequence[Command]) -> tuple[Transcript, ...]:
        """All nodes at once on a shared mount, which is a folder of this machine."""
        printed = dict.fromkeys((one.node for one in commands), "")
        with TemporaryDirectory(prefix="shared-") as folder:
            for phase in zip(*(one.argv[_BEFORE_PHASES:] for one in commands), strict=True):
                for command, text in zip(commands, phase, strict=True):
                    name, *words = text.split("\n")
                    argv = ("fio", *(_in_folder(word, folder) for word in words))
                    reported = self.run_tool(dataclasses.replace(command, argv=argv)).stdout
                    if name != "fill":
                        printed[command.node] += f"railgauge storage phase {name}\n{reported}"
        return tuple(
            Transcript(one.node, one.argv, 0, printed[one.node], "", 0.0) for one in commands
        )


_DIRECTORY = "--directory="
# sh, -c, the script and its name; then the folders, the space that is needed, and fio.
_BEFORE_FIO = 6
# The same, then the folder, what the nodes need to wait for each other, and fio.
_BEFORE_PHASES = 11


def _program(command: Command) -> Sequence[str]:
    """The program that a command starts: fio, where it is a script that starts fio."""
    return command.argv[_BEFORE_FIO:] if command.argv[0] == "sh" else command.argv


def _in_folder(word: str, folder: str) -> str:
    if not word.startswith(_DIRECTORY):
        return word
    path = Path(folder, Path(word).name)
    path.mkdir(exist_ok=True)
    return f"{_DIRECTORY}{path}"


@contextmanager
def using_lab(lab: InProcessLab) -> Iterator[None]:
    """Make the lab's tools use this lab instead of files and connections."""
    with ExitStack() as stack:
        for module in _TURNING:
            stack.enter_context(patch.object(module, "turn", lab.turn))
        for module, name in _COUNTING:
            stack.enter_context(patch.object(module, name, _count_nothing))
        stack.enter_context(patch.object(wire, "connect", lab.connect))
        stack.enter_context(patch.object(hosts, "named", lab.named))
        stack.enter_context(patch.dict(os.environ, _ENVIRONMENT, clear=True))
        yield


def _count_nothing(*_: object, **__: object) -> None:
    """Replaces the counters of a NIC."""


def _cluster(name: str, count: int) -> Cluster:
    """The cluster of the lab's hostfile with this number of nodes, as it is reached."""
    cluster = lab_cluster(name, count)
    nodes = tuple(
        Node(node.name, f"127.0.1.{i}", f"127.0.1.{i}", SshSettings(user="lab"))
        for i, node in enumerate(cluster.nodes, 1)
    )
    return dataclasses.replace(cluster, transport="ssh", nodes=nodes)


@dataclass
class RemoteEnd:
    """A connection whose far end answers the first message and ignores later ones."""

    reply: Reply
    _requests: list[Mapping[str, Any]] = field(default_factory=list)

    def send(self, message: Mapping[str, Any]) -> None:
        self._requests.append(message)

    def receive(self) -> Mapping[str, Any]:
        return self.reply(self._requests[0])


def perftest_side(
    argv: Sequence[str], node: dict[str, Any], sizes: Sequence[int], other: str
) -> Any:
    """The test of a command line, and what its side reaches at these sizes.

    ``other`` is the device of the other side.
    """
    test = perftest_options.read_options(argv[0], list(argv[1:]), node)
    perftest._take_gpu_memory(test, node, [])
    return test, perftest._side(test, node, sizes or test["sizes"], other)


def _perftest(argv: Sequence[str], nodes: list[dict[str, Any]]) -> Reply:
    return lambda request: perftest_side(argv, nodes[-1], request["sizes"], request["device"])[1]


def _iperf(argv: Sequence[str], nodes: list[dict[str, Any]]) -> Reply:
    node = nodes[-1]
    options, _ = iperf.parse(list(argv[1:]), iperf._SHORT, iperf._LONG, iperf._VALUED)
    known = {"name": node["name"], "slow_paths": node["slow_paths"]}
    device = iperf._device(options, node)

    def reply(request: dict[str, Any]) -> dict[str, Any]:
        way = directions.SENDS if request["reverse"] else directions.RECEIVES
        return known | {"gbps": iperf._able(node, device, request["streams"], way)}

    return reply


def _vllm(argv: Sequence[str], nodes: list[dict[str, Any]]) -> Reply:
    """The last node is the master, which is started after its workers."""
    *workers, master = nodes
    model = vllm._options(list(argv[2:]))["model"]
    able = vllm._able([master, *workers])
    return lambda _request: able | {"model": model, "nodes": len(nodes)}


_REPLIES = {"perftest": _perftest, "iperf": _iperf, "vllm": _vllm}
