"""The output of a command over ssh is read as it arrives, whatever paramiko signals."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from railgauge.transport.ssh import SshPipes


class ChannelOfOneSignal:
    """A channel that signals stderr alone; its stdout arrives while its stderr is being read.

    As paramiko's may: one pipe signals both, and emptying stderr takes the signal of stdout away.
    """

    def __init__(self) -> None:
        self._signal, self._signalled = os.pipe()
        os.write(self._signalled, b"*")
        self._out, self._err = b"", b"a marker"
        self.eof_received = self.closed = False

    def fileno(self) -> int:
        return self._signal

    def recv_ready(self) -> bool:
        return bool(self._out)

    def recv_stderr_ready(self) -> bool:
        return bool(self._err)

    def recv_stderr(self, _size: int) -> bytes:
        os.read(self._signal, 1)
        self._out, err, self._err = b"the first line", self._err, b""
        return err

    def recv(self, _size: int) -> bytes:
        out, self._out = self._out, b""
        return out

    def end(self) -> None:
        self.eof_received = True
        os.write(self._signalled, b"*")

    def recv_exit_status(self) -> int:
        return 0

    def close(self) -> None:
        os.close(self._signal)
        os.close(self._signalled)


def test_stdout_that_arrives_while_stderr_is_read_waits_for_no_further_output() -> None:
    channel = ChannelOfOneSignal()
    order: list[bytes] = []

    def take(name: bytes) -> Callable[[bytes], None]:
        return lambda chunk: order.append(name + b": " + chunk)

    def take_stdout(chunk: bytes) -> None:
        take(b"out")(chunk)
        channel.end()  # a node that is silent ends only after its first line was seen

    given_up = threading.Timer(10, channel.end)
    given_up.start()
    assert SshPipes(channel).drain(take_stdout, take(b"err")) == 0
    assert not given_up.finished.is_set(), "it was read only at the end of the output"
    given_up.cancel()
    assert order == [b"err: a marker", b"out: the first line"]
