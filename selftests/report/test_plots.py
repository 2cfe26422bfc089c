"""Plots of made-up records: what they show and what they leave out."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from testing.places import ROOT

from railgauge.config import hostfile, thresholds
from railgauge.core.model import Cluster, Judgement, Node, Outcome
from railgauge.judging.dispersion import TWO_GROUPS
from railgauge.judging.record import ItemRecord
from railgauge.report.plots import plots
from railgauge.report.plots.axes import around
from railgauge.report.plots.matrix import Cell
from railgauge.report.plots.pixels import PixelMap, rows_of

PLATFORM = thresholds.load("h200", ROOT / "thresholds")
MIB = 2**20


def cluster(count: int) -> Cluster:
    nodes = tuple(Node(f"n{i:04d}", f"n{i}", f"n{i}") for i in range(1, count + 1))
    return Cluster("made-up", "h200", "ssh", nodes, "made-up.yaml")


def judged(*values: float, floor: float = 370.0, **more) -> Judgement:
    worst = min(values)
    return Judgement(
        **{
            "metric": "bw_average",
            "outcome": Outcome.FAILED if worst < floor else Outcome.PASSED,
            "measured": f"{worst} Gb/s",
            "limit": f">= {floor} Gb/s",
            "basis": "derived: made up",
            "unit": "Gb/s",
            "values": values,
            "worst": worst,
            "floor": floor,
            "physical_ceiling": 400.0,
            "margin": worst / floor - 1,
            "size_bytes": 8 * MIB,
            **more,
        }
    )


def record(*judgements: Judgement, nodes=("n0001", "n0002"), number=0, **more) -> ItemRecord:
    worst = max((j.outcome for j in judgements), key=list(Outcome).index, default=Outcome.ERROR)
    return ItemRecord(
        **{
            "id": f"tests/network/test_rdma.py::test_it[{':'.join(nodes)}-{number}]",
            "rung": 1,
            "subject": "host_write_bandwidth",
            "title": "writes",
            "outcome": worst,
            "nodes": nodes,
            "pairing": "mlx5_0",
            "size_bytes": 8 * MIB,
            "judgements": judgements,
            **more,
        }
    )


def drawn(records, nodes=4, evidence="hardware"):
    found = {plot.name: plot for plot in plots(records, PLATFORM, cluster(nodes), evidence)}
    for plot in found.values():
        ElementTree.fromstring(plot.svg)
        assert "http" not in plot.svg.replace("http://www.w3.org/2000/svg", "")
    return found


def words(svg: str) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(svg).iter() if t.tag.endswith("}text")]


SIZE, PAIRS = "rung1-size-host_write_bandwidth-bw_average", "rung1-pairs-host_write_bandwidth"


def test_every_sample_is_a_point_and_what_missed_is_a_cross():
    more = record(judged(393.0, size_bytes=MIB), number=1)
    plot = drawn([record(judged(392.0, 391.0, 300.0)), more])[SIZE]
    assert plot.svg.count("<circle") == 3
    assert plot.svg.count("l7 7m0 -7l-7 7") == 1
    assert "crosses: 1 beyond the limit" in plot.caption


def test_the_ideal_of_a_collective_is_drawn_where_it_is_below_the_physical_ceiling():
    text = words(drawn([record(judged(392.0, ideal=395.0))])[SIZE].svg)
    assert "ideal 395" in text
    assert not any(word.startswith("physical") for word in text)


def test_groups_of_other_sizes_have_plots_and_ideals_of_their_own():
    four, eight = (tuple(f"n{i:04d}" for i in range(1, count + 1)) for count in (4, 8))
    found = drawn(
        [
            record(judged(392.0, ideal=395.0), nodes=four),
            record(judged(392.0, ideal=398.0), nodes=eight, number=1),
        ],
        nodes=8,
    )
    ideals = {name: [w for w in words(p.svg) if w.startswith("ideal")] for name, p in found.items()}
    assert "n[0001-0004]" in words(found[f"{SIZE}-4-nodes"].svg)
    assert "pair" not in found[f"{SIZE}-4-nodes"].caption
    assert ideals[f"{SIZE}-4-nodes"] == ["ideal 395"]
    assert ideals[f"{SIZE}-8-nodes"] == ["ideal 398"]


def test_floor_and_ideal_are_lines_with_their_numbers_and_axes_have_units():
    more = record(judged(393.0, ceiling=398.0, size_bytes=MIB), number=1)
    plot = drawn([record(judged(392.0, ceiling=398.0)), more])[SIZE]
    text = words(plot.svg)
    limits = {"floor 370", "physical 400", "ceiling 398"}
    assert {*limits, "message size", "8MiB", "1MiB"} <= set(text)
    assert "bw_average in Gb/s" in text
    assert plot.svg.count("<polyline") == 3
    assert len(set(re.findall(r'stroke-dasharray="([^"]*)"', plot.svg))) == 2


def test_a_better_sample_stands_higher():
    low, high = (drawn([record(judged(v, 395.0))])[SIZE] for v in (380.0, 390.0))
    feet = [max(float(y) for y in re.findall(r'cy="([\d.]+)"', p.svg)) for p in (low, high)]
    assert feet[0] > feet[1]


def test_many_samples_are_a_box_and_their_ends():
    plot = drawn([record(judged(*(380 + i / 10 for i in range(200))))])[SIZE]
    assert plot.svg.count("<circle") == 15 * 2  # at both nodes
    assert "n0001:n0002 mlx5_0: 380 Gb/s" in plot.svg
    assert "middle 90 %" in plot.caption


@pytest.mark.parametrize("evidence", ["simulated", "replayed"])
def test_every_plot_names_its_evidence_unless_it_is_hardware(evidence):
    samples = judged(390.0, 391.0, 392.0, 393.0)
    records = [record(samples), record(samples, rung=2, pairing="gpu0-mlx5_0", subject="gpu")]
    for plot in drawn(records, evidence=evidence).values():
        assert f"{evidence.upper()} evidence" in words(plot.svg)
    for plot in drawn(records).values():
        assert "evidence" not in plot.svg


def test_a_cell_holds_the_worst_margin_its_sample_and_a_letter():
    records = [record(judged(390.0)), record(judged(333.0), number=1)]
    plot = drawn(records)[PAIRS]
    text = words(plot.svg)
    assert {"-10.0%", "333 Gb/s", "F"} <= set(text)
    assert "+5.4%" not in text
    assert "F failed" in plot.caption
    assert text.count("·") == 15
    assert plot.svg.count("stroke-opacity") == 1  # hatched
    assert "stroke-opacity" not in drawn([record(judged(390.0))])[PAIRS].svg


def test_blocked_and_errors_are_letters_without_numbers():
    blocked = record(nodes=("n0003", "n0004"), outcome=Outcome.BLOCKED)
    broken = record(nodes=("n0002", "n0003"))
    plot = drawn([record(judged(390.0)), blocked, broken])[PAIRS]
    assert words(plot.svg).count("B") == 2
    assert "E error, " in plot.caption or "E error." in plot.caption


def pairs_of_many(count: int) -> list[ItemRecord]:
    """A ring of which one pair misses its limit and one is blocked."""
    names = [node.name for node in cluster(count).nodes]
    ring = [
        record(judged(390.0 if i != 10 else 200.0), nodes=(names[i], names[i + 1]), number=i)
        for i in range(0, count - 2, 2)
    ]
    return [*ring, record(nodes=(names[-2], names[-1]), outcome=Outcome.BLOCKED)]


def squares(svg: str) -> dict[str, str]:
    """Return place -> fill of each square with a tooltip."""
    found = re.findall(r'z" fill="([^"]*)"[^>]*><title>([^:<]*:?[^: <]*)', svg)
    return {place: fill for fill, place in found}


@pytest.mark.parametrize("count", [32, 128, 1024])
def test_large_clusters_show_each_pair_and_each_node(count):
    found = drawn(pairs_of_many(count), nodes=count)
    pairs, grid = found[PAIRS], found["rung1-nodes-host_write_bandwidth"]
    assert len(squares(pairs.svg)) == len(re.findall("<title>", pairs.svg)) - 1 == count / 2
    assert len(re.findall("<title>", grid.svg)) - 1 == count
    dark = [place for place, fill in squares(pairs.svg).items() if fill == "#7f1d1d"]
    assert dark == ["n0011:n0012"]
    assert words(grid.svg).count("F") == words(grid.svg).count("B") == 2
    for plot in (pairs, grid):
        assert "message size 8MiB" in words(plot.svg)
        assert "Red: beyond the limit" in plot.caption
        assert len(plot.svg) < 250 * count + 20_000


@pytest.mark.parametrize("count", [16, 17])
def test_up_to_sixteen_nodes_each_cell_has_its_number(count):
    found = drawn(pairs_of_many(count), nodes=count)
    assert ("+5.4%" in words(found[PAIRS].svg)) == (count == 16)
    assert ("rung1-nodes-host_write_bandwidth" in found) == (count == 17)


def test_rows_of_a_grid_hold_every_node_once_and_are_named_as_nodesets():
    for count in (1, 32, 33, 1250):
        names = [node.name for node in cluster(count).nodes]
        rows = rows_of(names)
        assert [name for row in rows.values() for name in row] == names
    assert next(iter(rows)) == "n[0001-0032]"


def test_names_on_an_axis_do_not_overlap():
    """Checked for nodes of one size and sizes of one sweep, with the width of a character."""
    sweep = [record(judged(390.0, size_bytes=2**n), number=n) for n in range(1, 31)]
    nodes = pairs_of_many(128)
    for records, count in ((sweep, 4), (nodes, 128)):
        text = drawn(records, nodes=count)[SIZE].svg
        labels = re.findall(
            r'<text x="([\d.]+)" y="240\.0" text-anchor="(\w+)"[^>]*>([^<]+)<', text
        )
        ends = [
            (float(x) - (3 * len(word) if anchor == "middle" else 0), 6 * len(word))
            for x, anchor, word in labels
        ]
        assert len(ends) > 3
        assert all(a + width <= b for (a, width), (b, _) in pairwise(ends))


def test_a_single_size_is_a_strip_of_points_by_node():
    plot = drawn([record(judged(390.0)), record(judged(391.0), nodes=("n0003", "n0004"), number=1)])
    text = words(plot[SIZE].svg)
    assert {"n0001", "n0002", "n0003", "n0004", "node"} <= set(text)
    assert "bw_average in Gb/s, at 8MiB" in text
    assert "message size" not in text
    assert plot[SIZE].svg.count("<circle") == 4


def test_very_many_squares_keep_the_tooltips_of_those_that_did_not_pass():
    names = [f"n{i}" for i in range(80)]
    cells = {(a, b): Cell("+1%", margin=0.01, hover=f"{a}:{b}") for a in names for b in names}
    cells["n1", "n2"] = Cell("-9%", margin=-0.09, letter="F", hover="n1:n2")
    shown = "".join(PixelMap(names, names, "from", "to", cells).shapes())
    assert re.findall("<title>([^<]*)", shown) == ["n1:n2"]


def test_gpus_and_nics_in_their_natural_order():
    records = [
        record(judged(390.0), rung=2, subject="gpu_write", pairing=f"gpu{g}-mlx5_{n}", number=g)
        for g, n in [(10, 2), (2, 10), (0, 0)]
    ]
    text = words(drawn(records)["rung2-gpu-nic-gpu_write"].svg)
    assert [w for w in text if w.startswith("gpu") and w[3:].isdigit()] == ["gpu0", "gpu2", "gpu10"]
    assert [w for w in text if w.startswith("mlx5")] == ["mlx5_0", "mlx5_2", "mlx5_10"]


def test_paths_across_rails_have_a_map_of_their_own():
    paths = ("gpu0-mlx5_0", "gpu4-mlx5_1:gpu0-mlx5_0", "gpu0-mlx5_0:gpu4-mlx5_1")
    records = [
        record(judged(value), rung=2, subject="gpu_write", pairing=path, number=number)
        for number, (path, value) in enumerate(zip(paths, (392.0, 391.0, 290.0), strict=True))
    ]
    found = drawn(records)
    on_rails = words(found["rung2-gpu-nic-gpu_write"].svg)
    assert "mlx5_0" in on_rails
    assert not any(":" in word and "mlx5" in word for word in on_rails)
    across = found["rung2-across-rails-gpu_write"]
    assert {"gpu0-mlx5_0", "gpu4-mlx5_1"} <= set(words(across.svg))
    hovers = re.findall(r"<g><title>([^<]*)</title>", across.svg)
    assert [hover for hover in hovers if "290" in hover] == [
        hover for hover in hovers if "gpu0-mlx5_0:gpu4-mlx5_1" in hover
    ]


def test_one_slow_gpu_link_is_drawn_in_its_cell():
    links = [(a, b) for a in range(4) for b in range(4) if a != b]
    records = [
        record(
            judged(40.0 if (a, b) == (1, 3) else 49.0, floor=47.0, unit="GB/s", size_bytes=None),
            rung=3, subject="gpu_copy", nodes=("n0001",), pairing=f"gpu{a}>gpu{b}", size_bytes=None,
        )
        for a, b in links
    ]  # fmt: skip
    plot = drawn(records)["rung3-gpu-links-gpu_copy"]
    hovers = re.findall(r"<g><title>([^<]*)</title>", plot.svg)
    assert [h for h in hovers if "1 failed" in h] == [
        next(h for h in hovers if "gpu1&gt;gpu3" in h)
    ]


def test_two_groups_are_marked_and_their_lower_samples_are_triangles():
    values = (390.0, 391.0, 60.0, 392.0, 61.0, 390.5, 60.5, 391.5)
    split = judged(*values, reason=f"bw_average {TWO_GROUPS} around 60.5 and 391 Gb/s")
    plot = drawn([record(split), record(judged(390.0, 391.0, 392.0, 390.5), number=1)])
    strip = plot["rung1-samples"]
    assert strip.svg.count("h8l-4 7z") == 3
    text = " ".join(words(strip.svg))
    assert "TWO GROUPS: 3 around 60.5, 5 around 391 Gb/s" in text
    assert "one group, cv 0.2%" in text
    assert "1 in two groups" in strip.caption


def test_groups_that_the_judgement_allows_are_not_marked():
    """Alternating columns of a healthy run split too; that is no finding."""
    values = (390.0, 392.0, 390.0, 392.0, 390.0, 392.0, 390.0, 392.0)
    strip = drawn([record(judged(*values))])["rung1-samples"]
    assert "TWO GROUPS" not in " ".join(words(strip.svg))
    assert "none in two groups" in strip.caption


def test_fewer_than_four_samples_make_no_strip():
    assert "rung1-samples" not in drawn([record(judged(390.0, 380.0, 370.0))])


def test_the_nic_that_carried_nothing_is_named():
    carried = tuple(("n0001", f"eth{i}", 0 if i == 3 else 4_000_000_000) for i in range(4))
    spread = Judgement(
        "traffic_spread", Outcome.FAILED, "n0001: within 100%", "within 10%", "003: made up",
        reason="eth3", points_at=(("n0001", "eth3"),), carried=carried,
    )  # fmt: skip
    plot = drawn([record(spread, rung=4, subject="pair_all_reduce", pairing="")])
    text = words(plot["rung4-traffic-pair_all_reduce"].svg)
    assert {"-100.0%", "+33.3%", "0 GB", "4 GB"} <= set(text)
    assert text.count("F") == 1


def test_a_run_without_measurements_has_no_plot():
    facts = Judgement("gpu_nic_link", Outcome.PASSED, "PIX", "PIX", "000: made up")
    assert drawn([]) == {}
    assert drawn([record()]) == {}
    assert drawn([record(facts, rung=0, nodes=("n0001",), pairing="gpu0-mlx5_0")]) == {}


def test_names_from_files_are_text_and_nothing_else():
    hostile = '"><script>alert(1)</script>'
    records = [record(judged(390.0, metric=hostile), pairing=hostile)]
    for plot in drawn(records).values():
        assert "<script" not in plot.svg


def test_a_wide_range_is_logarithmic_and_a_narrow_one_is_not():
    assert around([1.0, 100.0], 0, 100).log
    narrow = around([390.0, 392.0], 0, 100)
    assert not narrow.log
    for values in ([0.0, 0.0], [5.0, 5.0], [1e-9, 1e9], [-3.0, 2.0]):
        scale = around(values, 0, 100)
        assert all(0 <= scale.at(v) <= 100 for v in values)
        assert len(scale.marks) <= 21


def test_the_labs_hostfiles_are_of_platforms_that_can_be_drawn():
    """Each limit has a pointer, so that kinds of pairings are drawn separately."""
    declared = hostfile.load(
        ROOT / "hostfiles" / "lab-metax-c500.yaml", schema_file=ROOT / "hostfiles" / "schema.json"
    )
    platform = thresholds.load(declared.platform, ROOT / "thresholds")
    gpu = platform.measurements["gpu_write_bandwidth"]
    kinds = {"near": "gpu0-mlx5_0", "far": "gpu0-mlx5_1", "cross_rail": "gpu0-mlx5_0:gpu4-mlx5_1"}
    limits = [next(x for x in gpu.limits if kind in x.pairings) for kind in kinds]
    records = [
        record(
            judged(390.0, pointer=limit.pointer), rung=2, subject=gpu.name, pairing=name, number=i
        )
        for i, (limit, name) in enumerate(zip(limits, kinds.values(), strict=True))
    ]
    names = {plot.name for plot in plots(records, platform, cluster(4), "hardware")}
    assert {f"rung2-size-gpu_write_bandwidth-bw_average-{kind}" for kind in kinds} <= names
