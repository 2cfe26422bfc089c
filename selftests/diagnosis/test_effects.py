"""Each cause against each kind of item: a cause explains only its possible effects.

``CAN`` is written independently of the catalogue: what an engineer expects a cause to affect.
A cause must not explain anything else.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.diagnose_scenes import (
    accounted,
    blocked,
    broken,
    causes,
    collective,
    corrupt,
    counters,
    fact,
    links,
    named,
    names,
    pairs_of,
    path,
    paths,
    platform,
    record,
    transport,
    unknown,
)

from railgauge.core.errors import NodeUnreachable
from railgauge.core.model import Outcome
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.model import Finding, Where
from railgauge.diagnosis.reach import explains

HERE, OTHER, NIC, GPU = "n1", "n2", "mlx5_3", "gpu3"


def on_path(part, kind="", where=f"{HERE}: ib_write_bw", value=100.0):
    item = path(HERE, OTHER, part, value)
    return broken(item, kind, where) if kind else item


# One item of each kind on the node: facts by subject, the others by rung and symptom.
ITEMS = {
    "host fact": fact(HERE, "memlock"),
    "version fact": fact(HERE, "kernel"),
    "port fact": fact(HERE, "port_state", NIC),
    "slot fact": fact(HERE, "pcie_link", NIC),
    "other port fact": fact(HERE, "port_state", "mlx5_4"),
    "gpu fact": fact(HERE, "gpu_ecc_errors", GPU),
    "gpu place": fact(HERE, "gpu_bus_id", GPU),
    "gpu clock": fact(HERE, "gpu_clock", GPU),
    "unknown host fact": unknown(HERE, "memlock"),
    "slow nic": on_path(NIC),
    "slow other nic": on_path("mlx5_4"),
    "slow gpu path": on_path(f"{GPU}-{NIC}"),
    "slow path beside": on_path("gpu4-mlx5_4"),
    "refused nic": on_path(NIC, "tool-failed"),
    "hung nic": on_path(NIC, "command-timed-out"),
    "garbage nic": on_path(NIC, "unparsable"),
    "no metric": on_path(NIC, "metric-missing"),
    "no tool": on_path(NIC, "tool-missing"),
    "no tool at the partner": on_path(NIC, "tool-missing", f"{OTHER}: ib_write_bw"),
    "no device": on_path(NIC, "device-missing"),
    "lost": on_path(NIC, "connection-lost"),
    "partner lost": on_path(NIC, "connection-lost", OTHER),
    "port taken": on_path(NIC, "port-in-use", HERE),
    "errors counted": counters((HERE, OTHER), "link_errors", (HERE, NIC), "grew", NIC),
    "slow link": links(HERE, {(3, 4): 1.0}, 8)[3 * 7 + 3],
    "slow gpu": replace(collective((HERE,), 1.0), pairing=GPU, id="gpu-alone"),
    "slow inside": collective((HERE,), 1.0),
    "wrong inside": corrupt((HERE,)),
    "slow pair": collective((HERE, OTHER), 1.0),
    "wrong pair": corrupt((HERE, OTHER)),
    "hung pair": broken(collective((HERE, OTHER), 1.0), "command-timed-out", f"{HERE}: mpirun"),
    "no launch": broken(collective((HERE, OTHER), 1.0), "launch-failed", f"{OTHER}: mpirun"),
    "died": broken(collective((HERE, OTHER), 1.0), "rank-died", f"{OTHER}: mpirun"),
    "garbage pair": broken(collective((HERE, OTHER), 1.0), "unparsable", f"{HERE}: mpirun"),
    "socket": transport((HERE, OTHER), "Socket"),
    "suite": broken(collective((HERE,), 1.0), "bug", ""),
}  # fmt: skip
STOPS = {"hung pair", "no launch", "died"}
NIC_STOPS = {"refused nic", "hung nic"}
PAIRS = {"slow pair", "socket"}
OVER_NIC = {"slow nic", "slow gpu path"}
ALL_SLOW_ABOVE = {"slow gpu path", "slow path beside", "slow link", "slow gpu", "slow inside",
                  "slow pair"}  # fmt: skip
CAN = {
    "node-unreachable": {"unknown host fact", "lost"} | NIC_STOPS | STOPS,
    "tool-missing": {"no tool"} | NIC_STOPS,
    "data-corruption": {"wrong inside", "wrong pair"},
    "nic-missing": {"port fact", "slot fact", "no device"} | OVER_NIC | NIC_STOPS | STOPS | PAIRS,
    "link-down": {"port fact", "errors counted"} | OVER_NIC | NIC_STOPS | STOPS | PAIRS,
    "subnet-manager-missing": {"port fact"} | OVER_NIC | NIC_STOPS | STOPS | PAIRS,
    "gpu-missing": {"gpu place"} | ALL_SLOW_ABOVE | STOPS,
    "link-rate-degraded": OVER_NIC | PAIRS,
    "pcie-degraded": OVER_NIC | PAIRS,
    "link-error-rate": {"errors counted"} | OVER_NIC | NIC_STOPS | STOPS | PAIRS,
    "memlock-limited": NIC_STOPS | STOPS,
    "cpu-governor": {"slow nic", "slow other nic"} | ALL_SLOW_ABOVE,
    "numa-balancing-enabled": {"slow link", "slow gpu", "slow inside", "slow pair"},
    "gpu-memory-errors": {"wrong inside", "wrong pair"} | STOPS,
    "gpu-clock-limited": {"gpu clock"} | ALL_SLOW_ABOVE - {"slow path beside"},
    "gpu-throttled": ALL_SLOW_ABOVE - {"slow path beside"},
    "slow-nic": OVER_NIC | PAIRS,
    "slow-gpu": ALL_SLOW_ABOVE - {"slow path beside"},
    "slow-node": ({"slow nic", "slow other nic"} | ALL_SLOW_ABOVE | PAIRS)
    - {"slow link", "slow gpu"},
    "nodes-differ": set(),
    "firmware-mismatch": set(),
    "gpu-ecc-off": set(),
    "health-check-failed": set(),
    "tool-failing": set(),
    "undiagnosed": set(),
    "suite-error": set(),
    "port-in-use": set(),
}  # fmt: skip
AT = {
    **dict.fromkeys(("nic-missing", "link-down", "subnet-manager-missing", "link-rate-degraded",
                     "pcie-degraded", "link-error-rate", "slow-nic"), NIC),
    **dict.fromkeys(("gpu-missing", "gpu-memory-errors", "gpu-clock-limited", "gpu-throttled",
                     "slow-gpu"), GPU),
    "tool-missing": "ib_write_bw",
}  # fmt: skip


@pytest.mark.parametrize("cause", CAN)
def test_a_cause_explains_its_possible_effects_and_nothing_else(cause):
    shown = on_path("mlx5_7") if cause in ("slow-node", "slow-nic") else fact(HERE, "made_up")
    finding = Finding(cause, Where(HERE, AT.get(cause, "")), "says", (shown,))
    found = {kind for kind, item in ITEMS.items() if explains(finding, item, platform())}
    assert found == CAN[cause]


@pytest.mark.parametrize("cause", CATALOGUE)
def test_no_cause_explains_items_that_always_have_their_own_cause(cause):
    """Errors of the suite, unparsable output and host settings have causes of their own."""
    finding = Finding(cause, Where(HERE), "says", (fact(HERE, "made_up"),))
    for kind in ("suite", "garbage nic", "garbage pair", "no metric", "port taken", "host fact",
                 "version fact", "partner lost", "no tool at the partner"):  # fmt: skip
        assert not explains(finding, ITEMS[kind], platform()), kind


@pytest.mark.parametrize("cause", CATALOGUE)
def test_no_cause_explains_anything_on_another_node(cause):
    finding = Finding(cause, Where("n8"), "says", (fact("n8", "made_up"),))
    assert not [kind for kind, item in ITEMS.items() if explains(finding, item, platform())]


# --- pairs of faults of which one hid the other ---


def down(node=HERE):
    return [fact(node, name, NIC) for name in ("physical_state", "port_state", "lid", "link_rate")]


def test_a_port_that_is_down_does_not_explain_a_memlock_limit():
    found = causes(down(), fact(HERE, "memlock"))
    assert named(found) == [("link-down", f"{HERE}, {NIC}"), ("memlock-limited", HERE)]
    assert found[0].explains == ()


@pytest.mark.parametrize(("kind", "cause"), [
    ("unparsable", "tool-failing"), ("command-timed-out", "tool-failing"),
    ("tool-missing", "tool-missing"), ("port-in-use", "port-in-use"),
])  # fmt: skip
def test_a_slow_node_does_not_explain_a_tools_own_failure(kind, cause):
    pairs = list(pairs_of(names(4), 2))
    slow = paths(pairs, (NIC,), {"n2": 200.0})
    own = [
        broken(path("n2", n, NIC, 1, "host_read_bandwidth"), kind, "n2: ib_read_bw")
        for n in ("n1", "n3")
    ]
    fine = [path(a, b, NIC, 392, "host_read_bandwidth") for a, b in (("n1", "n4"), ("n3", "n4"))]
    found = causes(slow, own, fine)
    assert {(c.cause, c.where.node) for c in found} == {("slow-node", "n2"), (cause, "n2")}
    assert accounted(found) == {r.id for r in (*slow, *own) if r.outcome is not Outcome.PASSED}


def test_a_slow_gpu_link_does_not_explain_other_links():
    found = causes(links("n1", {(0, 1): 100.0, (0, 5): 100.0, (2, 3): 100.0}))
    assert {str(cause.where) for cause in found} == {
        "n1, gpu0>gpu1", "n1, gpu0>gpu5", "n1, gpu2>gpu3",
    }  # fmt: skip


def test_a_missing_tool_does_not_explain_another_tools_failure():
    gone = on_path(NIC, "tool-missing")
    other = broken(record(3, "node_all_reduce", HERE), "tool-failed", f"{HERE}: mpirun")
    found = causes(gone, other)
    assert [cause.cause for cause in found] == ["tool-missing", "tool-failing"]


def test_two_suspects_do_not_explain_items_of_only_one_of_them():
    """``n1`` and ``n2`` are slow together; ``n1`` is slow with ``n3`` too."""
    open_ = path("n1", "n2", NIC, 200)
    above = [collective(("n1", "n3"), 100), collective(("n2", "n3"), 392)]
    found = causes(open_, above)
    assert accounted(found) == {open_.id, above[0].id}
    assert all(above[0].id not in c.explains for c in found if c.where.node == "n1|n2")


def test_a_lost_node_does_not_hide_a_tool_that_its_partner_lacks():
    lost = NodeUnreachable("no route", where="n2")
    survey = broken(record(0, "memlock", "n2"), lost.kind, "n2")
    lacking = broken(path("n1", "n2", NIC, 1), "tool-missing", "n1: ib_write_bw")
    found = causes(survey, lacking, facts=[lost])
    assert named(found) == [("node-unreachable", "n2"), ("tool-missing", "n1, ib_write_bw")]


# --- what a tool reports itself ---


@pytest.mark.parametrize(("problem", "cause"), [
    ("gpu-missing", "gpu-missing"), ("gpu-memory-errors", "gpu-memory-errors"),
    ("port-in-use", "port-in-use"), ("node-failed", "node-unreachable"),
    ("node-unavailable", "node-unreachable"), ("tool-failed", "tool-failing"),
    ("no-heading", "tool-failing"), ("made-up", "tool-failing"),
])  # fmt: skip
def test_a_fault_that_a_tool_reports_is_the_cause(problem, cause):
    printed = f"the tool said something ({problem})"
    found = causes(broken(record(3, "node_all_reduce", "n3"), "tool-failed", "n3: mpirun", printed))
    assert [(one.cause, one.where.node) for one in found] == [(cause, "n3")]
    assert printed in found[0].says


def test_a_fault_that_a_tool_reports_for_two_nodes_is_undecided():
    printed = "Requested nodes are busy (node-unavailable)"
    found = causes(broken(collective(("n1", "n2"), 1), "tool-failed", "n1: srun", printed))
    assert [(one.cause, one.where.node, one.confidence) for one in found] == [
        ("node-unreachable", "n1|n2", "open")
    ]


# --- all pairs of faults on one node ---

FAULTS = {
    "link-down": down(),
    "memlock-limited": [fact(HERE, "memlock")],
    "cpu-governor": [fact(HERE, "cpu_governor")],
    "gpu-memory-errors": [fact(HERE, "gpu_ecc_errors", "gpu5")],
    "gpu-missing": [fact(HERE, "gpu_count", "", "7")],
    "nic-missing": [fact(HERE, "nic_present", "mlx5_5", "absent"), unknown(HERE, "lid", "mlx5_5")],
    "pcie-degraded": [fact(HERE, "pcie_link", "mlx5_6")],
    "subnet-manager-missing": [fact(HERE, "lid", "mlx5_7"), fact(HERE, "port_state", "mlx5_7")],
    "nodes-differ": [fact(HERE, "kernel")],
    "firmware-mismatch": [fact(HERE, "nic_firmware", "mlx5_0")],
    "acs-enabled": [fact(HERE, "acs", "", "0000:16:00.0")],
    "numa-balancing-enabled": [fact(HERE, "numa_balancing")],
    "undiagnosed": [unknown(HERE, "nvme_count")],
    "foreign-gpu-process": [fact(HERE, "gpu_processes")],
    "data-corruption": [ITEMS["wrong inside"]],
    "tool-missing": [broken(record(3, "gpu_copy_bandwidth", HERE), "tool-missing",
                            f"{HERE}: nvbandwidth")],
    "tool-failing": [broken(record(3, "gpu_host_bandwidth", HERE, part="gpu0"), "unparsable",
                            f"{HERE}: rvs")],
    "suite-error": [broken(record(3, "gpu_diagnostics", HERE), "bug", "")],
}  # fmt: skip


def assert_possible(cause, items):
    """The cause explains only its effects; a node that is slow inside slows its GPUs too."""
    possible = CAN.get(cause.cause, set(ITEMS))
    possible = possible | {"slow link", "slow gpu"} if cause.cause == "slow-node" else possible
    allowed = {id(ITEMS[kind]) for kind in possible}
    for one in items:
        if one.id in cause.explains:
            assert id(one) in allowed, (cause.cause, one.id)


PAIRED = [(one, other) for one in FAULTS for other in FAULTS if one < other]


@pytest.mark.parametrize(("one", "other"), PAIRED, ids=[":".join(pair) for pair in PAIRED])
def test_both_of_two_faults_on_one_node_are_named(one, other):
    found = causes(FAULTS[one], FAULTS[other], nodes=names(4))
    assert {cause.cause for cause in found} == {one, other}
    for cause in found:
        assert set(cause.evidence) == {item.id for item in FAULTS[cause.cause]}
        assert_possible(cause, [*FAULTS[one], *FAULTS[other]])


# --- any mixture of bad items ---

# This item is about another port than the NIC of the other items.
DRAWN = sorted(set(ITEMS) - {"other port fact"})


@given(st.lists(st.sampled_from(DRAWN), min_size=1, max_size=12, unique=True))
def test_each_bad_item_has_a_cause_that_can_have_that_effect(drawn):
    items = list({ITEMS[kind].id: ITEMS[kind] for kind in drawn}.values())
    wrong = {one.id for one in items if one.outcome is not Outcome.PASSED}
    found = causes(items, nodes=names(3))
    assert accounted(found) == wrong
    for cause in found:
        assert_possible(cause, items)


def test_a_blocked_item_is_explained_by_its_blocker_whatever_its_kind():
    first = fact(HERE, "memlock")
    waits = blocked(ITEMS["garbage pair"], first)
    (found,) = causes(first, waits)
    assert found.explains == (waits.id,)
