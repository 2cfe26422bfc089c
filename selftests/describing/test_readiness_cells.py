"""Each check of ``railgauge check``: green on a good node, red on one that lacks what it shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.asked_nodes import GPU, PORT, cell, facts, lacking, met, place, seen, self_report, site

from railgauge.core.errors import (
    AuthenticationFailed,
    CommandTimedOut,
    HostKeyBeyond,
    HostKeyRejected,
    LoginBeyond,
    NoCommonAlgorithm,
    OnlyBySsh,
    SetupFailed,
)
from railgauge.core.model import Node, SshSettings
from railgauge.describing import names
from railgauge.describing.readiness.model import CellState, HostfileLine, NodeDisk, ProgramPlace
from railgauge.describing.readiness.table import CHECKS, cells, is_ready
from railgauge.facts.model import NicFacts
from railgauge.leases.holder import Holder, Taken, Unleasable
from railgauge.transport import Entry

ADD = "echo 'n01 ssh-ed25519 AAAA' >> ~/.ssh/known_hosts"
MINE = HostfileLine(("setup",), ["export PATH=/opt/x/bin:$PATH"])


def test_a_good_node_is_green_in_each_check() -> None:
    found = cells(site())
    assert {name: row.keys() for name, row in found.items()} == {
        name: {check.name for check in CHECKS} for name in ("n01", "n02", "n03")
    }
    assert {cell.state for row in found.values() for cell in row.values()} == {CellState.OK}
    assert is_ready(found)


# --- login ---


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (HostKeyRejected("the host key is not known", remedy=ADD), ADD),
        (AuthenticationFailed("root cannot log in", remedy="add the public key"), "add the public"),
        (CommandTimedOut("did not answer within 34 s"), "power, network and login"),
    ],
)
def test_a_node_that_is_not_reached_has_one_cell(error: Exception, remedy: str) -> None:
    row = cells(site(refusal=error, self_report=None))["n01"]
    assert list(row) == ["reach"]
    assert row["reach"].state is CellState.MEND
    assert remedy in row["reach"].remedy


@pytest.mark.parametrize("kind", [HostKeyBeyond, LoginBeyond, NoCommonAlgorithm])
def test_a_login_that_only_the_systems_ssh_can_do_is_left_to_it(kind: type[OnlyBySsh]) -> None:
    node = Node("n01", "n01", "n01", SshSettings(user="root", port=2222, config="/x/config"))
    found = cell("reach", node=node, refusal=kind("refused"), self_report=None)
    transport, run = found.lines
    assert transport == HostfileLine(("transport",), "exec")
    assert run.value[0] == "ssh"
    assert run.value[-2:] == ["{address}", "{line}"]
    assert run.value[-6:-2] == ["-F", "/x/config", "-oUser=root", "-oPort=2222"]


def test_output_at_the_start_of_a_login_is_noted_and_cannot_control_a_terminal() -> None:
    found = cell("shell", entry=Entry("way", "\x1b[2JHi \n" + "x" * 400))
    assert found.state is CellState.NOTE
    assert "\x1b" not in found.found
    assert len(found.found) < 200


def test_a_line_of_setup_that_fails_is_red_and_the_rest_is_asked_without_it() -> None:
    error = SetupFailed("setup: line 1 ended with 1: 'module load x'", remedy="correct setup")
    found = cells(site(setup_failed=error))["n01"]
    assert found["shell"].state is CellState.MEND
    assert "line 1" in found["shell"].found
    assert found["gpus"].state is CellState.OK


def test_setup_needs_bash() -> None:
    node = Node("n01", "n01", "n01", setup=("true",))
    of = site(node=node, self_report=self_report(has_bash=False))
    of = replace(of, cluster=replace(of.cluster, nodes=(node,)))
    assert "no bash" in cell("shell", of).found


@pytest.mark.parametrize(
    ("printed", "become", "state", "lines"),
    [
        ("root", "", CellState.OK, ()),
        ("works sudo -n", "sudo -n", CellState.OK, ()),
        ("works sudo -n", "", CellState.MEND, (HostfileLine(("become",), "sudo -n"),)),
        ("works rm -rf", "", CellState.MEND, ()),  # no text of a node becomes a line
        ("refused sudo -n: a password is required", "", CellState.MEND, ()),
        ("refused sudo -n: a password is required", "sudo -n", CellState.MEND, ()),
        ("none", "", CellState.MEND, ()),
        ("", "", CellState.UNKNOWN, ()),
    ],
)
def test_the_cell_of_root_names_the_way_to_root(
    printed: str, become: str, state: CellState, lines: tuple[HostfileLine, ...]
) -> None:
    node = Node("n01", "n01", "n01", become=tuple(become.split()))
    found = cell("root", node=node, self_report=self_report(root=printed, user="ana"))
    assert (found.state, found.lines) == (state, lines)
    if state is CellState.MEND and not lines and "rm" not in printed:
        assert "ana ALL=(root) NOPASSWD: ALL" in found.remedy


def test_a_held_node_names_its_holder() -> None:
    holder = Holder("ana", "login1", "r42", "2026-03-01", "t")
    found = cell("lease", lease=Taken(holder))
    assert found.state is CellState.MEND
    assert "ana on login1" in found.found
    assert "--wait" in found.remedy
    assert cell("lease", lease=Unleasable("none of flock")).state is CellState.MEND
    assert cell("lease", lease=None).state is CellState.UNKNOWN
    assert cell("lease", replace(site(lease=None), allots_nodes=True)).state is CellState.OK


# --- programs and devices ---


def test_a_program_that_is_elsewhere_comes_with_the_setup_that_finds_it() -> None:
    absent = self_report(
        programs=lacking("mpirun", "nvbandwidth"), places=(place("mpirun", "/opt/x/bin"),)
    )
    found = cell("tools", self_report=absent)
    assert found.state is CellState.MEND
    assert "mpirun (in /opt/x/bin/mpirun)" in found.found
    assert found.lines == (MINE,)
    assert "install nvbandwidth" in found.remedy


def test_the_fewest_lines_find_the_most_programs() -> None:
    load = ("source /etc/profile.d/modules.sh", "module load hpcx")
    places = (
        place("mpirun", "/opt/x/bin"),
        *(ProgramPlace(name, f"/opt/hpcx/{name}", load) for name in ("mpirun", "all_reduce_perf")),
    )
    absent = self_report(programs=lacking("mpirun", "all_reduce_perf"), places=places)
    of = site(self_report=absent)
    (line,) = cell("tools", of).lines
    # The other nodes have no such module: the lines must not end their commands.
    assert line.value == [
        "test ! -e /etc/profile.d/modules.sh || source /etc/profile.d/modules.sh",
        "module load hpcx || true",
    ]
    everywhere = {name: seen(name, self_report=absent) for name in of.seen}
    (line,) = cell("tools", replace(of, seen=everywhere)).lines
    assert line.value == list(load)


def test_a_platform_file_decides_which_programs_are_needed() -> None:
    only = self_report(
        programs={"iperf3": "/usr/bin/iperf3", "nvidia-smi": "x", "ibv_devinfo": "x"}
    )
    assert cell("tools", site(planned=("iperf3",), self_report=only)).state is CellState.OK
    assert "mpirun" in cell("tools", site(planned=("iperf3", "mpirun"), self_report=only)).found


def test_programs_of_a_cut_answer_are_not_known() -> None:
    cut = self_report(programs={}, cut="command-timed-out")
    assert cell("tools", self_report=cut).state is CellState.UNKNOWN


def test_gpus_on_the_bus_that_no_tool_lists_are_red() -> None:
    none = facts("n01", gpus=(), missing={"gpus": "nvidia-smi: command not found (exit 127)"})
    absent = self_report(programs=lacking("nvidia-smi"), bus=(GPU,) * 8)
    found = cell("gpus", self_report=absent, facts=none)
    assert found.state is CellState.MEND
    assert "8 GPUs of nvidia on the PCI bus" in found.found
    assert "install the driver's tools" in found.remedy
    elsewhere = replace(absent, places=(place("nvidia-smi", "/opt/x/bin"),))
    assert cell("gpus", self_report=elsewhere, facts=none).lines == (MINE,)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bus": (GPU, GPU)}, "it lists 1"),
        ({"hidden": "CUDA_VISIBLE_DEVICES=0 hides 7 of 8 GPUs from every program"}, "hides 7 of 8"),
    ],
)
def test_fewer_gpus_than_on_the_bus_are_red(changes: dict[str, object], words: str) -> None:
    hidden = {"gpus.#": str(changes["hidden"])} if "hidden" in changes else {}
    found = cell(
        "gpus",
        self_report=self_report(bus=changes.get("bus", (GPU,))),
        facts=facts("n01", missing=hidden),
    )
    assert found.state is CellState.MEND
    assert words in found.found
    assert found.remedy


def test_a_node_without_gpus_is_green_and_one_without_facts_is_not_known() -> None:
    bare = self_report(bus=(), programs=lacking("nvidia-smi"))
    assert cell("gpus", self_report=bare, facts=facts("n01", gpus=())).state is CellState.OK
    late = cell("gpus", facts=CommandTimedOut("the probe ended"))
    assert late.state is CellState.UNKNOWN
    assert "1 GPUs on the PCI bus" in late.found
    assert cell("nics", facts=None).state is CellState.UNKNOWN


def test_adapters_without_an_rdma_device_or_its_tool_are_red() -> None:
    found = cell("nics", facts=facts("n01", nics=()))
    assert found.state is CellState.MEND
    assert "modprobe" in found.remedy
    # Measurements of TCP need none.
    tcp = site(planned=("iperf3",), facts=facts("n01", nics=()))
    assert cell("nics", tcp).state is CellState.OK
    found = cell("nics", self_report=self_report(programs=lacking("ibv_devinfo")))
    assert found.state is CellState.MEND
    assert "ibverbs-utils" in found.remedy
    rdma = self_report(programs={**lacking("ibv_devinfo"), "rdma": "/sbin/rdma"})
    assert cell("nics", self_report=rdma).state is CellState.OK


def test_nics_of_other_names_are_matched_by_their_slot() -> None:
    bond = NicFacts("mlx5_bond_0", **PORT)
    of = site(facts=facts("n01", nics=(bond,)))
    known = {name: one.known for name, one in of.seen.items() if one.known}
    found = cell("nics", replace(of, renamed=names.differing(known)))
    assert found.lines == (HostfileLine(("devices", "n01"), {"mlx5_0": "mlx5_bond_0"}),)


# --- the network ---

UNKNOWN_NAME = "bash: line 1: n01: Name or service not known"
TIMED_OUT = "Connection timed out"
REFUSED = "bash: connect: Connection refused"


def test_a_name_that_others_cannot_resolve_gets_the_address_that_they_reach() -> None:
    lost = {"n02": met("n01", "", n01=UNKNOWN_NAME), "n03": met("n01", "", n01=UNKNOWN_NAME)}
    found = cells(site(met=lost))["n01"]
    assert found["name"].state is CellState.MEND
    assert "n[02-03]" in found["name"].found
    assert found["name"].lines == (HostfileLine(("nodes", "n01", "data_address"), "10.0.0.1"),)
    assert found["ports"].state is CellState.OK
    # Without getent the message of the connection shows the same.
    answers = {"n02": met("n01", None, n01=UNKNOWN_NAME)}
    assert cell("name", met=answers).state is CellState.MEND


def test_an_address_that_others_do_not_reach_is_not_proposed() -> None:
    lost = {"n02": met("n01", "", n01=UNKNOWN_NAME, **{"10.0.0.1": TIMED_OUT})}
    found = cells(site(met=lost))["n01"]
    assert found["name"].lines == ()
    assert "data_address: ADDRESS" in found["name"].remedy
    assert found["ports"].state is CellState.UNKNOWN


def test_an_address_that_several_nodes_have_is_not_proposed() -> None:
    of = site(met={"n02": met("n01", "", n01=UNKNOWN_NAME)})
    bridged = replace(of.seen["n03"], self_report=self_report(addresses=("10.0.0.3", "10.0.0.1")))
    of = replace(of, seen={**of.seen, "n03": bridged})
    assert cell("name", of).lines == ()


def test_a_name_of_the_loopback_is_red_on_other_nodes() -> None:
    found = cell("name", met={"n02": met("n01", "127.0.1.1")})
    assert found.state is CellState.MEND
    assert "loopback" in found.found


def test_a_port_that_a_firewall_drops_or_refuses_is_red() -> None:
    for how in (TIMED_OUT, REFUSED, "bash: connect: No route to host"):
        shut = {"n02": met("n01", n01=how, **{"10.0.0.1": how})}
        found = cell("ports", met=shut)
        assert found.state is CellState.MEND, how
        assert "ports: 20000-20099" in found.remedy
    # Nothing listens: a refusal shows that packets arrive.
    refused = {"n02": met("n01", n01=REFUSED)}
    assert cell("ports", met=refused, listens=False).state is CellState.OK
    assert cell("ports", met={"n02": met("n01", n01=TIMED_OUT)}, listens=False).lines


def test_another_address_that_is_reached_is_proposed() -> None:
    shut = {"n02": met("n01", n01=TIMED_OUT)}
    assert cell("ports", met=shut).lines == (
        HostfileLine(("nodes", "n01", "data_address"), "10.0.0.1"),
    )


def test_a_missing_partner_is_green_alone_and_not_known_among_others() -> None:
    assert cell("name", met={}).state is CellState.UNKNOWN
    assert cell("ports", met={}).state is CellState.UNKNOWN
    of = site()
    alone = replace(of, seen={"n01": replace(of.seen["n01"], met={})})
    assert cell("name", alone).state is CellState.OK
    assert cell("ports", alone).state is CellState.OK


# --- clock and disk ---


@pytest.mark.parametrize(
    ("offset", "state"),
    [
        (-301.0, CellState.MEND),
        (301.0, CellState.MEND),
        (5.0, CellState.NOTE),
        (1.0, CellState.OK),
        (None, CellState.UNKNOWN),
    ],
)
def test_the_clock_is_compared_with_this_machine_s(offset: float | None, state: CellState) -> None:
    assert cell("clock", facts=facts("n01", clock_offset_s=offset)).state is state


@pytest.mark.parametrize(
    ("disks", "state", "lines"),
    [
        ([("/tmp", 0, True, True), ("/dev/shm", 99, True, True)], CellState.MEND, "/dev/shm"),
        ([("/tmp", 9, True, True)], CellState.MEND, ""),
        ([("/tmp", 99, False, True)], CellState.MEND, ""),
        ([("/tmp", 99, True, False)], CellState.MEND, ""),
        ([("/tmp", 99, True, False), ("/var/tmp", 99, True, True)], CellState.OK, ""),
        ([], CellState.UNKNOWN, ""),
    ],
)
def test_the_disk_needs_space_and_rights(
    disks: list[tuple[str, int, bool, bool]], state: CellState, lines: str
) -> None:
    found = cell("disk", self_report=self_report(disks=tuple(NodeDisk(*one) for one in disks)))
    assert found.state is state
    assert found.lines == ((HostfileLine(("setup",), [f"export TMPDIR={lines}"]),) if lines else ())
