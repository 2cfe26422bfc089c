"""Leases on many nodes: all or none, waiting, and lost holders."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import pytest
from testing.core_values import cluster, transcript
from testing.waiting import pass_time, stays, wait_until

from railgauge.core.errors import CommandTimedOut, ConnectionLost, NodeUnreachable, ToolFailed
from railgauge.leases import nodes as nodelease
from railgauge.leases.holder import Holder
from railgauge.leases.nodes import NodeLeases, NodeTaken, Terms
from railgauge.transport.sessions import Sessions

NAMES = tuple(f"n{n:02d}" for n in range(1, 7))
STRANGER = 'taken {"user": "eve", "host": "ctl9", "run": "r9", "since": "noon", "tag": "t9"}'


@dataclass
class Site:
    """Nodes that several runs want, and the requests that they received."""

    holders: dict = field(default_factory=dict)
    says: dict = field(default_factory=dict)
    """What a node answers in place of what is true; an exception is raised."""
    dead: set = field(default_factory=set)
    log: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    freed: threading.Condition = field(default_factory=threading.Condition)

    def leases(self, run, nodes=NAMES, lines=None):
        sessions = Sessions(cluster(*nodes), lambda node: Channel(self, node.name, run))
        holder = Holder("user", "host", "report", "now", run)
        return NodeLeases(sessions, Terms(holder), (lines if lines is not None else []).append)

    def held_by(self, run):
        return sorted(node for node, holder in self.holders.items() if holder == run)

    def free(self, node):
        with self.lock:
            del self.holders[node]


@dataclass
class Channel:
    site: Site
    node: str
    run_id: str

    def __post_init__(self):
        self.site.log.append(("connect", self.node))
        if self.node in self.site.dead:
            raise NodeUnreachable("no route", where=self.node)

    def start(self, command):
        with self.site.lock:
            reply = self.site.says.get(self.node)
            if reply is None:
                holder = self.site.holders.setdefault(self.node, self.run_id)
                reply = "held" if holder == self.run_id else STRANGER.replace("r9", holder)
            self.site.log.append((reply.split()[0] if isinstance(reply, str) else "?", self.node))
        return Script(self, reply)

    lost = ""

    def run(self, command, in_vain=None):
        begins = command.argv[4]
        self.site.log.append(("sweep", begins))
        if begins == f"{self.run_id}/{self.node}/":
            with self.site.lock:
                self.site.holders.pop(self.node, None)
        return transcript(self.node)

    def close(self):
        self.site.log.append(("close", self.node))


@dataclass
class Script:
    channel: Channel
    reply: object
    has_ended: bool = False

    def first_line(self, time_limit_s):
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def wait(self, time_limit_s):
        self.has_ended = True

    def stop(self):
        self.has_ended = True
        with self.channel.site.lock:
            self.channel.site.holders.pop(self.channel.node)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(nodelease, "_POLL_S", 0.01)
    monkeypatch.setattr(nodelease, "_GRACE_S", 0.2)


@pytest.fixture
def site():
    return Site()


def test_all_nodes_are_held_over_one_connection_each(site):
    leases = site.leases("r1")
    leases.take(reversed(NAMES))
    assert site.held_by("r1") == list(NAMES)
    assert sorted(site.log) == sorted([(w, n) for n in NAMES for w in ("connect", "held")])
    leases.release()
    assert site.holders == {}
    assert sorted(node for what, node in site.log if what == "close") == list(NAMES)


def test_a_taken_node_is_named_and_none_is_kept(site):
    site.holders = {"n03": "r8", "n05": "r9"}
    with pytest.raises(NodeTaken) as caught:
        site.leases("r1").take(NAMES)
    assert str(caught.value) == (
        "n03: held by eve on ctl9 since noon (run r8); 1 more of the nodes are taken; "
        "wait for it: --wait SECONDS"
    )
    assert site.held_by("r1") == []
    assert site.holders == {"n03": "r8", "n05": "r9"}


def test_a_run_that_waits_takes_a_freed_node_and_names_the_holder(site):
    site.holders = {"n02": "r8", "n05": "r9"}
    lines = []
    leases = site.leases("r1", lines=lines)
    timers = [threading.Timer(0.2, site.free, ("n02",)), threading.Timer(0.5, site.free, ("n05",))]
    for timer in timers:
        timer.start()
    leases.take(NAMES, 30.0)
    assert site.held_by("r1") == list(NAMES)
    assert lines[0] == (
        "lease: waiting up to 30 s for n02, held by eve on ctl9 since noon (run r8); "
        "n05, held by eve on ctl9 since noon (run r9)"
    )
    assert lines[1:] == [
        "lease: waiting up to 30 s for n05, held by eve on ctl9 since noon (run r9)"
    ]


def test_no_node_after_an_awaited_one_is_held(site):
    """Otherwise two waiting runs could each hold what the other wants."""
    site.holders = {"n03": "r9"}
    lines = []
    leases = site.leases("r1", lines=lines)
    waiting = threading.Thread(target=leases.take, args=(NAMES, 30.0))
    waiting.start()
    # All nodes are asked at once; it says so when what it got behind the third is free again.
    wait_until(lambda: lines, 10, "the run to say what it waits for")
    stays(lambda: site.held_by("r1") == ["n01", "n02"], 0.2, "the third is awaited")
    site.free("n03")
    waiting.join(10)
    assert site.held_by("r1") == list(NAMES)


def test_a_wait_for_a_node_has_an_end(site):
    site.holders = {"n03": "r9"}
    started = time.monotonic()
    with pytest.raises(NodeTaken, match=r"n03: held by .* after 0.5 s; wait longer"):
        site.leases("r1").take(NAMES, 0.5)
    assert 0.5 <= time.monotonic() - started < 10
    assert site.held_by("r1") == []


@pytest.mark.parametrize("wait_s", [0.0, 30.0])
def test_runs_that_overlap_never_wait_for_each_other(site, wait_s):
    """With --wait every run gets its turn; without it at least one does."""
    wanted = [NAMES, NAMES[::-1], NAMES[2:5], NAMES[3:] + NAMES[:1]]
    got, refused = [], []

    def work(number, nodes):
        leases = site.leases(f"r{number}", nodes)
        try:
            leases.take(nodes, wait_s)
        except NodeTaken:
            refused.append(number)
        else:
            assert set(site.held_by(f"r{number}")) == set(nodes)
            got.append(number)
            pass_time(0.02 if wait_s else 0.5, "the others ask while this one holds them")
            leases.release()

    threads = [threading.Thread(target=work, args=one) for one in enumerate(wanted)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(got + refused) == [0, 1, 2, 3]
    assert got if not wait_s else sorted(got) == [0, 1, 2, 3]
    assert site.holders == {}


def test_a_dead_node_is_left_to_the_survey(site):
    site.dead = {"n02", "n04"}
    lines = []
    leases = site.leases("r1", lines=lines)
    leases.take(NAMES)
    assert site.held_by("r1") == ["n01", "n03", "n05", "n06"]
    assert lines == []
    leases.release()
    assert site.log.count(("connect", "n02")) == 1


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("cannot no flock", "no flock"),
        (ToolFailed("sh ended with 127"), "sh ended with 127"),
        (CommandTimedOut("no line within 30 s"), "no line within 30 s"),
    ],
    ids=["no-flock", "no-shell", "hangs"],
)
def test_a_node_without_a_lease_is_reported_once(site, reply, why):
    site.says = {"n04": reply}
    site.holders = {"n01": "r9"}
    lines = []
    leases = site.leases("r1", lines=lines)
    threading.Timer(0.2, site.free, ("n01",)).start()
    leases.take(NAMES, 30.0)
    line = f"lease: n04: cannot be leased, so other runs may use it: {why}"
    assert [entry for entry in lines if "n04" in entry] == [line]
    assert len(site.held_by("r1")) == len(NAMES) - 1
    leases.release()
    assert ("sweep", "r1/n04/") in site.log


def test_a_connection_that_breaks_is_left_to_the_survey(site):
    site.says = {"n04": ConnectionLost("gone")}
    lines = []
    site.leases("r1", lines=lines).take(NAMES)
    assert lines == []


# --- while it runs ---


def test_a_lost_lease_is_taken_again(site):
    lines = []
    leases = site.leases("r1", lines=lines)
    leases.take(NAMES)
    leases.renew()
    assert lines == []
    leases._held["n03"].wait(0)
    leases.renew()
    assert lines == ["lease: n03: the connection was lost; taking the lease again"]
    assert ("sweep", "r1/n03/lease/") in site.log
    assert site.log.count(("held", "n03")) == 2
    leases.renew()
    assert len(lines) == 1


def test_a_lost_lease_that_another_has_ends_the_run(site):
    leases = site.leases("r1")
    leases.take(NAMES)
    leases._held["n03"].wait(0)
    site.holders["n03"] = "r9"
    with pytest.raises(NodeTaken, match=r"n03: held by eve.*run r9"):
        leases.renew()


def test_many_nodes_are_asked_at_once(site):
    names = tuple(f"m{n:04d}" for n in range(1250))
    leases = site.leases("r1", names)
    started = time.monotonic()
    leases.take(names)
    leases.release()
    assert time.monotonic() - started < 20
    assert sum(what == "held" for what, _ in site.log) == len(names)


def test_a_node_that_this_very_run_holds_has_two_names(site):
    """No run is waited for, and no other owner is blamed."""
    reply = '{"user": "user", "host": "host", "run": "report", "since": "now", "tag": "mine"}'
    site.says = {"n03": f"taken {reply}"}
    with pytest.raises(NodeTaken, match="n03: this run already holds this machine") as caught:
        site.leases("mine").take(NAMES, wait_s=60.0)
    assert "held by" not in str(caught.value)
    assert "hostfile" in str(caught.value)
    assert site.held_by("mine") == []


def test_a_run_of_the_same_name_in_the_same_second_is_distinguished(site):
    """Only its tag distinguishes it, so it is waited for."""
    reply = '{"user": "user", "host": "host", "run": "report", "since": "now", "tag": "theirs"}'
    site.says = {"n03": f"taken {reply}"}
    with pytest.raises(NodeTaken, match="n03: held by user on host since now") as caught:
        site.leases("mine").take(NAMES)
    assert not isinstance(caught.value, nodelease.NamedTwice)
