"""Process 1 of the cluster: ``python -m railgauge.netlab.inside CONFIG TIE TOLD``.

Builds the network and the nodes, serves their SSH, runs the user's command and ends with it. TIE is
the reading end of a pipe: when it ends, so does everything here. On TOLD it says in JSON that the
command was started, or why it was not.
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
from railgauge.netlab import files, login, network, node, sshd
from railgauge.netlab.settings import LinkSettings, Settings

_END_LIMIT_S = 10.0
_SIGNALLED = 128


@dataclass(frozen=True, slots=True)
class Order:
    """What the outer side wants."""

    settings: Settings
    folder: Path
    command: tuple[str, ...]


def read_order(text: str) -> Order:
    """The order that ``cluster`` wrote."""
    data: dict[str, Any] = json.loads(text)
    links = {name: LinkSettings(**link) for name, link in data["links"].items()}
    settings = Settings(tuple(data["nodes"]), links, data["sshd"])
    return Order(settings, Path(data["folder"]), tuple(data["command"]))


class EndRequest:
    """Why the command should end: the tie was cut, or Ctrl-C came before it was started."""

    def __init__(self, tie: int) -> None:
        self.asked = asyncio.Event()
        loop = asyncio.get_running_loop()
        # A handler, not SIG_IGN, which the command would inherit: Ctrl-C is the command's own.
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        loop.add_signal_handler(signal.SIGTERM, self.asked.set)
        loop.add_reader(tie, self._cut, tie)
        self.has_command = False

    def _interrupted(self) -> None:
        if not self.has_command:
            self.asked.set()

    def _cut(self, tie: int) -> None:
        if not os.read(tie, 1):
            asyncio.get_running_loop().remove_reader(tie)
            self.asked.set()


async def live(order: Order, tie: int, told: int) -> int:
    """The whole life of the cluster; the exit code of the command."""
    ending = EndRequest(tie)
    try:
        servers = await _build(order)
    except (BadInput, OSError, subprocess.SubprocessError) as error:
        _tell(told, _reason(error))
        return 2
    code = await _carry_out(order, ending, told)
    del servers
    return code


async def _build(order: Order) -> Sequence[object]:
    """Network, nodes and servers; what must be kept while they are used."""
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
    """Plug in every node, shape its link both ways, and let get lost what is to get lost."""
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
    """Raises ``BadInput`` with what the program said."""
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
        said = " ".join(done.stdout.split())[:300]
        raise BadInput(f"{' '.join(argv[:4])} failed: {said}", remedy="see what the kernel lacks")


async def _carry_out(order: Order, ending: EndRequest, told: int) -> int:
    hostfile = order.folder / files.HOSTFILE
    argv = [word.replace("{hostfile}", str(hostfile)) for word in order.command]
    environment = {**os.environ, "RAILGAUGE_HOSTFILE": str(hostfile)}
    if ending.asked.is_set():
        return _SIGNALLED + signal.SIGINT
    try:
        child = await asyncio.create_subprocess_exec(*argv, env=environment)
    except OSError as error:
        _tell(told, {"what": f"{argv[0]}: {error.strerror}", "remedy": "name a program to run"})
        return 2
    ending.has_command = True
    _tell(told, {})
    return await _until_it_ends(child, ending)


async def _until_it_ends(child: asyncio.subprocess.Process, ending: EndRequest) -> int:
    """Wait for the command; if the cluster has to end before, the command gets a moment."""
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


def _tell(told: int, answer: Mapping[str, str]) -> None:
    with os.fdopen(told, "w", encoding="utf-8") as stream:
        json.dump(answer, stream)


def main() -> None:
    """Live, then leave at once: process 1 takes all others with it."""
    order, tie, told = read_order(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for descriptor in (tie, told):
        os.set_inheritable(descriptor, False)
    code = asyncio.run(live(order, tie, told))
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
