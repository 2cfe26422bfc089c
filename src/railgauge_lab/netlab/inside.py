"""Process 1 of the cluster: ``python -m railgauge_lab.netlab.inside CONFIG ALIVE STATUS``.

It builds the network and the nodes, serves their SSH, runs the user's command and ends with it.
CONFIG is JSON. ALIVE is the read end of a pipe from the outer side: when the pipe is closed, the
cluster ends. STATUS is the write end of a pipe: it gets ``{}`` when the command was started, or the
reason why it was not, for example ``{"what": "pytset: No such file or directory", "remedy": …}``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railgauge.core.errors import BadInput
from railgauge_lab.netlab import files, login, network, node, sshd
from railgauge_lab.netlab.settings import LinkSettings, Settings

_END_LIMIT_S = 10.0
_SIGNALLED = 128


@dataclass(frozen=True, slots=True)
class Order:
    """What the outer side asks for: the nodes, the folder of their files, the user's command."""

    settings: Settings
    folder: Path
    command: tuple[str, ...]


def read_order(text: str) -> Order:
    """Read the JSON that ``cluster`` wrote."""
    data: dict[str, Any] = json.loads(text)
    links = {name: LinkSettings(**link) for name, link in data["links"].items()}
    settings = Settings(tuple(data["nodes"]), links, data["sshd"])
    return Order(settings, Path(data["folder"]), tuple(data["command"]))


class EndRequest:
    """Is set when the cluster must end: its pipe was closed, or Ctrl-C came before the command."""

    def __init__(self, alive: int) -> None:
        self.asked = asyncio.Event()
        loop = asyncio.get_running_loop()
        # A handler, because the command would inherit SIG_IGN, and it must react to Ctrl-C itself.
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        loop.add_signal_handler(signal.SIGTERM, self.asked.set)
        loop.add_reader(alive, self._closed, alive)
        self.has_command = False

    def _interrupted(self) -> None:
        if not self.has_command:
            self.asked.set()

    def _closed(self, alive: int) -> None:
        if not os.read(alive, 1):
            asyncio.get_running_loop().remove_reader(alive)
            self.asked.set()


async def live(order: Order, alive: int, status: int) -> int:
    """Build the cluster and run the command; return its exit code, or 2 if it was not started."""
    ending = EndRequest(alive)
    try:
        servers = await _build(order)
    except (BadInput, OSError, subprocess.SubprocessError) as error:
        _report(status, _reason(error))
        return 2
    code = await _carry_out(order, ending, status)
    del servers
    return code


async def _build(order: Order) -> Sequence[object]:
    """Build network, nodes and SSH servers; return the objects that keep the servers running."""
    settings, folder = order.settings, order.folder
    _call("mount", "-t", "tmpfs", "-o", "mode=700", "tmpfs", str(folder))
    keys = files.new_keys(settings)
    homes = files.write(settings, keys, folder)
    _call("mount", "--bind", str(folder / "hosts"), "/etc/hosts")
    _call("ip", "-b", "-", given=network.bridge())
    nodes = node.start(homes, node.kept_paths(folder))
    _connect(settings, nodes)
    if settings.sshd == "openssh":
        started = {name: sshd.start(nodes[name], keys) for name in nodes}
        for name, server in started.items():
            sshd.wait_ready(nodes[name], server)
        return list(started.values())
    return [await login.serve(one, keys) for one in nodes.values()]


def _connect(settings: Settings, nodes: Mapping[str, node.RunningNode]) -> None:
    """Connect every node to the bridge, shape its link both ways, and set up packet loss."""
    pids = {name: one.pid for name, one in nodes.items()}
    _call("ip", "-b", "-", given=network.cables(settings, pids))
    at = network.addresses(settings)
    for name, one in nodes.items():
        within = ("nsenter", "-t", str(one.pid), "--net")
        _call(*within, "ip", "-b", "-", given=network.inside(settings, at[name]))
        _call(*within, "tc", "-b", "-", given=network.shaper(network.DEVICE, settings.link(name)))
    shapers = (network.shaper(name, settings.link(name)) for name in nodes)
    _call("tc", "-b", "-", given="".join(shapers))
    if rules := network.drops(settings):
        _call("nft", "-f", "-", given=rules)


def _call(*argv: str, given: str = "") -> None:
    """Run a program with ``given`` on its standard input. Raises ``BadInput`` with its output."""
    done = subprocess.run(
        argv,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        message = " ".join(done.stdout.split())[:300]
        raise BadInput(
            f"{' '.join(argv[:4])} failed: {message}",
            remedy="check that the kernel, or the container around this, supports it",
        )


async def _carry_out(order: Order, ending: EndRequest, status: int) -> int:
    hostfile = order.folder / files.HOSTFILE
    argv = [word.replace("{hostfile}", str(hostfile)) for word in order.command]
    environment = {**os.environ, "RAILGAUGE_HOSTFILE": str(hostfile)}
    if ending.asked.is_set():
        return _SIGNALLED + signal.SIGINT
    try:
        child = await asyncio.create_subprocess_exec(*argv, env=environment)
    except OSError as error:
        remedy = "name a program that exists and can be executed"
        _report(status, {"what": f"{argv[0]}: {error.strerror}", "remedy": remedy})
        return 2
    ending.has_command = True
    _report(status, {})
    return await _until_it_ends(child, ending)


async def _until_it_ends(child: asyncio.subprocess.Process, ending: EndRequest) -> int:
    """Wait for the command, and return its exit code.

    If the cluster must end first, the command gets SIGTERM and some seconds to end.
    """
    waiting = asyncio.ensure_future(child.wait())
    asked = asyncio.ensure_future(ending.asked.wait())
    await asyncio.wait({waiting, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if not waiting.done():
        with contextlib.suppress(ProcessLookupError):
            child.terminate()
        await asyncio.wait({waiting}, timeout=_END_LIMIT_S)
    code = waiting.result() if waiting.done() else -signal.SIGKILL
    return code if code >= 0 else _SIGNALLED - code


def _reason(error: Exception) -> dict[str, str]:
    if isinstance(error, BadInput):
        return {"what": error.what, "remedy": error.remedy}
    return {"what": str(error), "remedy": ""}


def _report(status: int, answer: Mapping[str, str]) -> None:
    with os.fdopen(status, "w", encoding="utf-8") as stream:
        json.dump(answer, stream)


def main() -> None:
    """Run the cluster, then exit at once: the kernel kills all other processes with process 1."""
    order, alive, status = read_order(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for descriptor in (alive, status):
        os.set_inheritable(descriptor, False)
    code = asyncio.run(live(order, alive, status))
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
