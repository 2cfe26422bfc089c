"""Fan-out: one command on many nodes over open connections, and opening those connections."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_bytes
from tempfile import TemporaryDirectory

from measuring import ROOT, Row, compare, wall_s

from railgauge.config.hostfile import load
from railgauge.core.model import Cluster, Command
from railgauge.leases.holder import Holder
from railgauge.leases.nodes import NodeLeases, Terms
from railgauge.transport.registry import connect
from railgauge.transport.sessions import Sessions
from railgauge.transport.shell import Sent, command_line
from railgauge.transport.tag import Tag
from railgauge_lab import cluster as lab

TITLE = "Fan-out"
ABOUT = """`true` on 1, 32 and 128 nodes of the lab at once: seconds of wall clock until the last
has answered, over connections that are open. Ours goes through the threads of the suite, 64 at a
time; OpenSSH's `ssh` with ControlMaster is started by `xargs -P 64`. Both go to the same servers,
one Python process on the same machine, whose work is in both sides. *Bare* is `true` and nothing
else. *With its limits* is the line, and the script as its input, that the suite sends for every
command, sent by both: `timeout`, a process group of its own, markers for its end and its exit code,
the name of the run; it starts two processes more on the node. Connecting compares with `ssh -fNM`,
the same key exchange and the same known_hosts, which has a line for each of the 128 nodes; then all
of them with files of one line (each node its own), 128 and 5,000 lines, in which those of the nodes
are spread evenly. Leases: `flock` on every node, taken, and let go of with a look for what is left
of the run; CPU seconds of the suite, of the server and of what ran on the nodes."""

NODES = (1, 32, 128)
AT_ONCE = 64
LIMITED = {1: 0.40, 32: 0.45, 128: 0.47}  # of a command with its limits
BARE = 0.5
LINES = (1, 128, 5_000)
CONNECTING = 0.6
LEASE_MS = 13.0
PER_NODE = 1.1  # no worse, apart from the noise of one turn
REPEATS = {1: 20, 32: 3, 128: 1}  # within a turn
TURNS = 5

_WHY = """of {ours:.1f} ms of CPU a node (with ssh {theirs:.1f} ms) the lab's server and what it
starts for the node take {server:.1f} ms, which both sides need on the cores of this machine"""
_LEASE = """of it the suite takes {suite:.1f} ms; {nodes:.1f} ms are the lab's server and a dozen
programs on the node (shells, timeout, mkdir, flock, grep, sleep, rm)"""
_KEX = "curve25519-sha256@libssh.org"


@dataclass(frozen=True)
class Site:
    """A lab, and OpenSSH's configuration for it: its own connections, kept open."""

    cluster: Cluster
    folder: Path

    @property
    def configuration(self) -> Path:
        return self.folder / "ssh_config"

    def configure(self) -> None:
        hosts = (
            f"Host {node.name}\nHostName {node.address}\nPort {node.ssh.port}\n"
            f"User {node.ssh.user}\nIdentityFile {node.ssh.key}\n"
            f"UserKnownHostsFile {node.ssh.known_hosts}\n"
            for node in self.cluster.nodes
        )
        every = f"Host *\nBatchMode yes\nKexAlgorithms {_KEX}\nControlPath {self.folder}/%n\n"
        self.configuration.write_text("".join([*hosts, every]), encoding="utf-8")

    def ssh(self, *arguments: str, nodes: int, script: str = "") -> None:
        """Run ``ssh`` to the first nodes, 64 at a time, each with this script as its input."""
        names = "".join(f"{node.name}\n" for node in self.cluster.nodes[:nodes])
        given = self.folder / "script"
        given.write_text(script, encoding="utf-8")
        start = ("sh", "-c", 'exec ssh "$@" <"$0"', str(given)) if script else ("ssh",)
        command = ["xargs", "-P", str(AT_ONCE), "-I{}", *start, "-F", str(self.configuration)]
        done = subprocess.run(
            [*command, *arguments],
            input=names,
            text=True,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def masters(self, nodes: int) -> None:
        self.ssh("-fNM", "{}", nodes=nodes)

    def end_masters(self, nodes: int) -> None:
        with contextlib.suppress(AssertionError):
            self.ssh("-O", "exit", "{}", nodes=nodes)

    def sessions(self) -> Sessions:
        return Sessions(self.cluster, lambda node: connect("ssh", node, Tag("bench", "main")))

    @contextlib.contextmanager
    def mastered(self) -> Iterator[None]:
        self.masters(NODES[-1])
        try:
            yield
        finally:
            self.end_masters(NODES[-1])


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder, _lab(Path(folder)) as site:
        site.configure()
        yield from _connecting(site)
        with site.mastered(), contextlib.closing(site.sessions()) as sessions:
            _at_once(lambda name: sessions[name], site, NODES[-1])
            for way in _ways(sessions):
                yield from _commands(site, *way)
        yield from _leases(site)


@contextlib.contextmanager
def _lab(folder: Path) -> Iterator[Site]:
    root = ROOT / "hostfiles"
    hostfile = root / "lab-connectx4-homelab.yaml"
    cluster = load(hostfile, schema_file=root / "schema.json", platform=None)
    with lab.start(cluster, nodes=NODES[-1], seed=0, faults=(), folder=folder / "lab") as started:
        yield Site(started.cluster, folder)


def _connecting(site: Site) -> Iterator[Row]:
    for nodes in NODES:
        yield _connected(site, nodes, Row("connecting", nodes, "nodes", 0.0, "s"))
    what = f"connecting {NODES[-1]}, lines of known_hosts"
    for lines in LINES:
        known = _known_hosts(site, lines)
        yield _connected(known, NODES[-1], Row(what, lines, "lines", 0.0, "s", target=CONNECTING))
    site.configure()


def _connected(site: Site, nodes: int, row: Row) -> Row:
    site.configure()

    def ours() -> float:
        with contextlib.closing(site.sessions()) as sessions:
            return wall_s(lambda: _at_once(lambda name: sessions[name], site, nodes))

    def theirs() -> float:
        try:
            return wall_s(lambda: site.masters(nodes))
        finally:
            site.end_masters(nodes)

    both = compare(ours, theirs, turns=TURNS)
    return replace(
        row, measured=both.measured, compared_with="`ssh -fNM`", baseline=both.baseline,
        ratio=both.ratio, why=_why(ours, theirs, nodes),
        shown=f"{both.measured / nodes * 1e3:.1f} ms a node",
    )  # fmt: skip


def _why(ours: Callable[[], object], theirs: Callable[[], object], times: int) -> str:
    """What the CPU of both sides goes to."""
    mine, others = _cost(ours), _cost(theirs)
    return _WHY.format(
        ours=mine.all_s / times * 1e3,
        theirs=others.all_s / times * 1e3,
        server=mine.server_s / times * 1e3,
    )


@dataclass(frozen=True)
class Cost:
    """CPU seconds: of this process, the clients it started, the lab's server, and the nodes."""

    suite_s: float
    clients_s: float
    server_s: float

    @property
    def all_s(self) -> float:
        return self.suite_s + self.clients_s + self.server_s


def _spent() -> tuple[float, float, float]:
    clients = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        time.process_time(), clients.ru_utime + clients.ru_stime, _tree_cpu_s(_server()),
    )  # fmt: skip


def _cost(work: Callable[[], object]) -> Cost:
    before = _spent()
    work()
    return Cost(*(after - begun for begun, after in zip(before, _spent(), strict=True)))


def _known_hosts(site: Site, lines: int) -> Site:
    """The site with known_hosts of so many lines: those of its nodes, spread among others."""
    own = Path(site.cluster.nodes[0].ssh.known_hosts or "").read_text("utf-8").splitlines()
    if lines == 1:
        texts = [f"{line}\n" for line in own]
    else:
        others = (lines - len(own)) // len(own)
        texts = ["".join(f"{line}\n" + _strangers(others, n) for n, line in enumerate(own))]
    files = [site.folder / f"known-{lines}-{n}" for n in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, "utf-8")
    nodes = tuple(
        replace(node, ssh=replace(node.ssh, known_hosts=str(files[n % len(files)])))
        for n, node in enumerate(site.cluster.nodes)
    )
    return Site(replace(site.cluster, nodes=nodes), site.folder)


def _strangers(many: int, block: int) -> str:
    kind = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
    keys = [b64encode(kind + token_bytes(32)).decode() for _ in range(many)]
    names = (f"far{block}-{n},10.{block}.0.{n}" for n in range(many))
    return "".join(f"{name} ssh-ed25519 {key}\n" for name, key in zip(names, keys, strict=True))


Act = Callable[[str], object]


def _ways(sessions: Sessions) -> Iterator[tuple[str, Act, Sent, dict[int, float]]]:
    """The command, how the suite runs it on a node, what ``ssh`` is given, and the targets."""
    true = Sent("true", "")

    def bare(name: str) -> None:
        link = sessions[name]._session._link  # the shell that a session sends its lines to
        assert link.execute(true).drain(bytes, bytes) == 0

    def limited(name: str) -> None:
        done = sessions[name].run(Command(name, ("true",)))
        assert done.exit_code == 0, done

    yield "a command, bare", bare, true, dict.fromkeys(NODES, BARE)
    sent = command_line(Command("n", ("true",)), "0" * 16, Tag("bench", "main").on("n"))
    yield "a command, with its limits", limited, sent, LIMITED


def _commands(
    site: Site, what: str, act: Act, sent: Sent, targets: dict[int, float]
) -> Iterator[Row]:
    for nodes in NODES:
        times = REPEATS[nodes]

        def ours(nodes: int = nodes, times: int = times) -> float:
            return wall_s(lambda: [_at_once(act, site, nodes) for _ in range(times)]) / times

        def theirs(nodes: int = nodes, times: int = times) -> float:
            one = partial(site.ssh, "{}", sent.line, nodes=nodes, script=sent.script)
            return wall_s(lambda: [one() for _ in range(times)]) / times

        both = compare(ours, theirs, turns=TURNS)
        yield Row(
            what, nodes, "nodes", both.measured, "s",
            compared_with="`ssh`, ControlMaster", baseline=both.baseline, ratio=both.ratio,
            target=targets[nodes], why=_why(ours, theirs, nodes * times),
            shown=f"{both.measured / nodes * 1e3:.1f} ms a node",
        )  # fmt: skip
    few, many = NODES[1:]

    def per_node(nodes: int) -> float:
        return wall_s(lambda: [_at_once(act, site, nodes) for _ in range(3)]) / 3 / nodes

    both = compare(lambda: per_node(many), lambda: per_node(few), turns=TURNS)
    yield Row(
        f"{what}: for each of {many}", many, "nodes", both.measured * 1e3, "ms",
        compared_with=f"each of {few}", baseline=both.baseline * 1e3, ratio=both.ratio,
        target=PER_NODE,
    )  # fmt: skip


def _leases(site: Site) -> Iterator[Row]:
    for nodes in NODES:
        costs = [_leased(site, nodes, f"bench-{turn}") for turn in range(3)]
        cost, wall = sorted(costs, key=lambda cost: cost[0].all_s)[1]
        yield Row(
            "leases, taken and let go", nodes, "nodes", cost.all_s / nodes * 1e3, "ms CPU a node",
            target=LEASE_MS if nodes == NODES[-1] else None,
            why=_LEASE.format(suite=cost.suite_s / nodes * 1e3, nodes=cost.server_s / nodes * 1e3),
            shown=f"{wall:.2g} s until done",
        )  # fmt: skip


def _leased(site: Site, nodes: int, run: str) -> tuple[Cost, float]:
    """The cost of all sides, and seconds of wall clock."""
    names = [node.name for node in site.cluster.nodes[:nodes]]
    with contextlib.closing(site.sessions()) as sessions:
        _at_once(lambda name: sessions[name], site, nodes)
        terms = Terms(Holder("user", "host", run, "now", run), site.cluster.rootfs)
        leases = NodeLeases(sessions, terms, _refuse)
        took: list[float] = []
        cost = _cost(lambda: took.append(wall_s(lambda: (leases.take(names), leases.release()))))
        return cost, took[0]


def _server() -> int:
    """The process id of the lab's server, the only child of this process."""
    (child,) = {int(word) for task in Path("/proc/self/task").iterdir() for word in _children(task)}
    return child


def _children(task: Path) -> list[str]:
    """The children of a thread of this process; none if it has ended since."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return (task / "children").read_text().split()
    return []


def _tree_cpu_s(server: int) -> float:
    """CPU seconds of a process and of all below it that have ended."""
    fields = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _refuse(line: str) -> None:
    raise AssertionError(line)


def _at_once(act: Act, site: Site, nodes: int) -> None:
    with ThreadPoolExecutor(min(AT_ONCE, nodes)) as pool:
        list(pool.map(act, [node.name for node in site.cluster.nodes[:nodes]]))
