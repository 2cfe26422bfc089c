"""The rules of the blind study with made-up results, and a study of two runs."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import blind_study
import pytest
from blind_count import RULES, Count, StudiedRun, counted, wrong_causes
from blind_draw import MOST_FAULTS, SIZES, DrawnRun, drawn
from blind_reach import Reach, Visibility, reach
from blind_study import Outcome, _options, misses, page, run, sums
from expected_causes import ALL_CAUSES, NEEDS, SLOW_PARTS
from injections import NODES, Injection

SLOW_GPU = Injection("h200", "slow-gpu", "slow-gpu@h200-02:gpu5=9%", "slow-gpu", "h200-02", "gpu5")
SLOW_NODE = Injection("h200", "slow-node", "slow-node@h200-02=9%", "slow-node", "h200-02")
PATH = Injection("h200", "slow-path", "slow-path@h200-01:h200-02", "slow-path", "h200-01",
                 peer="h200-02")  # fmt: skip
GOVERNOR = [
    Injection("h200", "governor", f"governor@{node}", "cpu-governor", node)
    for node in ("h200-01", "h200-02")
]
LOST = Injection("h200", "unreachable", "unreachable@h200-02", "node-unreachable", "h200-02")
HARMLESS = Injection("h100-tcpx", "irq-affinity", "irq-affinity@tcpx02", "", "tcpx02")
SEEN = Reach(Visibility.LIMITS, lambda item: item["subject"] == "shows")
MASKED = replace(SEEN, acts=lambda _item: False)
BELOW = Reach(Visibility.BELOW, lambda _item: False)
NOWHERE = Reach(Visibility.NOWHERE, lambda _item: False)
RED = {"id": "x", "subject": "shows", "outcome": "failed", "pairing": "gpu5-mlx5_5", "rung": 2,
       "ways": ["size"]}  # fmt: skip
BLOCKED = RED | {"outcome": "blocked"}
OTHER = RED | {"id": "y", "subject": "other"}


def cause(
    name: str, node: str, device: str = "", *, peer: str = "", confidence: str = "likely",
    **more: Any,
) -> dict[str, Any]:  # fmt: skip
    where = {"node": node, "device": device, "peer": peer}
    plain = {"confidence": confidence, "evidence": [], "says": ""}
    return {"cause": name, "where": where, **plain, **more}


def verdict(*causes: dict[str, Any], **more: Any) -> dict[str, Any]:
    whole = {"pairs": {"tested": 6, "declared": 6}, "pairings": {"tested": 72, "declared": 72}}
    return {"causes": causes, "coverage": whole, "not_applicable": {}, "notes": [], **more}


def count_of(
    fault: Injection, *causes: dict[str, Any], reach: Reach = SEEN, items: Any = (RED,), **more: Any
) -> Count:
    return counted(StudiedRun((fault,), (reach,), verdict(*causes, **more), items))[0].count


def wrong(verdict: Any, *injected: Injection, reach: Reach = SEEN) -> list[Any]:
    return wrong_causes(StudiedRun(injected, (reach,) * len(injected), verdict, []))


EXACT = {
    "a device": (SLOW_GPU, cause("slow-gpu", "h200-02", "gpu5")),
    "a node": (SLOW_NODE, cause("slow-node", "h200-02")),
    "a path": (PATH, cause("slow-path", "h200-01", peer="h200-02")),
    "a path from its other end": (PATH, cause("slow-path", "h200-02", peer="h200-01")),
}
NOT_EXACT = {
    "another cause": (SLOW_GPU, cause("slow-nic", "h200-02", "gpu5")),
    "another node": (SLOW_GPU, cause("slow-gpu", "h200-01", "gpu5")),
    "another device": (SLOW_GPU, cause("slow-gpu", "h200-02", "gpu4")),
    "a healthy device too": (SLOW_GPU, cause("slow-gpu", "h200-02", "gpu4,gpu5")),
    "no device": (SLOW_GPU, cause("slow-gpu", "h200-02")),
    "a device whose name starts alike": (SLOW_GPU, cause("slow-gpu", "h200-02", "gpu55")),
    "a healthy node too": (SLOW_NODE, cause("slow-node", "h200-[01-02]")),
    "a device of a slow node": (SLOW_NODE, cause("slow-node", "h200-02", "mlx5_1")),
    "one end of a path": (PATH, cause("slow-path", "h200-01")),
    "another path": (PATH, cause("slow-path", "h200-01", peer="h200-03")),
    "one NIC of a path": (PATH, cause("slow-path", "h200-01", "mlx5_1", peer="h200-02")),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_right_decided_cause_is_exact(name: str) -> None:
    fault, named = EXACT[name]
    assert count_of(fault, named) is Count.EXACT
    assert wrong(verdict(named), fault) == []


@pytest.mark.parametrize("name", NOT_EXACT)
def test_a_cause_with_a_wrong_name_or_place_is_not_exact_and_wrong(name: str) -> None:
    fault, named = NOT_EXACT[name]
    assert count_of(fault, named) in (Count.MISNAMED, Count.SWALLOWED)
    assert wrong(verdict(named), fault) == [named]


def test_one_cause_for_a_setting_of_two_nodes_is_exact_for_both() -> None:
    both = verdict(cause("cpu-governor", "h200-[01-02]", confidence="certain"))
    found = counted(StudiedRun((*GOVERNOR,), (SEEN, SEEN), both, [RED]))
    assert [one.count for one in found] == [Count.EXACT, Count.EXACT]
    assert wrong(both, *GOVERNOR) == []
    assert wrong(both, GOVERNOR[0]) != []


def test_an_undecided_cause_is_neither_exact_nor_wrong() -> None:
    right = cause("slow-gpu", "h200-02", "gpu5", confidence="open")
    assert count_of(SLOW_GPU, right) is Count.UNDECIDED
    several = cause("slow-gpu", "h200-01|h200-02", "gpu5-mlx5_5", confidence="open")
    assert count_of(SLOW_GPU, several) is Count.AMONG
    nodes = cause("slow-node", "h200-[01-04]", confidence="open")
    assert count_of(SLOW_GPU, nodes) is Count.AMONG
    elsewhere = cause("slow-gpu", "h200-01|h200-03", "gpu5", confidence="open")
    assert count_of(SLOW_GPU, elsewhere) is Count.SWALLOWED
    other = cause("slow-gpu", "h200-02", "gpu4-mlx5_5", confidence="open")
    assert count_of(SLOW_GPU, other) is Count.SWALLOWED
    unrelated = cause("tool-failing", "h200-02", confidence="open")
    assert count_of(SLOW_GPU, unrelated) is Count.SWALLOWED
    assert wrong(verdict(right, several, nodes, other), SLOW_GPU) == []


def test_a_decided_cause_counts_before_an_undecided_one() -> None:
    given = [cause("slow-gpu", "h200-02", "gpu5", confidence=one) for one in ("open", "likely")]
    assert count_of(SLOW_GPU, *given) is Count.EXACT


def test_an_undiagnosed_item_must_be_one_that_shows_the_fault() -> None:
    listed = cause("undiagnosed", "h200-02", confidence="open", evidence=["x"])
    assert count_of(SLOW_GPU, listed) is Count.LISTED
    assert count_of(SLOW_GPU, listed | {"evidence": ["y"]}, items=[RED, OTHER]) is Count.SWALLOWED


def line(nodes: str, *what: str, why: str = "blocked by link-down (h200-02)") -> dict[str, Any]:
    return {"nodes": nodes, "what": list(what), "why": why}


def test_lines_about_a_gate_must_name_the_node_and_all_hidden_measurements() -> None:
    assert count_of(SLOW_GPU, items=[BLOCKED, OTHER]) is Count.GATED_SILENT
    assert count_of(SLOW_GPU, items=[]) is Count.GATED_SILENT, "no item ran"
    lost = cause("node-unreachable", "h200-02", confidence="certain")
    assert count_of(SLOW_GPU, lost, items=[BLOCKED]) is Count.GATED
    paths, collectives = "GPU memory RDMA over 2 pairings", "speed of collectives"
    both = [BLOCKED, BLOCKED | {"pairing": ""}]
    given = {
        Count.GATED: [
            [line("h200-[01-02]", paths, collectives)],
            [line("h200-02", paths), line("h200-02", collectives)],
        ],
        Count.GATED_SILENT: [
            [line("h200-[01-02]", paths)],
            [line("h200-03", paths, collectives)],
            [line("h200-02", "host memory paths over 1 NIC", collectives)],
            [line("h200-02", paths, collectives, why="level smoke does not measure this")],
        ],
    }
    for count, alternatives in given.items():
        for lines in alternatives:
            assert count_of(SLOW_GPU, items=both, unknown=lines) is count, lines
            assert count_of(SLOW_GPU, items=[*both, RED], unknown=lines) is Count.SWALLOWED, (
                "measured"
            )


def test_an_error_shows_only_faults_that_break_tools_or_nodes() -> None:
    error = RED | {"outcome": "error"}
    assert count_of(SLOW_GPU, items=[error]) is Count.GATED_SILENT
    assert count_of(LOST, items=[error]) is Count.SWALLOWED


PLAN = "level smoke does not measure this"


def test_a_fault_that_only_a_slower_part_was_measured_with_is_hidden():
    """No figure is another one without it; ``unknown`` says what the slower one hides."""
    other = Injection("h200", "slow-node", "slow-node@h200-01", "slow-node", "h200-01")
    line = {
        "nodes": "h200-02",
        "what": ["host memory paths, receiving over 8 NICs"],
        "why": "measured only with slow-node (h200-01)",
    }
    for unknown, expected in (([line], Count.HIDDEN), ([], Count.SWALLOWED)):
        printed = verdict(cause("slow-node", "h200-01"), unknown=unknown)
        studied = StudiedRun((SLOW_GPU, other), (MASKED, SEEN), printed, (RED,))
        assert counted(studied)[0].count is expected
    seen = StudiedRun((SLOW_GPU, other), (SEEN, SEEN), verdict(unknown=[line]), (RED,))
    assert counted(seen)[0].count is Count.SWALLOWED, "a figure shows it"


def test_a_slow_node_behind_errors_of_its_only_link_is_hidden() -> None:
    """The errors alone miss no limit of speed, but they explain any loss of it."""
    errors = Injection(
        "h200", "high-ber", "high-ber@h200-02:mlx5_0", "link-error-rate", "h200-02", "mlx5_0"
    )
    line = {
        "nodes": "h200-02",
        "what": ["host memory paths, sending over 1 NIC"],
        "why": "measured only with link-error-rate (h200-02, mlx5_0)",
    }
    for unknown, expected in (([line], Count.HIDDEN), ([], Count.SWALLOWED)):
        printed = verdict(cause("link-error-rate", "h200-02", "mlx5_0"), unknown=unknown)
        studied = StudiedRun((SLOW_NODE, errors), (SEEN, BELOW), printed, (RED,))
        assert counted(studied)[0].count is expected


def test_suspects_of_another_fault_are_no_count_of_one_that_no_limit_shows():
    several = cause("slow-gpu", "h200-02", "gpu4,gpu5", confidence="open")
    assert count_of(SLOW_GPU, several, reach=BELOW) is Count.BELOW
    assert count_of(SLOW_GPU, cause("slow-gpu", "h200-02", "gpu5"), reach=BELOW) is Count.EXACT


@pytest.mark.parametrize(
    ("fault", "what", "why", "count"),
    [
        (PATH, "the paths to 1 of 3 other nodes", PLAN, Count.UNPLANNED),
        (PATH, "gpu[0-7] alone", PLAN, Count.UNPLANNED_SILENT),
        (SLOW_GPU, "gpu[0-2,5-7] alone", PLAN, Count.UNPLANNED),
        (SLOW_GPU, "gpu[0-2,6-7] alone", PLAN, Count.UNPLANNED_SILENT),
        (SLOW_GPU, "gpu[0-2,5-7] alone", "blocked by link-down", Count.UNPLANNED_SILENT),
    ],
)
def test_a_line_about_the_plan_must_name_the_faults_part(
    fault: Injection, what: str, why: str, count: Count
) -> None:
    assert count_of(fault, reach=NOWHERE, unknown=[line("h200-[01-02]", what, why=why)]) is count
    other = [line("h200-[03-04]", what, why=why)]
    assert count_of(fault, reach=NOWHERE, unknown=other) is Count.UNPLANNED_SILENT


def test_diagnostics_outside_the_level_must_have_a_reason() -> None:
    missed = Injection("h200", "gpu-diagnostics", "gpu-diagnostics@h200-02",
                       "gpu-diagnostic-failed", "h200-02", "gpu0")  # fmt: skip
    given = {"gpu_diagnostic_quick": "measured only at level nightly and signoff"}
    assert count_of(missed, reach=NOWHERE, not_applicable=given) is Count.UNPLANNED
    assert count_of(missed, reach=NOWHERE) is Count.UNPLANNED_SILENT


def test_a_fault_below_all_limits_or_behind_a_gate_may_be_a_straggler() -> None:
    named = cause("straggler", "h200-02", "gpu5")
    assert count_of(SLOW_GPU, reach=BELOW, items=[]) is Count.BELOW
    assert count_of(SLOW_GPU, named, reach=BELOW) is Count.STRAGGLER
    assert count_of(SLOW_GPU, named, items=[BLOCKED]) is Count.STRAGGLER
    assert count_of(SLOW_GPU, named) is Count.SWALLOWED, "a limit was missed"
    assert count_of(SLOW_GPU, reach=BELOW, notes=["straggler: h200-02 gpu5"]) is Count.STRAGGLER
    assert wrong(verdict(named), SLOW_GPU) == []


def test_a_straggler_is_named_at_items_that_another_fault_makes_fail_too() -> None:
    given = verdict(cause("slow-node", "h200-02"), cause("straggler", "h200-02", "gpu5"))
    found = counted(StudiedRun((SLOW_NODE, SLOW_GPU), (SEEN, SEEN), given, [RED]))
    assert [one.count for one in found] == [Count.EXACT, Count.STRAGGLER]
    silent = verdict(cause("slow-node", "h200-02"))
    found = counted(StudiedRun((SLOW_NODE, SLOW_GPU), (SEEN, SEEN), silent, [RED]))
    assert [one.count for one in found] == [Count.EXACT, Count.SWALLOWED]


@pytest.mark.parametrize(
    ("fault", "node", "device", "peer", "is_wrong"),
    [
        (SLOW_GPU, "h200-02", "gpu5-mlx5_5", "", False),
        (SLOW_NODE, "h200-02", "mlx5_1", "", False),
        (PATH, "h200-01", "mlx5_1", "h200-02", False),
        (SLOW_GPU, "h200-03", "gpu5", "", True),
        (SLOW_GPU, "h200-02", "gpu4", "", True),
        (SLOW_GPU, "h200-02", "", "", True),
        (SLOW_NODE, "h200-[01-02]", "", "", True),
        (PATH, "h200-01", "mlx5_1", "", True),
        (GOVERNOR[0], "h200-01", "", "", True),
    ],
)
def test_a_straggler_of_a_part_without_a_slow_fault_is_a_wrong_cause(
    fault: Injection, node: str, device: str, peer: str, *, is_wrong: bool
) -> None:
    named = cause("straggler", node, device, peer=peer)
    assert wrong(verdict(named), fault, reach=BELOW) == [named] * is_wrong
    assert (count_of(fault, named, reach=BELOW) is Count.STRAGGLER) is not is_wrong


@pytest.mark.parametrize(("rung", "is_wrong"), [("collectives", False), ("paths", True)])
def test_a_node_with_a_slow_gpu_is_behind_in_collectives_only(rung: str, *, is_wrong: bool) -> None:
    named = cause("straggler", "h200-02", says=f"h200-02 is 3.0% behind its peers in {rung}")
    assert wrong(verdict(named), SLOW_GPU, reach=BELOW) == [named] * is_wrong


def test_an_intermittent_fault_must_be_named_only_if_it_acted() -> None:
    rare = Injection("h200", "slow-node", "slow-node@h200-02,p=0.3", "slow-node", "h200-02")
    passed = RED | {"outcome": "passed"}
    assert count_of(rare, items=[passed]) is Count.IDLE
    assert count_of(rare, items=[passed, RED]) is Count.SWALLOWED
    assert count_of(SLOW_NODE, items=[passed]) is Count.SWALLOWED, "a permanent fault"
    assert count_of(rare, reach=MASKED, items=[RED]) is Count.IDLE, "others explain the figure"


def test_a_node_that_did_not_stop_during_the_run_must_not_be_named() -> None:
    stops = Injection("h200", "node-stops", "node-stops@h200-02", "node-unreachable", "h200-02")
    assert count_of(stops, items=[RED | {"outcome": "passed"}]) is Count.IDLE
    assert count_of(stops, items=[RED | {"outcome": "error"}]) is Count.SWALLOWED


def test_an_item_that_another_fault_fails_does_not_show_an_intermittent_one() -> None:
    rare = Injection("h200", "slow-node", "slow-node@h200-02,after=30s", "slow-node", "h200-02")
    found = counted(StudiedRun((rare, SLOW_GPU), (SEEN, SEEN), verdict(), [RED]))
    assert [one.count for one in found] == [Count.IDLE, Count.SWALLOWED]


def test_a_harmless_fault_must_not_be_named() -> None:
    assert count_of(HARMLESS) is Count.HARMLESS
    named = cause("nodes-differ", "tcpx02")
    assert wrong(verdict(named), HARMLESS) == [named]


def test_a_group_of_nodes_that_differ_is_named_by_its_value() -> None:
    """Two nodes of four have another CPU: both groups are listed, and nobody is blamed."""
    both = [
        Injection("metax-c500", "cpu-model", f"cpu-model@{node}", "nodes-differ", node, "cpu_model")
        for node in ("mx01", "mx03")
    ]
    says = "cpu_model, 2 values: B on mx[01,03]; A on mx[02,04]; declare the one that is wanted"
    named = cause("nodes-differ", "mx[01-04]", "cpu_model") | {"says": says}
    assert wrong(verdict(named), *both) == []
    assert wrong(verdict(named), both[0]) == [named], "mx03 has no such fault"
    silent = named | {"says": "cpu_model, 2 values"}
    assert wrong(verdict(silent), *both) == [silent]


def test_each_count_has_a_rule() -> None:
    for count in Count:
        assert count.value.partition(",")[0] in RULES, count


# --- drawn faults, and the items that can show them ---


def test_a_study_can_be_repeated_and_its_runs_are_independent() -> None:
    runs = [drawn(3, number, "smoke") for number in range(20)]
    assert [drawn(3, number, "smoke") for number in range(20)] == runs
    assert drawn(4, 0, "smoke") != runs[0]
    assert {run.platform for run in runs} == set(NODES) == set(SIZES)
    assert {len(run.injected) for run in runs} == set(range(1, MOST_FAULTS + 1))


@pytest.fixture(scope="module")
def many() -> list[DrawnRun]:
    return [drawn(7, n, "smoke") for n in range(1500)] + [drawn(398667, 164, "smoke")]


def test_all_faults_are_drawn(many: list[DrawnRun]) -> None:
    names = {one.name for run in many for one in run.injected}
    assert names >= {*SLOW_PARTS, *NEEDS}
    assert len(names) > 0.95 * len(ALL_CAUSES)


def test_two_faults_that_undo_each_other_are_not_drawn(many: list[DrawnRun]) -> None:
    """Each gives a NIC the address of another node's; together they may swap them."""
    names = [
        Counter((one.name, one.device) for one in run.injected if one.name.startswith("duplicate-"))
        for run in many
    ]
    assert sum(map(len, names)) > 20, "the faults are drawn"
    assert all(count == 1 for each in names for count in each.values())


def test_a_fault_of_two_nodes_is_not_drawn_beside_a_node_that_does_not_answer(
    many: list[DrawnRun],
) -> None:
    """The other node of the fault may be the one that does not answer."""
    twins = {"one-machine", "cloned-image", "duplicate-lid", "duplicate-gid"}
    silent = {"unreachable", "wrong-key", "host-key-changed", "node-stops"}
    for each in many:
        lost = {one.node for one in each.injected if one.name in silent}
        assert all(lost <= {one.node} for one in each.injected if one.name in twins), each.command


def test_no_nic_has_the_lid_of_one_that_lost_it(many: list[DrawnRun]) -> None:
    """As the last of these runs once had: no two NICs have the same LID then."""
    lost = {"port-down", "no-sm", "nic-missing"}
    for each in many:
        gone = {(one.node, one.device) for one in each.injected if one.name in lost}
        for twin in (one for one in each.injected if one.name == "duplicate-lid"):
            assert {node for node, nic in gone if nic == twin.device} <= {twin.node}, each.command


def test_a_tool_fault_is_not_measured_on_a_node_that_is_gone() -> None:
    fault = Injection("h200", "tool-missing", "tool-missing@n:ib_send_lat", "tool-missing", "n")
    gone = RED | {"outcome": "error", "error_kind": "node-unreachable"}
    lost = cause("node-unreachable", "n")
    assert count_of(fault, lost, items=(gone,), unknown=[]) is not Count.SWALLOWED
    failed = gone | {"error_kind": "tool-missing"}
    assert count_of(fault, lost, items=(failed,), unknown=[]) in (Count.SWALLOWED, Count.MISNAMED)


def test_severities_and_courses_are_drawn() -> None:
    faults = [s.fault for n in range(60) for s in drawn(5, n, "smoke").injected]
    assert {"=" in fault for fault in faults} == {True, False}
    assert any(",p=" in fault for fault in faults)
    assert any(",after=" in fault for fault in faults)
    assert all(1 <= int(s) <= 20 for fault in faults for s in re.findall(r"=(\d+)%", fault))


def of_homelab(*injected: Injection) -> DrawnRun:
    return DrawnRun(0, "connectx4-homelab", 3, 1, "smoke", injected)


def homelab(name: str, place: str, cause: str | None = None) -> Injection:
    node, _, rest = place.partition(":")
    peer = rest.partition("=")[0] if name == "slow-path" else ""
    fault = f"{name}@{place}"
    return Injection(
        "connectx4-homelab", name, fault, cause or name, node.partition("=")[0], peer=peer
    )


def test_the_limits_decide_which_severities_are_visible() -> None:
    found = [reach(of_homelab(), homelab("slow-node", f"viper={n}%")) for n in (1, 20)]
    assert [one.visibility for one in found] == [Visibility.BELOW, Visibility.LIMITS]


def test_a_path_that_the_level_does_not_measure_is_not_planned() -> None:
    four = DrawnRun(0, "h200", 4, 1, "smoke", ())
    visibilities = Counter(
        reach(four, Injection("h200", "slow-path", f"slow-path@{one}:{other}", "slow-path", one,
                              peer=other)).visibility
        for i, one in enumerate(NODES["h200"]) for other in NODES["h200"][i + 1 :]
    )  # fmt: skip
    assert visibilities[Visibility.LIMITS] + visibilities[Visibility.NOWHERE] == 6
    assert visibilities[Visibility.LIMITS] > 0
    assert visibilities[Visibility.NOWHERE] > 0


def test_items_that_show_a_slow_node_use_that_node() -> None:
    found = reach(of_homelab(), homelab("slow-node", "viper"))
    shown = {"subject": "host_send_bandwidth", "pairing": "mlx5_0", "size_bytes": 8 << 20}
    names = ("viper", "columbia", "prometheus")
    pairs = [[one, other] for one in names for other in names if one != other]
    assert all(("viper" in p) >= found.shows(shown | {"nodes": p}) for p in pairs)
    assert any(found.shows(shown | {"nodes": pair}) for pair in pairs)


def test_a_figure_shows_a_fault_only_if_the_other_faults_leave_a_better_one() -> None:
    """On a path that carries 12 % less, and between nodes of which one carries 40 % less."""
    node = homelab("slow-node", "viper=40%")
    path_ = homelab("slow-path", "viper:columbia=12%")
    item = {
        "subject": "host_send_bandwidth", "nodes": ["viper", "columbia"], "pairing": "mlx5_0",
        "size_bytes": 8 << 20, "outcome": "failed",
    }  # fmt: skip

    def acts(injected: Injection, beside: tuple[Injection, ...], reached: float) -> bool:
        judged = {
            "metric": "bw_average", "worst": reached, "better": "higher", "outcome": "failed"
        }  # fmt: skip
        return reach(of_homelab(injected, *beside), injected).acts({**item, "judgements": [judged]})

    assert acts(path_, (), 3320.0)
    assert not acts(path_, (), 3760.0), "as fast as without the fault"
    assert not acts(path_, (node,), 2265.0)
    assert acts(path_, (node,), 2000.0)
    assert acts(node, (path_,), 2265.0)


def test_a_collective_past_an_idle_nic_shows_no_slow_path_to_it() -> None:
    """The collective carries nothing over the NIC: its figure is that of the other NICs."""
    path_ = Injection(
        "metax-c500", "slow-pcie-path", "slow-pcie-path@mx02:gpu0-mlx5_0", "slow-pcie-path",
        "mx02", "gpu0-mlx5_0",
    )  # fmt: skip
    idle = replace(path_, name="nic-idle", fault="nic-idle@mx02:mlx5_0", device="mlx5_0")
    judged = {"metric": "busbw", "worst": 36.5, "better": "higher", "outcome": "failed"}
    item = {
        "subject": "pair_all_reduce", "nodes": ["mx02", "mx01"], "pairing": "",
        "size_bytes": 1 << 30, "outcome": "failed", "judgements": [judged],
    }  # fmt: skip
    alone = DrawnRun(0, "metax-c500", 3, 1, "smoke", (path_,))
    assert reach(alone, path_).acts(item)
    assert not reach(replace(alone, injected=(path_, idle)), path_).acts(item)


def test_errors_of_a_link_are_counted_where_it_receives() -> None:
    errors = replace(homelab("high-ber", "columbia", "link-error-rate"), device="mlx5_0")
    item = {"subject": "host_write_bandwidth", "ways": ["traffic"], "pairing": "mlx5_0"}
    shows = reach(of_homelab(errors), errors).shows
    assert shows({**item, "nodes": ["viper", "columbia"]})
    assert not shows({**item, "nodes": ["columbia", "viper"]})
    assert not shows({**item, "nodes": ["viper", "columbia"], "ways": ["size"]})


def test_a_nic_with_errors_that_nobody_could_count_may_be_a_slow_nic() -> None:
    errors = Injection(
        "h200", "high-ber", "high-ber@h200-02:mlx5_0", "link-error-rate", "h200-02", "mlx5_0"
    )
    named = cause("slow-nic", "h200-02", "mlx5_0")
    for items, expected in (([BLOCKED], []), ([RED], [named])):
        assert wrong_causes(StudiedRun((errors,), (SEEN,), verdict(named), items)) == expected
    other = cause("slow-nic", "h200-02", "mlx5_1")
    assert wrong_causes(StudiedRun((errors,), (SEEN,), verdict(other), [BLOCKED])) == [other]


def test_only_collectives_on_the_gpus_node_show_its_wrong_results() -> None:
    wrong = Injection("mi300x", "corrupt", "corrupt@mi02:5", "data-corruption", "mi02")
    found = reach(DrawnRun(0, "mi300x", 3, 1, "smoke", (wrong,)), wrong)
    assert found.visibility is Visibility.LIMITS
    sizes = [1 << power for power in range(40)]
    item = {"pairing": "", "subject": "node_all_reduce"}
    shows = {
        node: any(found.shows(item | {"nodes": [node], "size_bytes": size}) for size in sizes)
        for node in ("mi01", "mi02")
    }
    assert shows == {"mi01": False, "mi02": True}


# --- the sums and the page ---


def outcome(count: Count, **more: Any) -> Outcome:
    from blind_count import Counted  # noqa: PLC0415

    run = DrawnRun(4, "h200", 4, 1, "smoke", (SLOW_NODE,))
    return Outcome(run, (Counted(SLOW_NODE, count, "why"),), **more)


def test_the_goals_are_compared_with_the_counts() -> None:
    good = [outcome(Count.EXACT, causes=1)] * 20
    assert sums(good).missed == []
    assert sums([*good, outcome(Count.AMONG)]).missed == [], "20 of 21 are exact"
    assert "95%" in sums([*good, *[outcome(Count.AMONG)] * 2]).missed[0]
    for bad in (Count.SWALLOWED, Count.MISNAMED, Count.GATED_SILENT, Count.UNPLANNED_SILENT):
        assert sums([*good, outcome(bad)]).missed, bad
    wrong = outcome(Count.EXACT, causes=1, wrong=("x",))
    assert "4.8% of the decided causes" in sums([*good, wrong]).missed[0]
    lost = Outcome(good[0].drawn, trouble="boom")
    assert sums([*good, lost]).missed == ["1 runs have no verdict"]


def test_the_page_lists_missed_goals_and_the_commands_to_repeat_them() -> None:
    found = [outcome(Count.EXACT, causes=2, wrong=("slow-nic h200-03 mlx5_1 (likely)",)),
             outcome(Count.SWALLOWED), outcome(Count.BELOW)]  # fmt: skip
    text = page(found, _options(["--seed", "17"]))
    for wanted in ("seed 17, level smoke", "evidence simulated", "**swallowed** (why)", RULES,
                   "wrong cause: slow-nic h200-03 mlx5_1 (likely)",
                   "--lab-fault slow-node@h200-02=9%",
                   "- 1 measured faults are swallowed."):  # fmt: skip
        assert wanted in text, wanted
    assert len([line for line in misses(found) if line.startswith("- run")]) == 2


def test_a_study_of_two_runs_writes_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The smallest labs are used because they take the least time."""
    monkeypatch.setitem(SIZES, "connectx4-homelab", range(3, 4))
    target = tmp_path / "page.md"
    options = ["--runs", "2", "--seed", "3", "--platform", "connectx4-homelab", "--jobs", "2",
               "--keep", str(tmp_path / "kept"), "--page", str(target)]  # fmt: skip
    code = run(options)
    out = capsys.readouterr().out
    assert "seed 3, 2 runs, level smoke" in out
    assert "2/2 run" in out
    assert "no verdict" not in out
    assert "2 runs of the embedded lab" in target.read_text()
    assert code == bool("missed: " in out)
    page_of_runs = target.read_text()
    for verdict_file in (tmp_path / "kept").glob("*/reports/*/verdict.json"):
        verdict_file.write_text("{}", encoding="utf-8")
    assert run([*options, "--recount"]) == code
    again = " Causes and counts were made anew from the evidence of the runs."
    assert again in target.read_text()
    assert target.read_text().replace(again, "") == page_of_runs


def test_an_interrupt_keeps_the_finished_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[int] = []

    def interrupted(number: int, _options: object) -> Outcome:
        started.append(number)
        if number == 1:
            raise KeyboardInterrupt
        return outcome(Count.EXACT)

    monkeypatch.setattr(blind_study, "one", interrupted)
    monkeypatch.setattr(blind_study, "ProcessPoolExecutor", ThreadPoolExecutor)
    options = _options(["--runs", "3", "--seed", "1", "--jobs", "1"])
    assert [one.counted[0].count for one in blind_study.study(options)] == [Count.EXACT]
    assert "ended after 1 of 3 runs" in capsys.readouterr().out
    assert started in ([0, 1], [0, 1, 2]), "at most the next run has started"
