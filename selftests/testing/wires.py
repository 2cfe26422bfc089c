"""The management network between a run and the nodes of a standing lab, which can be cut."""

from __future__ import annotations

import selectors
import shlex
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from testing.acceptance import Project
from testing.standing_lab import StandingLab

_AT_ONCE_BYTES = 1 << 16
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset
_LOOK_S = 0.05


@dataclass
class Wire:
    """A port of this machine that leads to a node's ssh port until it is cut.

    ``hold`` keeps what is sent until ``release``, as a network does that is away for a moment.
    ``cut`` ends all connections and refuses new ones until ``mend``.
    """

    target: tuple[str, int]
    port: int = 0
    connections: int = 0
    _listener: socket.socket | None = None
    _ends: dict[socket.socket, socket.socket] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: bool = False
    _over: bool = False

    def open(self) -> None:
        self.mend()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self.cut()
        self._over = True

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        self._held = False

    def cut(self) -> None:
        with self._lock:
            if self._listener:
                self._listener.close()
                self._listener = None
            for end in self._ends:
                with suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                end.close()
            self._ends.clear()

    def mend(self) -> None:
        with self._lock:
            listener = socket.create_server(("127.0.0.1", self.port), reuse_port=True)
            self.port = listener.getsockname()[1]
            self._listener = listener

    def _serve(self) -> None:
        while not self._over:
            with self._lock, selectors.DefaultSelector() as selector:
                for one in (self._listener, *self._ends):
                    if one is not None:
                        selector.register(one, selectors.EVENT_READ)
                ready = [] if self._held else selector.select(_LOOK_S)
                for key, _ in ready:
                    self._pass_on(key.fileobj)
            if self._held or not ready:
                threading.Event().wait(_LOOK_S / 10)  # let the others have the lock

    def _pass_on(self, one: object) -> None:
        assert isinstance(one, socket.socket)
        if one is self._listener:
            near, _ = one.accept()
            far = socket.create_connection(self.target)
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._ends |= {near: far, far: near}
            self.connections += 1
            return
        if (other := self._ends.get(one)) is None:
            return
        try:
            data = one.recv(_AT_ONCE_BYTES)
            other.sendall(data)
        except OSError:
            data = b""
        if not data:
            for end in (one, other):
                self._ends.pop(end, None)
                end.close()


@contextmanager
def wired(lab: StandingLab) -> Iterator[dict[str, Wire]]:
    """A wire to each node of a lab."""
    wires = {}
    for node, login in lab.logins.items():
        words = shlex.split(login)
        address = words[-1].rpartition("@")[2]
        wires[node] = Wire((address, int(words[words.index("-p") + 1])))
    try:
        for wire in wires.values():
            wire.open()
        yield wires
    finally:
        for wire in wires.values():
            wire.close()


def hostfile_over(
    lab: StandingLab, wires: dict[str, Wire], project: Project, patience_s: float
) -> tuple[str, str]:
    """Write a hostfile that reaches the lab over the wires; returns the options that name it."""
    nodes, known = "", ""
    for node, login in lab.logins.items():
        words, wire = shlex.split(login), wires[node]
        (trusted,) = (word.partition("=")[2] for word in words if "UserKnownHostsFile=" in word)
        user, _, address = words[-1].rpartition("@")
        name = f"[{address}]:{wire.target[1]} "
        lines = Path(trusted).read_text(encoding="utf-8").splitlines()
        known += "".join(
            f"[127.0.0.1]:{wire.port} {line.removeprefix(name)}\n"
            for line in lines
            if line.startswith(name)
        )
        nodes += (
            f"  - name: {node}\n    address: 127.0.0.1\n    data_address: {address}\n    ssh: {{"
            f"port: {wire.port}, user: {user}, key: {words[words.index('-i') + 1]}, agent: false, "
            f"known_hosts: known_hosts, patience_s: {patience_s}}}\n"
        )
    project.write("known_hosts", known)
    text = f"cluster: wired\nplatform: {lab.platform}\ntransport: ssh\nrootfs: root\nnodes:\n"
    return ("--hostfile", project.write("wired.yaml", text + nodes).name)
