"""What a site's network needs of perftest: ``perftest:`` of the hostfile, options, and checks."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from testing import diagnose_scenes
from testing.places import ROOT, SHARED

from railgauge.config.hostfile import cluster_from_json, cluster_to_json
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput, OtherThanAsked
from railgauge.core.model import Case, Cluster, Pairing, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.diagnosis import diagnose
from railgauge.judging.assess import Measured, read
from railgauge.planning.plan import commands
from railgauge.run import inputs
from railgauge.tools.perftest import parse

HOST = Case("host_write_bandwidth", ("n1", "n2"), Pairing("mlx5_0"), (8388608,))
GPU = Case("gpu_write_bandwidth", ("n1", "n2"), Pairing("mlx5_0", 0, "near"), (8388608,))
ROCE = {"gid_index": 3, "traffic_class": 106, "service_level": 3, "mtu": 4096}


def site(tmp_path: Path, platform: str = "h200", **perftest: Any) -> tuple[Cluster, Platform]:
    path = tmp_path / "site.yaml"
    given = {"cluster": "c", "platform": platform, "nodes": "n[1-2]", "perftest": perftest}
    given["fabric"] = {"none": "no switch of ours in this test"}
    path.write_text(json.dumps(given))
    return inputs.site(path, ROOT)


def argv(known: tuple[Cluster, Platform], case: Case = HOST) -> tuple[tuple[str, ...], ...]:
    cluster, platform = known
    return tuple(one.argv for one in commands(case, platform, cluster, 18515))


def with_options(known: tuple[Cluster, Platform], case: Case, **options: Any) -> Platform:
    platform = known[1]
    own = platform.measurements[case.measurement]
    changed = replace(own, options={**own.options, **options})
    return replace(platform, measurements={**platform.measurements, own.name: changed})


# --- the commands ---


def test_both_sides_get_the_site_s_settings(tmp_path: Path) -> None:
    for side in argv(site(tmp_path, **ROCE)):
        for words in (("-x", "3"), ("-S", "3"), ("-m", "4096")):
            assert words in itertools.pairwise(side)
        assert "--tclass=106" in side


def test_options_of_the_platform_file_reach_the_command(tmp_path: Path) -> None:
    cluster, _ = known = site(tmp_path, gid_index=1)
    platform = with_options(known, HOST, inline_bytes=64, cq_moderation=16, gid_index=1)
    for side in argv((cluster, platform)):
        assert ("-I", "64") in itertools.pairwise(side)
        assert ("-Q", "16") in itertools.pairwise(side)


def test_the_site_s_setting_replaces_the_platform_file_s(tmp_path: Path) -> None:
    _, platform = site(tmp_path, gid_index=5)
    assert platform.measurements["host_write_bandwidth"].options["gid_index"] == 5
    assert "gid_index" not in platform.measurements["pair_all_reduce"].options


def test_dmabuf_is_of_gpu_memory_alone(tmp_path: Path) -> None:
    known = site(tmp_path, dmabuf=True)
    assert all("--use_cuda_dmabuf" in side for side in argv(known, GPU))
    assert not any("--use_cuda_dmabuf" in side for side in argv(known, HOST))


@pytest.mark.parametrize(
    ("case", "options", "says"),
    [
        (HOST, {"dmabuf": True}, "dmabuf is of GPU memory"),
        (HOST, {"mtu": 9000}, "mtu is 9000"),
        (HOST, {"traffic_class": 256}, "traffic_class is 256"),
        (HOST, {"service_level": 16}, "service_level is 16"),
        (GPU, {"inline_bytes": 64}, "nothing inline"),
        (replace(HOST, measurement="host_read_bandwidth"), {"inline_bytes": 64}, "nothing inline"),
        (replace(HOST, measurement="host_write_latency"), {"cq_moderation": 4}, "no CQ moderation"),
        (HOST, {"gid_index": "3"}, "gid_index"),
        (HOST, {"tclass": 3}, "unknown option tclass"),
    ],
)
def test_what_perftest_would_refuse_or_ignore_is_refused(
    tmp_path: Path, case: Case, options: dict[str, Any], says: str
) -> None:
    cluster, _ = known = site(tmp_path, gid_index=1)
    with pytest.raises(BadInput, match=says):
        argv((cluster, with_options(known, case, **options)), case)


def test_a_vendor_without_dmabuf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no DMA-BUF for this vendor"):
        site(tmp_path, platform="metax-c500", dmabuf=True)


@pytest.mark.parametrize(
    "wrong", [{}, {"mtu": 1500}, {"gid_index": -1}, {"inline_bytes": 4}, {"dmabuf": 1}]
)
def test_the_hostfile_takes_only_what_the_network_needs(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match="perftest"):
        site(tmp_path, **wrong)


def test_the_hostfile_keeps_the_settings(tmp_path: Path) -> None:
    cluster, _ = site(tmp_path, **ROCE, dmabuf=True)
    assert cluster_from_json(json.loads(json.dumps(cluster_to_json(cluster)))) == cluster


# --- DMA-BUF in place of the peer-memory module ---


def test_dmabuf_needs_no_peer_memory_module(tmp_path: Path) -> None:
    _, plain = site(tmp_path, gid_index=1)
    _, by_dmabuf = site(tmp_path, dmabuf=True)
    assert plain.expected["peer_memory"].value == ["nvidia_peermem"]
    assert by_dmabuf.expected["peer_memory"].value == ["dma-buf"]
    assert "kernel_module" in plain.expected
    assert "kernel_module" not in by_dmabuf.expected
    assert "DMA-BUF" in by_dmabuf.not_applicable["kernel_module"]


def test_other_modules_stay_required(tmp_path: Path) -> None:
    _, platform = site(tmp_path, platform="connectx4-homelab", dmabuf=True)
    assert platform.expected["boot_module"].value == ["ib_ipoib", "ib_umad", "ib_uverbs"]


def test_a_node_without_dmabuf_gets_a_remedy(tmp_path: Path) -> None:
    _, platform = site(tmp_path, dmabuf=True)
    plain = diagnose_scenes.run_results([diagnose_scenes.fact("n1", "peer_memory")])
    facts = {"n1": replace(diagnose_scenes.healthy("n1"), peer_memory=("nvidia_peermem",))}
    (found,) = diagnose(replace(plain, platform=platform, found=facts))
    assert found.cause == "gpudirect-rdma-disabled"
    assert "DMA-BUF needs Linux 5.12 or newer" in found.says


# --- asked and done ---

BANNER = """\
initializing CUDA
Listing all CUDA devices in system:
CUDA device 0: PCIe address is 18:00

Picking device No. 0
[pid = 29, dev = 0] device name = [NVIDIA H200]
creating CUDA Ctx
{dmabuf}"""
DMABUF = "using DMA-BUF for GPU buffer address at 0x7 aligned at 0x7 with aligned size 16777216\n"
HEADER = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
 Connection type : RC           Using SRQ      : OFF
 CQ Moderation   : {cq}
 Mtu             : {mtu}[B]
 Link type       : IB
 GID index       : {gid}
 Max inline data : {inline}[B]
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    5000             392.42             392.40               0.005847
---------------------------------------------------------------------------------------
"""
PLAIN = {"cq": 100, "mtu": 4096, "gid": 3, "inline": 0}


def measured(known: tuple[Cluster, Platform], case: Case, text: str) -> Measured:
    cluster, platform = known
    sides = zip(commands(case, platform, cluster, 1), ("server", "client"), strict=True)
    run = [Transcript(one.node, one.argv, 0, text, "", 1.0, role=Role(role)) for one, role in sides]
    return read(platform, case, CaseResult((tuple(reversed(run)),)))


def test_output_with_the_requested_settings_agrees(tmp_path: Path) -> None:
    found = measured(site(tmp_path, **ROCE), HOST, HEADER.format(**PLAIN))
    assert {"traffic class", "service level"} <= set(found.runs[0].not_shown)


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        ({"gid": 1}, "GID index: asked for 3, the tool says 1"),
        ({"mtu": 1024}, "MTU: asked for 4096, the tool says 1024"),
    ],
)
def test_another_network_than_asked_is_an_error(
    tmp_path: Path, printed: dict[str, int], says: str
) -> None:
    with pytest.raises(OtherThanAsked, match=says):
        measured(site(tmp_path, **ROCE), HOST, HEADER.format(**{**PLAIN, **printed}))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cq_moderation": 16}, "CQ moderation: asked for 16, the tool says 100"),
        ({"inline_bytes": 64}, "bytes sent inline: asked for 64, the tool says 0"),
    ],
)
def test_other_queues_than_asked_are_an_error(
    tmp_path: Path, options: dict[str, int], says: str
) -> None:
    cluster, _ = known = site(tmp_path, gid_index=3)
    platform = with_options(known, HOST, **options)
    with pytest.raises(OtherThanAsked, match=says):
        measured((cluster, platform), HOST, HEADER.format(**PLAIN))


def in_gpu(dmabuf: bool) -> str:
    return BANNER.format(dmabuf=DMABUF if dmabuf else "") + HEADER.format(**PLAIN)


def test_gpu_memory_by_dmabuf_as_asked_agrees(tmp_path: Path) -> None:
    measured(site(tmp_path, dmabuf=True), GPU, in_gpu(dmabuf=True))
    measured(site(tmp_path, gid_index=3), GPU, in_gpu(dmabuf=False))


@pytest.mark.parametrize("asked", [True, False])
def test_gpu_memory_registered_otherwise_is_an_error(tmp_path: Path, asked: bool) -> None:
    known = site(tmp_path, dmabuf=True) if asked else site(tmp_path, gid_index=3)
    with pytest.raises(OtherThanAsked, match=f"DMA-BUF: asked for {asked}"):
        measured(known, GPU, in_gpu(dmabuf=not asked))


def test_a_recorded_output_shows_dmabuf_and_queues() -> None:
    path = SHARED / "corpus" / "perftest" / "013-ib_write_bw-a-cuda-dmabuf-h200-slow.txt"
    if not path.exists():
        pytest.skip("recorded output is not beside this checkout")
    summary = parse(path.read_text(encoding="utf-8")).summary
    assert (summary["dmabuf"], summary["cq_moderation"], summary["inline_bytes"]) == (True, 100, 0)
