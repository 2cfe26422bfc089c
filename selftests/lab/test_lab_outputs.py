"""The simulated tools print what the real ones printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from testing.lab_bench import Bench, StartLab, transcript

from railgauge_lab import tree

LAUNCH = Path(tree.__file__).with_name("launch.py")

# Options of client and server in the document; the cross GPU/NIC run uses two NICs.
TABLES = {
    "metax-ib_write_bw-host.txt": (("mlx5_0",), ("mlx5_0",)),
    "metax-ib_write_bw-gpu0-mlx5_0.txt": (("mlx5_0", "--use_maca=0"), ("mlx5_0", "--use_maca=0")),
    "metax-ib_write_bw-gpu4-mlx5_1.txt": (("mlx5_1", "--use_maca=4"), ("mlx5_0", "--use_maca=0")),
}
WRITE = ("--report_gbits", "-F", "-a")
ROW = re.compile(r" (\d+) +(\d+) +([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$")


def rows(text: str) -> list[list[float]]:
    return [[float(x) for x in m.groups()] for line in text.splitlines() if (m := ROW.match(line))]


def masked(text: str) -> list[str]:
    """The layout: each address and each digit is replaced by a placeholder.

    A random PSN is one digit shorter in one of sixteen runs, so their length is dropped too.
    """
    addresses = re.sub(r"0x[0-9a-f]+", "0xh", text)
    return re.sub(r"\d", "9", addresses).splitlines()


@pytest.mark.parametrize("name", TABLES)
def test_tables_agree_with_the_document(metax: Bench, name: str) -> None:
    client, server = (("ib_write_bw", "-d", *side, *WRITE) for side in TABLES[name])
    ran, _ = metax.pair(client, server)
    expected = transcript(name)
    assert ran.returncode == 0
    assert masked(ran.stdout) == masked(expected)
    assert len(rows(ran.stdout)) == 23
    for mine, real in zip(rows(ran.stdout), rows(expected), strict=True):
        assert mine == pytest.approx(real, rel=0.02)


def test_both_rails_have_the_figures_of_a_near_pairing(metax: Bench) -> None:
    """GPU4 with mlx5_1 at both ends is as fast as GPU0 with mlx5_0."""
    ran, _ = metax.pair(("ib_write_bw", "-d", "mlx5_1", *WRITE, "--use_maca=4"))
    near = transcript("metax-ib_write_bw-gpu0-mlx5_0.txt")
    for mine, real in zip(rows(ran.stdout), rows(near), strict=True):
        assert mine == pytest.approx(real, rel=0.02)


def test_each_side_prints_its_own_nic_and_counts_its_bytes(metax: Bench) -> None:
    def moved() -> list[int]:
        return [
            int(metax.read(node, f"sys/class/infiniband/{nic}/ports/1/counters/port_{way}_data"))
            for node, way in ((0, "xmit"), (1, "rcv"))
            for nic in ("mlx5_0", "mlx5_1")
        ]

    before, small = moved(), ("--report_gbits", "-F", "-s", "1048576")
    client = ("ib_write_bw", "-d", "mlx5_1", *small, "--use_maca=4")
    ran, server = metax.pair(client, ("ib_write_bw", "-d", "mlx5_0", *small, "--use_maca=0"))
    assert "Device         : mlx5_1" in ran.stdout
    assert "Device         : mlx5_0" in server.stdout
    grown = [now - then for then, now in zip(before, moved(), strict=True)]
    payload_words = 5000 * 1048576 // 4
    assert [words >= payload_words for words in grown] == [False, True, True, False]


def test_far_pairing_has_the_figures_of_the_cross_run(metax: Bench) -> None:
    argv = ("ib_write_bw", "-d", "mlx5_0", "--report_gbits", "-F", "-a", "--use_maca=6")
    far, _ = metax.pair(argv)
    assert "PCI Bus ID: 0x3b" in far.stdout
    assert rows(far.stdout)[0][3] == pytest.approx(0.061382)
    assert rows(far.stdout)[-1][3] == pytest.approx(392.51)


def test_send_bandwidth_of_the_homelab_agrees_with_the_document(homelab: Bench) -> None:
    ran, server = homelab.pair(("ib_send_bw", "-d", "mlx5_0", "-i", "1", "-a"))
    table = rows(ran.stdout)
    assert table[0] == [2, 1000, 7.79, 7.40, 3.879797]
    assert [row[3] for row in table if row[0] >= 1024] == [3776.9] * 14
    assert all(row[2] == 0.0 for row in rows(server.stdout)), "a server of sends prints no peak"
    expected = transcript("cx4-ib_send_bw-truncated.txt").splitlines()
    output = [" ".join(line.split()) for line in (ran.stdout + ran.stderr).splitlines()]
    for line in expected:
        if "address" not in line:
            assert " ".join(line.split()) in output


def test_four_queue_pairs_reach_the_same_plateau(homelab: Bench) -> None:
    argv = ("ib_send_bw", "-d", "mlx5_0", "-i", "1", "-a", "-q", "4", "--disable_pcie_relaxed")
    ran, _ = homelab.pair(argv)
    assert rows(ran.stdout)[-1][1:4] == [4000, 3776.9, 3776.9]
    assert ran.stdout.count("local address") == 4
    assert "PCIe relax order: OFF" in ran.stdout
    assert "WARNING" not in ran.stdout


def test_send_latency_of_the_homelab_agrees_with_the_document(homelab: Bench) -> None:
    ran, _ = homelab.pair(("ib_send_lat", "-d", "mlx5_0", "-i", "1"))
    row = next(line for line in ran.stdout.splitlines() if line.startswith(" 2 "))
    assert row.split()[:6] == ["2", "1000", "1.06", "11.41", "1.14", "1.15"]
    assert "99.9% percentile[usec]" in ran.stdout
    assert "Max inline data : 236[B]" in ran.stdout


@pytest.mark.parametrize("tool", ["ib_read_bw", "ib_send_bw", "ib_write_bw"])
@pytest.mark.parametrize("unit", [(), ("--report_gbits",)], ids=["MiB", "Gb"])
def test_each_rows_bandwidth_and_message_rate_agree(
    noisy: Bench, tool: str, unit: tuple[str, ...]
) -> None:
    ran, _ = noisy.pair((tool, "-a", "-F", *unit))
    table = rows(ran.stdout)
    assert len(table) == 23
    for size, _, peak, average, mpps in table:
        computed = size * mpps * 8 / 1000 if unit else size * mpps * 1e6 / 2**20
        tolerance = 0.5e-6 * size * (8e-3 if unit else 1e6 / 2**20)
        assert average == pytest.approx(computed, abs=0.0051 + tolerance)
        assert peak >= average
        assert average * (1 if unit else 2**20 * 8 / 1e9) < 400


def test_repeats_differ_and_labs_with_the_same_seed_agree(noisy_twin: tuple[Bench, Bench]) -> None:
    argv = ("ib_write_bw", "-a", "-F", "--report_gbits")
    one, two = noisy_twin
    once, again = rows(one.pair(argv)[0].stdout), rows(one.pair(argv)[0].stdout)
    assert once != again
    assert [once, again] == [rows(two.pair(argv)[0].stdout) for _ in range(2)]


def test_noise_is_as_large_as_in_the_documents(metax: Bench, noisy: Bench) -> None:
    argv = ("ib_write_bw", "-a", "-F", "--report_gbits")
    quiet, once = (rows(one.pair(argv)[0].stdout) for one in (metax, noisy))
    losses = [1 - b[4] / a[4] for a, b in zip(quiet, once, strict=True)]
    assert all(-1e-4 <= loss <= 0.0201 for loss in losses[:12])
    assert max(losses[:12]) > 0.005
    assert all(-1e-4 <= loss <= 0.0012 for loss in losses[16:])


def test_the_server_prints_the_clients_figures_in_its_own_unit(metax: Bench) -> None:
    client = ("ib_write_bw", "-F", "--report_gbits")
    ran, server = metax.pair(client, ("ib_write_bw", "-F"))
    assert "BW average[MiB/sec]" in server.stdout
    assert rows(server.stdout) == rows(ran.stdout)
    assert rows(server.stdout)[0][3] == pytest.approx(355.27, rel=0.01)
    small, server = metax.pair((*client, "-s", "2"), ("ib_write_bw", "-F", "-s", "2"))
    assert "0.057270" in small.stdout
    assert "0.057270" not in server.stdout, "the message rate has six digits only with Gb/s"


def test_the_json_file_holds_the_last_size_only(homelab: Bench) -> None:
    ran, _ = homelab.pair(("ib_send_bw", "-a", "-F", "--out_json", "--out_json_file=bw.json"))
    document = json.loads((homelab.home(0) / "bw.json").read_text())
    assert ran.returncode == 0
    assert document["results"]["MsgSize"] == 2**23
    assert document["results"]["BW_average"] == 3776.9
    assert document["test_info"]["test"] == "Send_BW_Test"


def test_traffic_moves_the_byte_counters(homelab: Bench) -> None:
    counters = "sys/class/infiniband/mlx5_0/ports/1/counters"
    sent = int(homelab.read(0, f"{counters}/port_xmit_data"))
    received = int(homelab.read(1, f"{counters}/port_rcv_data"))
    homelab.pair(("ib_write_bw", "-F", "-s", "1M", "-n", "100"))
    words = 100 * 2**20 // 4
    assert int(homelab.read(0, f"{counters}/port_xmit_data")) - sent == words
    assert int(homelab.read(1, f"{counters}/port_rcv_data")) - received == words


def test_duration_and_bidirectional_options_work_together(metax: Bench) -> None:
    ran, _ = metax.pair(("ib_write_bw", "-F", "-D", "2", "-b", "--report_gbits", "-s", "8388608"))
    size, _, peak, average, _ = rows(ran.stdout)[0]
    assert "RDMA_Write Bidirectional BW Test" in ran.stdout
    assert (size, peak) == (8388608, 0.0)
    assert 700 < average < 800


OVERVIEWS = {
    "metax-mx-smi.txt": ("mx-smi",),
    "metax-mx-smi-topo.txt": ("mx-smi", "topo", "-n"),
    "metax-ibdev2netdev.txt": ("ibdev2netdev", "-v"),
    "metax-show_gids.txt": ("show_gids",),
    "metax-show_counters.txt": ("show_counters", "mlx5_0"),
    "metax-lspci-vt.txt": ("lspci", "-vt"),
    "metax-cpupower-frequency-info.txt": ("cpupower", "frequency-info"),
}


@pytest.mark.parametrize("name", OVERVIEWS)
def test_overviews_agree_with_the_document(metax: Bench, name: str) -> None:
    ran = metax.run(0, *OVERVIEWS[name])
    printed, expected = (
        re.sub(r"(Timestamp +: ).*", r"\1", text).expandtabs().rstrip().splitlines()
        for text in (ran.stdout, transcript(name))
    )
    assert ran.returncode == 0
    if name == "metax-show_gids.txt":
        # The document's headings moved when its tabs were replaced by spaces.
        printed, expected = printed[2:], expected[2:]
    assert [line.rstrip() for line in printed] == [line.rstrip() for line in expected]


def test_acs_is_off_at_each_bridge(metax: Bench) -> None:
    lines = metax.run(0, "lspci", "-vvv").stdout.splitlines()
    printed = [line.expandtabs() for line in lines if "ACSCtl" in line]
    assert printed == transcript("metax-lspci-acsctl.txt").splitlines()


def test_devices_of_the_homelab_agree_with_the_document(homelab: Bench) -> None:
    ran = homelab.run(1, "ibv_devices")
    expected = transcript("cx4-ibv_devices.txt").splitlines()
    assert [line.split() for line in ran.stdout.splitlines()] == [line.split() for line in expected]
    assert "248a070300ac5610" in homelab.run(2, "ibv_devices").stdout
    assert "Rate: 40\n" in homelab.run(1, "ibstat").stdout
    assert homelab.run(1, "ibstat", "-l").stdout == "mlx5_0\n"
    assert "PORT_ACTIVE (4)" in homelab.run(1, "ibv_devinfo").stdout
    assert homelab.run(0, "cat", "root/proc/modules").stdout.count("nvidia_peermem ") == 1


def test_a_missing_tool_is_not_on_path(homelab: Bench) -> None:
    bin_folder = homelab.home(0) / "bin"
    assert not (bin_folder / "mx-smi").exists()
    assert not (bin_folder / "hostname").exists()
    assert homelab.run(0, "sh", "-c", "mx-smi").returncode == 127


def test_each_node_has_its_own_identity(metax: Bench) -> None:
    assert metax.read(1, "proc/sys/kernel/hostname") == "mx02\n"
    guids = {metax.read(i, "sys/class/infiniband/mlx5_0/node_guid") for i in range(3)}
    lids = {metax.read(i, "sys/class/infiniband/mlx5_0/ports/1/lid") for i in range(3)}
    assert len(guids) == len(lids) == 3
    assert metax.read(0, "sys/class/infiniband/mlx5_0/ports/1/rate") == "400 Gb/sec (4X NDR)\n"
    device = "sys/class/infiniband/mlx5_0/device"
    assert metax.read(0, f"{device}/current_link_speed") == "32.0 GT/s PCIe\n"
    assert metax.read(0, "sys/bus/pci/devices/0000:12:00.0/vendor") == "0x15b3\n"


# --- ethtool -S, which a shell prints ---


@pytest.mark.parametrize("platform", ["h100-tcpx", "mi300x"])
def test_a_shell_prints_what_the_simulated_ethtool_prints(
    platform: str, start_lab: StartLab
) -> None:
    bench = start_lab(platform)
    home = bench.home(0)
    for path in home.glob("root/sys/class/net/*/statistics/*"):
        path.write_text(f"{len(path.name)}\n")
    for path in home.glob("ethtool/*/*"):
        path.write_text(f"{2**63 + len(path.name)}\n")
    netdevs = sorted(path.name for path in home.glob("root/sys/class/net/*"))
    assert netdevs
    for words in (
        *(("-S", name) for name in netdevs),
        ("-S", "absent"),
        ("-S",),
        ("-i", netdevs[0]),
    ):
        reported = bench.run(0, "ethtool", *words)
        launch = [sys.executable, "-SE", LAUNCH, "ethtool", home / "node", *words]
        due = subprocess.run(launch, capture_output=True, text=True, check=False)
        assert (reported.stdout, reported.stderr, reported.returncode) == (
            due.stdout, due.stderr, due.returncode
        )  # fmt: skip


def test_an_ethtool_that_is_broken_or_may_be_is_the_simulated_one(start_lab: StartLab) -> None:
    plain, broken, comes = (
        start_lab("h100-tcpx", *faults).home(0) / "bin" / "ethtool"
        for faults in ((), ("tool-silent@tcpx01:ethtool",), ("slow-gpu@tcpx01,p=0.5",))
    )
    assert [path.is_symlink() for path in (plain, broken, comes)] == [False, True, True]
