"""The hostfile's storage: the paths that may be written, and the speeds that they must reach."""

from __future__ import annotations

import pytest
from testing.core_values import HOSTFILE_SCHEMA
from testing.places import ROOT

from railgauge.config import hostfile, thresholds
from railgauge.config.thresholds.storage import GROUP_STORAGE, NODE_STORAGE
from railgauge.core.errors import BadInput

HEAD = "cluster: c\nplatform: connectx4-homelab\nnodes: n[1-3]\n"
BASIS = "basis: the contract of the site"
LEAST = "read_mb_per_s: 5400"


def load(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return hostfile.load(path, schema_file=HOSTFILE_SCHEMA)


def on_site(cluster):
    platform = thresholds.load("connectx4-homelab", ROOT / "thresholds")
    return thresholds.on_site(platform, cluster, cluster.source)


def test_a_declared_mount_is_measured_and_limited(tmp_path):
    cluster = load(tmp_path, f"storage:\n  a: {{path: /scratch/b.c, {BASIS}, {LEAST}}}\n")
    assert cluster.storage["a"].least == {"read_mb_per_s": 5400.0}
    assert hostfile.cluster_from_json(hostfile.cluster_to_json(cluster)) == cluster
    (limit,) = on_site(cluster).measurements[NODE_STORAGE].limits
    assert (limit.floor, limit.unit, str(limit.basis)) == (
        5400.0, "MB/s", "hostfile: the contract of the site",
    )  # fmt: skip


def test_without_the_section_the_platform_is_what_its_file_says(tmp_path):
    made = on_site(load(tmp_path, ""))
    assert NODE_STORAGE not in made.measurements
    assert not any(one.tool == "fio" for one in made.measurements.values())


@pytest.mark.parametrize(
    "path",
    ["/", "scratch", "/a/../etc", "/a/", "/a:b", "/a b", "/.hidden", "~/x", "/a\\n/b", "//a"],
)
def test_a_path_that_could_be_another_one_is_refused(tmp_path, path):
    with pytest.raises(BadInput, match="storage"):
        load(tmp_path, f'storage:\n  a: {{path: "{path}", {BASIS}, {LEAST}}}\n')


@pytest.mark.parametrize(
    "mount",
    [
        f"path: /a, {LEAST}",  # no basis
        f"path: /a, {BASIS}",  # nothing to measure
        f"path: /a, {BASIS}, read_mb_per_s: 0",
        f"path: /a, {BASIS}, {LEAST}, seconds: 0",
        f"path: /a, {BASIS}, {LEAST}, reads: 5",
    ],
)
def test_a_mount_without_a_figure_or_its_basis_is_refused(tmp_path, mount):
    with pytest.raises(BadInput, match="storage"):
        load(tmp_path, f"storage:\n  a: {{{mount}}}\n")


def test_a_name_that_would_be_part_of_another_figure_is_refused(tmp_path):
    with pytest.raises(BadInput, match="storage"):
        load(tmp_path, f"storage:\n  a-b: {{path: /a, {BASIS}, {LEAST}}}\n")


def test_the_limit_of_all_nodes_at_once_is_the_average_of_a_node(tmp_path):
    more = "shared: true, fairness: 0.8, together_read_mb_per_s: 9000"
    cluster = load(tmp_path, f"storage:\n  a: {{path: /a, {BASIS}, {more}}}\n")
    platform = on_site(cluster)
    assert NODE_STORAGE not in platform.measurements
    limits = {one.metric: one for one in platform.measurements[GROUP_STORAGE].limits}
    assert (limits["shared_read"].floor, limits["fairness_read"].floor) == (9000.0, 0.8)
    assert (limits["corrupt"].ceiling, limits.keys() & {"shared_write"}) == (0.5, set())


@pytest.mark.parametrize(
    ("mounts", "why"),
    [
        ({"a": "shared: false, fairness: 0.8, together_read_mb_per_s: 9"}, "is not shared"),
        ({"a": "shared: true, together_read_mb_per_s: 9"}, "fairness"),
        ({"a": f"fairness: 0.8, {LEAST}"}, "shared"),
        (dict.fromkeys("ab", "shared: true, fairness: 1, together_read_mb_per_s: 9"), "a and b"),
    ],
)
def test_figures_of_all_nodes_need_one_shared_mount_and_a_fair_share(tmp_path, mounts, why):
    declared = "".join(
        f"  {name}: {{path: /a, {BASIS}, {more}}}\n" for name, more in mounts.items()
    )
    with pytest.raises(BadInput, match=why):
        load(tmp_path, f"storage:\n{declared}")
