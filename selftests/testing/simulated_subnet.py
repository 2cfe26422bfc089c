"""A subnet inside one machine: ibsim as its switches and adapters, OpenSM as its manager.

The real infiniband-diags ask it through a library that is loaded before theirs, which the wrappers
under ``tools`` see to: what is tested knows nothing of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testing import programs
from testing.waiting import wait_until

PROGRAMS = ("ibnetdiscover", "iblinkinfo", "ibqueryerrors", "sminfo", "perfquery", "ibportstate")
_PATH = programs.machine()
_LIBRARY = "*/umad2sim/libumad2sim.so"
_PROMPT = "sim> "  # printed after each command
_READY_S = 60.0  # a generous limit: a thousand hosts take two seconds on an idle machine
_TRIES = 5
_CRASHED = (139, -11)  # SIGSEGV, as a shell and as Python report it
# A simulator that is starved answers late: what the tools wait for an answer (-t, in ms) is longer
# than the second that they wait by themselves.
_WRAPPER = """#!/bin/sh
cd '{scratch}' || exit 126
LD_PRELOAD='{library}' timeout 60 '{program}' -t 5000 "$@"
code=$?
[ -e 'then-{name}' ] || exit $code
mv 'then-{name}' 'done-{name}'
taken() {{ grep -o 'sim> ' '{log}' | wc -l; }}
wanted=$(($(taken) + $(wc -l <'done-{name}')))
cat 'done-{name}' >'{control}'
for turn in $(seq 600); do [ "$(taken)" -lt "$wanted" ] || break; sleep 0.05; done
exit $code
"""


def lacking() -> str:
    """The programs that this machine lacks, or nothing."""
    wanted = ("ibsim", "opensm", *PROGRAMS)
    missing = [name for name in wanted if not shutil.which(name, path=_PATH)]
    return ", ".join(missing) if missing or _library() else "umad2sim's library"


def _library() -> Path | None:
    return next(Path("/usr/lib").glob(_LIBRARY), None)


def switch_guid(number: int, *, spine: bool = False) -> str:
    return f"S-{(0x200000 if spine else 0x100000) + number:016x}"


def host_guid(number: int) -> str:
    return f"H-{0x300000 + 16 * number:016x}"


def net_file(leaves: int, hosts_per_leaf: int, spines: int, slow: Mapping[str, str] = {}) -> str:
    """A leaf and spine subnet in ibnetdiscover's own format: ``leaf01``, ``spine01``, ``node0001``.

    ``slow`` gives hosts by name another speed than 4xHDR.
    """
    records = [_leaf(leaf, hosts_per_leaf, spines, slow) for leaf in range(leaves)]
    for spine in range(spines):
        rows = [
            (
                leaf + 1,
                switch_guid(leaf),
                hosts_per_leaf + 1 + spine,
                f"leaf{leaf + 1:02d}",
                "4xHDR",
            )
            for leaf in range(leaves)
        ]
        records.append(_switch(switch_guid(spine, spine=True), f"spine{spine + 1:02d}", rows))
    for host in range(leaves * hosts_per_leaf):
        leaf, port = divmod(host, hosts_per_leaf)
        guid, name = host_guid(host + 1), f"node{host + 1:04d}"
        records.append(
            f"vendid=0x2c9\ndevid=0x101b\nsysimgguid=0x{guid[2:]}\ncaguid=0x{guid[2:]}\n"
            f'Ca\t1 "{guid}"\t\t# "{name} mlx5_0"\n'
            f'[1]({int(guid[2:], 16) + 1:x})\t"{switch_guid(leaf)}"[{port + 1}]'
            f'\t\t# lid 0 lmc 0 "leaf{leaf + 1:02d}" lid 0 {slow.get(name, "4xHDR")}\n'
        )
    return "\n".join(records)


def _leaf(leaf: int, hosts: int, spines: int, slow: Mapping[str, str]) -> str:
    rows = []
    for port in range(hosts):
        number = leaf * hosts + port + 1
        name = f"node{number:04d}"
        speed = slow.get(name, "4xHDR")
        rows.append((port + 1, host_guid(number), 1, f"{name} mlx5_0", speed))
    for spine in range(spines):
        peer = switch_guid(spine, spine=True)
        rows.append((hosts + 1 + spine, peer, leaf + 1, f"spine{spine + 1:02d}", "4xHDR"))
    return _switch(switch_guid(leaf), f"leaf{leaf + 1:02d}", rows)


def _switch(guid: str, name: str, rows: list[tuple[int, str, int, str, str]]) -> str:
    lines = [
        f"vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x{guid[2:]}\nswitchguid=0x{guid[2:]}({guid[2:]})",
        f'Switch\t64 "{guid}"\t\t# "{name}" enhanced port 0 lid 0 lmc 0',
        *(f'[{p}]\t"{peer}"[{pp}]\t\t# "{at}" lid 0 {speed}' for p, peer, pp, at, speed in rows),
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Subnet:
    """A running subnet. ``tools`` is a folder with the wrapped programs."""

    folder: Path

    @property
    def tools(self) -> Path:
        return self.folder / "tools"

    def tell(self, command: str) -> None:
        """A command to the simulator (Unlink, PerformanceSet, …); returns when it is done."""
        before = self.log().count(_PROMPT)
        with (self.folder / "control").open("w", encoding="utf-8") as control:
            control.write(f"{command}\n")
        wait_until(
            lambda: self.log().count(_PROMPT) > before, _READY_S, f"ibsim to take {command!r}"
        )

    def tell_after(self, program: str, command: str) -> None:
        """The same, carried out when ``program`` is next run for the first time."""
        (self.folder / "scratch" / f"then-{program}").write_text(f"{command}\n", encoding="utf-8")

    def make_narrow(self, guid: str, port: str) -> None:
        """Give a port a single lane.

        It is done until it is so: OpenSM, at work on the ports, may write back what it has read
        before, and ``ibportstate`` does not notice.
        """

        def is_narrow() -> bool:
            self.ask("ibportstate", "-G", guid, port, "width", "1")
            message = self.ask("ibportstate", "-G", guid, port, "query")
            return re.search(r"LinkWidthActive:\.+1X", message) is not None

        wait_until(is_narrow, _READY_S, f"one lane at port {port} of {guid}")

    def ask(self, program: str, *arguments: str) -> str:
        """A tool's output; on a busy machine the simulator's library can crash the tool."""
        for _ in range(_TRIES):
            done = self._asked(program, *arguments)
            if done.returncode not in _CRASHED:
                break
        return f"{done.stdout}\n{done.stderr}"

    def _asked(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.tools / program, *arguments],
            capture_output=True,
            text=True,
            timeout=90,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def log(self) -> str:
        return (self.folder / "ibsim.log").read_text(encoding="utf-8", errors="replace")


@contextmanager
def running(folder: Path, net: str, *, managed: bool = True) -> Iterator[Subnet]:
    """A subnet from a net file; ``managed`` starts OpenSM and waits until the subnet is up."""
    for name in ("scratch", "tools", "opensm"):
        (folder / name).mkdir(parents=True)
    (folder / "net").write_text(net, encoding="utf-8")
    os.mkfifo(folder / "control")
    environment = {**os.environ, "PATH": _PATH, "IBSIM_SOCKNAME": f"railgauge-{folder}"[-60:]}
    started: list[subprocess.Popen[bytes]] = []
    # Open for reading and writing, so that the simulator never sees the end of its commands.
    holder = os.open(folder / "control", os.O_RDWR)
    try:
        started.append(_start(["ibsim", "-s", "net"], folder, "ibsim.log", environment, holder))
        _await(started[-1], folder / "ibsim.log", "simulator ready")
        _wrap(folder, environment["IBSIM_SOCKNAME"])
        if managed:
            started.append(_manager(folder, environment))
        yield Subnet(folder)
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
        os.close(holder)


def _start(
    argv: list[str], folder: Path, log: str, environment: Mapping[str, str], stdin: int
) -> subprocess.Popen[bytes]:
    with (folder / log).open("wb") as output:
        return subprocess.Popen(
            argv, cwd=folder, stdin=stdin, stdout=output, stderr=output, env=environment
        )


def _manager(folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    own = folder / "opensm"
    (own / "opensm.conf").write_text("force_log_flush TRUE\n", encoding="utf-8")
    settings = {"OSM_TMP_DIR": str(own), "OSM_CACHE_DIR": str(own), "LD_PRELOAD": str(_library())}
    argv = ["opensm", "-F", "opensm/opensm.conf", "-f", "opensm/log"]
    process = _start(argv, folder, "opensm.log", {**environment, **settings}, subprocess.DEVNULL)
    _await(process, own / "log", "SUBNET UP")
    return process


def _await(process: subprocess.Popen[bytes], log: Path, word: str) -> None:
    def has_said_it() -> bool:
        if log.exists() and word in log.read_text(encoding="utf-8", errors="replace"):
            return True
        assert process.poll() is None, f"{process.args!r} ended and did not say {word!r}"
        return False

    wait_until(has_said_it, _READY_S, f"{process.args!r} to say {word!r}")


def _wrap(folder: Path, socket: str) -> None:
    for name in PROGRAMS:
        wrapper = folder / "tools" / name
        text = _WRAPPER.format(
            name=name,
            scratch=folder / "scratch",
            library=_library(),
            program=shutil.which(name, path=_PATH),
            control=folder / "control",
            log=folder / "ibsim.log",
        )
        wrapper.write_text(text.replace("cd ", f"export IBSIM_SOCKNAME='{socket}'\ncd ", 1))
        wrapper.chmod(0o755)
