"""Sessions that do what a test wants, and write down what was asked of them."""

from dataclasses import dataclass, field

from railgauge.core.errors import NodeUnreachable
from testing.core_values import transcript


@dataclass
class Fakes:
    """A cluster of fake sessions; what is set here happens, what happens is in ``log``."""

    log: list = field(default_factory=list)
    ready: list = field(default_factory=list)
    """Errors of the servers' ``wait_ready``, in the order of their starts; None is ready."""
    reports: list = field(default_factory=list)
    """What the clients' ``run`` gives or raises, in order; a good run once that is used up."""
    unreachable: set = field(default_factory=set)
    start_error: BaseException | None = None
    server: dict = field(default_factory=dict)
    stopped: dict = field(default_factory=lambda: {"exit_code": None})
    """What becomes of servers that are stopped."""
    silent: set = field(default_factory=set)
    """Nodes on which what is started prints nothing."""
    died: set = field(default_factory=set)
    """Nodes on which what is started ends by itself."""
    lost: set = field(default_factory=set)
    """Nodes whose connections are lost until they are opened anew."""
    running: int = 0

    def connect(self, node):
        self.log.append(("connect", node.name))
        if node.name in self.unreachable:
            raise NodeUnreachable("no route", where=node.name)
        self.lost.discard(node.name)
        return FakeSession(node.name, self)

    def done(self, what):
        return [entry for entry in self.log if entry[0] == what]


@dataclass
class FakeSession:
    node: str
    fakes: Fakes

    @property
    def lost(self):
        return "gone" if self.node in self.fakes.lost else ""

    def run(self, command, in_vain=None):
        self.fakes.log.append(("run", self.node, command.argv))
        if self.fakes.lost:
            self.fakes.log.append(("in vain", self.node, in_vain()))
        result = self.fakes.reports.pop(0) if self.fakes.reports else transcript(self.node)
        if isinstance(result, BaseException):
            raise result
        return result

    def start(self, command):
        self.fakes.log.append(("start", self.node, command.listens_on))
        if self.fakes.start_error:
            raise self.fakes.start_error
        self.fakes.running += 1
        return FakeRunning(self.node, self.fakes)

    def close(self):
        self.fakes.log.append(("close", self.node))


@dataclass
class FakeRunning:
    node: str
    fakes: Fakes
    ended: bool = False

    def wait_ready(self, time_limit_s):
        self.fakes.log.append(("wait_ready", self.node, time_limit_s))
        error = self.fakes.ready.pop(0) if self.fakes.ready else None
        if error:
            raise error

    def line(self, number, time_limit_s):
        self.fakes.log.append(("line", self.node, number))
        return None if self.node in self.fakes.silent else "0"

    def so_far(self):
        return transcript(self.node, **self.fakes.stopped)

    @property
    def printed_bytes(self):
        return len(self.so_far().stdout)

    @property
    def has_ended(self):
        return self.ended or self.node in self.fakes.died

    def wait(self, time_limit_s):
        self.fakes.log.append(("wait", self.node))
        self._end()
        return transcript(self.node, **self.fakes.server)

    def stop(self):
        self.fakes.log.append(("stop", self.node))
        self._end()
        return transcript(self.node, **self.fakes.stopped)

    def _end(self):
        self.fakes.running -= not self.ended
        self.ended = True
