"""The rules of the blind study, with made-up results; and a study of two runs."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import blind_study
import pytest
from blind_count import RULES, Count, Told, counted, wrong_causes
from blind_draw import MOST_FAULTS, SIZES, Drawn, drawn
from blind_reach import Reach, Sight, reach
from blind_study import Outcome, _options, misses, page, run, sums
from strikes import NODES, Strike

SLOW_GPU = Strike("h200", "slow-gpu", "slow-gpu@h200-02:gpu5=9%", "slow-gpu", "h200-02", "gpu5")
SLOW_NODE = Strike("h200", "slow-node", "slow-node@h200-02=9%", "slow-node", "h200-02")
PATH = Strike("h200", "slow-path", "slow-path@h200-01:h200-02", "slow-path", "h200-01",
              peer="h200-02")  # fmt: skip
GOVERNOR = [
    Strike("h200", "governor", f"governor@{node}", "cpu-governor", node)
    for node in ("h200-01", "h200-02")
]
LOST = Strike("h200", "unreachable", "unreachable@h200-02", "node-unreachable", "h200-02")
HARMLESS = Strike("h100-tcpx", "irq-affinity", "irq-affinity@tcpx02", "", "tcpx02")
SEEN = Reach(Sight.LIMITS, lambda item: item["subject"] == "shows")
BELOW, NOWHERE = (Reach(sight, lambda _item: False) for sight in (Sight.BELOW, Sight.NOWHERE))
RED = {"id": "x", "subject": "shows", "outcome": "failed", "pairing": "gpu5-mlx5_5", "rung": 2,
       "ways": ["size"]}  # fmt: skip
BLOCKED = RED | {"outcome": "blocked"}
OTHER = RED | {"id": "y", "subject": "other"}


def cause(
    name: str, node: str, device: str = "", *, peer: str = "", confidence: str = "likely",
    **more: Any,
) -> dict[str, Any]:  # fmt: skip
    where = {"node": node, "device": device, "peer": peer}
    return {"cause": name, "where": where, "confidence": confidence, "evidence": [], **more}


def verdict(*causes: dict[str, Any], **more: Any) -> dict[str, Any]:
    whole = {"pairs": {"tested": 6, "declared": 6}, "pairings": {"tested": 72, "declared": 72}}
    return {"causes": causes, "coverage": whole, "not_applicable": {}, "notes": [], **more}


def word(
    strike: Strike, *causes: dict[str, Any], reach: Reach = SEEN, items: Any = (RED,), **more: Any
) -> Count:
    return counted(Told((strike,), (reach,), verdict(*causes, **more), items))[0].count


def wrong(verdict: Any, *struck: Strike, reach: Reach = SEEN) -> list[Any]:
    return wrong_causes(Told(struck, (reach,) * len(struck), verdict, []))


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
def test_exact(name: str) -> None:
    strike, named = EXACT[name]
    assert word(strike, named) is Count.EXACT
    assert wrong(verdict(named), strike) == []


@pytest.mark.parametrize("name", NOT_EXACT)
def test_not_exact_and_a_wrong_cause(name: str) -> None:
    strike, named = NOT_EXACT[name]
    assert word(strike, named) in (Count.MISNAMED, Count.SWALLOWED)
    assert wrong(verdict(named), strike) == [named]


def test_one_cause_for_a_setting_that_is_wrong_on_two_nodes_is_exact_for_both() -> None:
    both = verdict(cause("cpu-governor", "h200-[01-02]", confidence="certain"))
    found = counted(Told((*GOVERNOR,), (SEEN, SEEN), both, [RED]))
    assert [one.count for one in found] == [Count.EXACT, Count.EXACT]
    assert wrong(both, *GOVERNOR) == []
    assert wrong(both, GOVERNOR[0]) != []


def test_what_is_not_decided_is_not_exact_and_never_a_wrong_cause() -> None:
    right = cause("slow-gpu", "h200-02", "gpu5", confidence="open")
    assert word(SLOW_GPU, right) is Count.UNDECIDED
    several = cause("slow-gpu", "h200-01|h200-02", "gpu5-mlx5_5", confidence="open")
    assert word(SLOW_GPU, several) is Count.AMONG
    nodes = cause("slow-node", "h200-[01-04]", confidence="open")
    assert word(SLOW_GPU, nodes) is Count.AMONG
    elsewhere = cause("slow-gpu", "h200-01|h200-03", "gpu5", confidence="open")
    assert word(SLOW_GPU, elsewhere) is Count.SWALLOWED
    other = cause("slow-gpu", "h200-02", "gpu4-mlx5_5", confidence="open")
    assert word(SLOW_GPU, other) is Count.SWALLOWED
    unrelated = cause("tool-failing", "h200-02", confidence="open")
    assert word(SLOW_GPU, unrelated) is Count.SWALLOWED
    assert wrong(verdict(right, several, nodes, other), SLOW_GPU) == []


def test_a_decided_cause_counts_before_one_that_is_not() -> None:
    said = [cause("slow-gpu", "h200-02", "gpu5", confidence=one) for one in ("open", "likely")]
    assert word(SLOW_GPU, *said) is Count.EXACT


def test_the_list_of_what_no_cause_explains_must_hold_an_item_that_shows_the_fault() -> None:
    listed = cause("undiagnosed", "h200-02", confidence="open", evidence=["x"])
    assert word(SLOW_GPU, listed) is Count.LISTED
    assert word(SLOW_GPU, listed | {"evidence": ["y"]}, items=[RED, OTHER]) is Count.SWALLOWED


def line(nodes: str, *what: str, why: str = "blocked by link-down (h200-02)") -> dict[str, Any]:
    return {"nodes": nodes, "what": list(what), "why": why}


def test_behind_a_gate_lines_must_name_the_node_and_all_that_could_have_shown_the_fault() -> None:
    assert word(SLOW_GPU, items=[BLOCKED, OTHER]) is Count.GATED_SILENT
    assert word(SLOW_GPU, items=[]) is Count.GATED_SILENT, "not run"
    lost = cause("node-unreachable", "h200-02", confidence="certain")
    assert word(SLOW_GPU, lost, items=[BLOCKED]) is Count.GATED
    paths, collectives = "GPU memory RDMA over 2 pairings", "speed of its collectives"
    both = [BLOCKED, BLOCKED | {"pairing": ""}]
    said = {
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
    for count, alternatives in said.items():
        for lines in alternatives:
            assert word(SLOW_GPU, items=both, unknown=lines) is count, lines
            assert word(SLOW_GPU, items=[*both, RED], unknown=lines) is Count.SWALLOWED, "measured"


def test_an_error_is_no_measurement_except_of_what_breaks() -> None:
    error = RED | {"outcome": "error"}
    assert word(SLOW_GPU, items=[error]) is Count.GATED_SILENT
    assert word(LOST, items=[error]) is Count.SWALLOWED


PLAN = "level smoke does not measure this"


@pytest.mark.parametrize(
    ("strike", "what", "why", "count"),
    [
        (PATH, "the paths to 1 of 3 other nodes", PLAN, Count.UNPLANNED),
        (PATH, "gpu[0-7] alone", PLAN, Count.UNPLANNED_SILENT),
        (SLOW_GPU, "gpu[0-2,5-7] alone", PLAN, Count.UNPLANNED),
        (SLOW_GPU, "gpu[0-2,6-7] alone", PLAN, Count.UNPLANNED_SILENT),
        (SLOW_GPU, "gpu[0-2,5-7] alone", "blocked by link-down", Count.UNPLANNED_SILENT),
    ],
)
def test_what_the_level_does_not_plan_must_be_said_of_the_part(
    strike: Strike, what: str, why: str, count: Count
) -> None:
    assert word(strike, reach=NOWHERE, unknown=[line("h200-[01-02]", what, why=why)]) is count
    other = [line("h200-[03-04]", what, why=why)]
    assert word(strike, reach=NOWHERE, unknown=other) is Count.UNPLANNED_SILENT


def test_diagnostics_that_are_not_made_have_a_reason() -> None:
    untold = Strike("h200", "gpu-diagnostics", "gpu-diagnostics@h200-02", "gpu-diagnostic-failed",
                    "h200-02", "gpu0")  # fmt: skip
    said = {"gpu_diagnostic_quick": "measured only at level nightly and signoff"}
    assert word(untold, reach=NOWHERE, not_applicable=said) is Count.UNPLANNED
    assert word(untold, reach=NOWHERE) is Count.UNPLANNED_SILENT


def test_below_every_limit_or_behind_a_gate_a_straggler_may_be_named() -> None:
    named = cause("straggler", "h200-02", "gpu5")
    assert word(SLOW_GPU, reach=BELOW, items=[]) is Count.BELOW
    assert word(SLOW_GPU, named, reach=BELOW) is Count.STRAGGLER
    assert word(SLOW_GPU, named, items=[BLOCKED]) is Count.STRAGGLER
    assert word(SLOW_GPU, named) is Count.SWALLOWED, "a limit was missed"
    assert word(SLOW_GPU, reach=BELOW, notes=["straggler: h200-02 gpu5"]) is Count.STRAGGLER
    assert wrong(verdict(named), SLOW_GPU) == []


@pytest.mark.parametrize(
    ("strike", "node", "device", "peer", "is_wrong"),
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
def test_a_straggler_whose_part_no_fault_slows_is_a_wrong_cause(
    strike: Strike, node: str, device: str, peer: str, *, is_wrong: bool
) -> None:
    named = cause("straggler", node, device, peer=peer)
    assert wrong(verdict(named), strike, reach=BELOW) == [named] * is_wrong
    assert (word(strike, named, reach=BELOW) is Count.STRAGGLER) is not is_wrong


def test_a_fault_that_comes_and_goes_must_be_named_only_if_it_came() -> None:
    rare = Strike("h200", "slow-node", "slow-node@h200-02,p=0.3", "slow-node", "h200-02")
    passed = RED | {"outcome": "passed"}
    assert word(rare, items=[passed]) is Count.IDLE
    assert word(rare, items=[passed, RED]) is Count.SWALLOWED
    assert word(SLOW_NODE, items=[passed]) is Count.SWALLOWED, "it is always there"


def test_a_node_that_would_have_stopped_later_must_not_be_named() -> None:
    stops = Strike("h200", "node-stops", "node-stops@h200-02", "node-unreachable", "h200-02")
    assert word(stops, items=[RED | {"outcome": "passed"}]) is Count.IDLE
    assert word(stops, items=[RED | {"outcome": "error"}]) is Count.SWALLOWED


def test_an_item_that_another_fault_makes_red_does_not_show_that_one_came() -> None:
    rare = Strike("h200", "slow-node", "slow-node@h200-02,after=30s", "slow-node", "h200-02")
    found = counted(Told((rare, SLOW_GPU), (SEEN, SEEN), verdict(), [RED]))
    assert [one.count for one in found] == [Count.IDLE, Count.SWALLOWED]


def test_what_is_harmless_must_not_be_named() -> None:
    assert word(HARMLESS) is Count.HARMLESS
    named = cause("nodes-differ", "tcpx02")
    assert wrong(verdict(named), HARMLESS) == [named]


def test_every_count_has_its_rule() -> None:
    for count in Count:
        assert count.value.partition(",")[0] in RULES, count


# --- what is drawn, and what can show it ---


def test_a_study_can_be_repeated_and_its_runs_do_not_depend_on_each_other() -> None:
    runs = [drawn(3, number, "smoke") for number in range(20)]
    assert [drawn(3, number, "smoke") for number in range(20)] == runs
    assert drawn(4, 0, "smoke") != runs[0]
    assert {run.platform for run in runs} == set(NODES) == set(SIZES)
    assert {len(run.struck) for run in runs} == set(range(1, MOST_FAULTS + 1))


def test_severities_and_courses_are_drawn_too() -> None:
    faults = [s.fault for n in range(60) for s in drawn(5, n, "smoke").struck]
    assert {"=" in fault for fault in faults} == {True, False}
    assert any(",p=" in fault for fault in faults)
    assert any(",after=" in fault for fault in faults)
    assert all(1 <= int(s) <= 20 for fault in faults for s in re.findall(r"=(\d+)%", fault))


def of_homelab(*struck: Strike) -> Drawn:
    return Drawn(0, "connectx4-homelab", 3, 1, "smoke", struck)


def homelab(name: str, place: str, cause: str | None = None) -> Strike:
    node, _, rest = place.partition(":")
    peer = rest.partition("=")[0] if name == "slow-path" else ""
    fault = f"{name}@{place}"
    return Strike(
        "connectx4-homelab", name, fault, cause or name, node.partition("=")[0], peer=peer
    )


def test_the_platform_file_says_which_severities_its_limits_can_see() -> None:
    sights = [reach(of_homelab(), homelab("slow-node", f"viper={n}%")).sight for n in (1, 20)]
    assert sights == [Sight.BELOW, Sight.LIMITS]


def test_a_path_that_the_level_does_not_take_is_not_in_its_plan() -> None:
    four = Drawn(0, "h200", 4, 1, "smoke", ())
    sights = Counter(
        reach(four, Strike("h200", "slow-path", f"slow-path@{one}:{other}", "slow-path", one,
                           peer=other)).sight
        for i, one in enumerate(NODES["h200"]) for other in NODES["h200"][i + 1 :]
    )  # fmt: skip
    assert sights[Sight.LIMITS] + sights[Sight.NOWHERE] == 6
    assert sights[Sight.LIMITS] > 0
    assert sights[Sight.NOWHERE] > 0


def test_what_shows_a_slow_node_is_on_that_node() -> None:
    found = reach(of_homelab(), homelab("slow-node", "viper"))
    shown = {"subject": "host_send_bandwidth", "pairing": "mlx5_0", "size_bytes": 8 << 20}
    names = ("viper", "columbia", "prometheus")
    pairs = [[one, other] for one in names for other in names if one != other]
    assert all(("viper" in p) >= found.shows(shown | {"nodes": p}) for p in pairs)
    assert any(found.shows(shown | {"nodes": pair}) for pair in pairs)


def test_only_collectives_with_the_gpu_show_its_wrong_results() -> None:
    wrong = Strike("mi300x", "corrupt", "corrupt@mi02:5", "data-corruption", "mi02")
    found = reach(Drawn(0, "mi300x", 3, 1, "smoke", (wrong,)), wrong)
    assert found.sight is Sight.LIMITS
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

    run = Drawn(4, "h200", 4, 1, "smoke", (SLOW_NODE,))
    return Outcome(run, (Counted(SLOW_NODE, count, "why"),), **more)


def test_the_goals_are_held_to_the_counts() -> None:
    good = [outcome(Count.EXACT, causes=1)] * 20
    assert sums(good).missed == []
    assert sums([*good, outcome(Count.AMONG)]).missed == [], "20 of 21"
    assert "95%" in sums([*good, *[outcome(Count.AMONG)] * 2]).missed[0]
    for bad in (Count.SWALLOWED, Count.MISNAMED, Count.GATED_SILENT, Count.UNPLANNED_SILENT):
        assert sums([*good, outcome(bad)]).missed, bad
    wrong = outcome(Count.EXACT, causes=1, wrong=("x",))
    assert "4.8% of the decided causes" in sums([*good, wrong]).missed[0]
    lost = Outcome(good[0].drawn, trouble="boom")
    assert sums([*good, lost]).missed == ["1 runs have no verdict"]


def test_the_page_says_what_was_missed_and_how_to_repeat_it() -> None:
    found = [outcome(Count.EXACT, causes=2, wrong=("slow-nic h200-03 mlx5_1 (likely)",)),
             outcome(Count.SWALLOWED), outcome(Count.BELOW)]  # fmt: skip
    text = page(found, _options(["--seed", "17"]))
    for wanted in ("seed 17, level smoke", "evidence simulated", "**swallowed** (why)", RULES,
                   "wrong cause: slow-nic h200-03 mlx5_1 (likely)",
                   "--lab-fault slow-node@h200-02=9%",
                   "- 1 measured faults are swallowed."):  # fmt: skip
        assert wanted in text, wanted
    assert len([line for line in misses(found) if line.startswith("- run")]) == 2


def test_a_study_of_two_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the smallest labs, which take the least time."""
    monkeypatch.setitem(SIZES, "connectx4-homelab", range(3, 4))
    target = tmp_path / "page.md"
    code = run(["--runs", "2", "--seed", "3", "--platform", "connectx4-homelab", "--jobs", "2",
                "--page", str(target)])  # fmt: skip
    out = capsys.readouterr().out
    assert "seed 3, 2 runs, level smoke" in out
    assert "2/2 run" in out
    assert "no verdict" not in out
    assert "2 runs of the embedded lab" in target.read_text()
    assert code == bool("missed: " in out)


def test_what_is_done_when_somebody_interrupts_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[int] = []

    def interrupted(number: int, _options: object) -> Outcome:
        begun.append(number)
        if number == 1:
            raise KeyboardInterrupt
        return outcome(Count.EXACT)

    monkeypatch.setattr(blind_study, "one", interrupted)
    monkeypatch.setattr(blind_study, "ProcessPoolExecutor", ThreadPoolExecutor)
    options = _options(["--runs", "3", "--seed", "1", "--jobs", "1"])
    assert [one.counted[0].count for one in blind_study.study(options)] == [Count.EXACT]
    assert "ended after 1 of 3 runs" in capsys.readouterr().out
    assert begun in ([0, 1], [0, 1, 2]), "at most the next one has begun"
