"""The reading of a node's error counters: the script as a shell runs it, and its output."""

import subprocess

import pytest

from railgauge.facts.counters import is_reading, parse_reading, reading_argv
from railgauge.stacks import stack

BOOT = "c7d8b893-3f62-4444-9b87-401c6634199b"
PORT = "sys/class/infiniband/mlx5_0/ports/1"
GPU, NIC = "0000:08:00.0", "0000:12:00.0"
ETHTOOL = """\
#!/bin/sh
[ "$1" = -S ] || exit 2
cat <<'END'
NIC statistics:
     rx_out_of_buffer: 990473555
     rx_vport_unicast_packets: 38460159194
     rx_pause_ctrl_phy: 4
     tx_pause_ctrl_phy: 5745055
     rx_discards_phy: 58591428329
     rx_prio0_bytes: 6211318150440
     rx_prio0_discards: 58591314012
     rx_prio3_pause: 12
     rx_prio3_pause_duration: 900
     tx_global_pause: 5745042
     rx_devmem_dropped: 3
     rx_queue_dropped[0]: 7
     ch0_events: 55
END
"""


@pytest.fixture
def root(tmp_path):
    files = {
        "proc/sys/kernel/random/boot_id": BOOT,
        f"{PORT}/counters/symbol_error": "7",
        f"{PORT}/counters/port_rcv_data": "123456",
        f"{PORT}/hw_counters/out_of_sequence": "18446744073709551615",
        f"sys/bus/pci/devices/{GPU}/class": "0x038000",
        f"sys/bus/pci/devices/{GPU}/aer_dev_correctable": "RxErr 4\nBadTLP 5\nTOTAL_ERR_COR 9",
        f"sys/bus/pci/devices/{GPU}/aer_dev_fatal": "DLP 0\nTOTAL_ERR_FATAL 0",
        "sys/bus/pci/devices/0000:00:01.0/class": "0x060400",
        "sys/bus/pci/devices/0000:00:01.0/aer_dev_correctable": "TOTAL_ERR_COR 5",
        "sys/class/infiniband/mlx5_0/device/aer_dev_nonfatal": "TOTAL_ERR_NONFATAL 2",
        "sys/class/infiniband/mlx5_0/device/net/net0/mtu": "1500",
        "sys/class/net/eth1/statistics/rx_dropped": "31",
    }
    for path, text in files.items():
        file = tmp_path / "root" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ethtool").write_text(ETHTOOL)
    (tmp_path / "bin" / "ethtool").chmod(0o755)
    return tmp_path / "root"


def printed(root, *nics, gpus=None):
    argv = reading_argv(str(root), gpus, nics, [str(root.parent / "bin")])
    return subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True).stdout


def test_every_counter_of_a_node_is_read_at_its_device(root):
    found = parse_reading(printed(root, "mlx5_0", "eth1"), None)
    assert (found.boot_id, found.failures) == (BOOT, ())
    shown = {
        "rx_pause_ctrl_phy": 4, "tx_pause_ctrl_phy": 5745055, "rx_discards_phy": 58591428329,
        "rx_prio0_discards": 58591314012, "rx_prio3_pause": 12, "rx_prio3_pause_duration": 900,
        "tx_global_pause": 5745042, "rx_devmem_dropped": 3,
    }  # fmt: skip
    assert found.counts == {
        "mlx5_0": {
            "symbol_error": 7, "out_of_sequence": 2**64 - 1, "aer_dev_nonfatal": 2, **shown,
        },
        "eth1": {"rx_dropped": 31, **shown},
        GPU: {"aer_dev_correctable": 9, "aer_dev_fatal": 0},
    }  # fmt: skip
    assert found.of("gpu0", GPU) == {"aer_dev_correctable": 9, "aer_dev_fatal": 0}


def test_only_the_requested_tools_are_run(root):
    text = printed(root)
    assert "ethtool" not in text
    assert "rx_devmem" not in text


def test_a_missing_tool_is_named(root):
    (root.parent / "bin" / "ethtool").unlink()
    argv = ["env", "PATH=/usr/bin:/bin", *reading_argv(str(root), stack("nvidia"), ["eth1"])]
    argv[argv.index("sh") + 2] = argv[argv.index("sh") + 2].replace(":/usr/sbin:/sbin", "")
    text = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True).stdout
    failures = parse_reading(text, stack("nvidia")).failures
    if not any("ethtool" in one for one in failures):
        pytest.skip("this machine has ethtool in /usr/bin")
    assert "nvidia-smi: command not found (exit 127)" in failures
    assert "ethtool: command not found (exit 127)" in failures


OLD_OPTION = "mx-smi: unrecognized option '--count-ecc'"


@pytest.mark.parametrize(("code", "says"), [(1, f"mx-smi-ecc: {OLD_OPTION} (exit 1)"), (0, "")])
def test_a_tool_too_old_for_the_option_is_quoted_and_the_release_named(root, code, says):
    """Also one that ends with 0 all the same, whose words no section would tell."""
    tool = root.parent / "bin" / "mx-smi"
    tool.write_text(f'#!/bin/sh\necho "{OLD_OPTION}" >&2\nexit {code}\n')
    tool.chmod(0o755)
    found = parse_reading(printed(root, gpus=stack("metax")), stack("metax"))
    needs = "mx-smi --count-ecc showed no counter of a GPU: that needs mx-smi 2.2.9 or later"
    assert found.failures == tuple(filter(None, (says, needs)))
    assert not any(device.startswith("gpu") for device in found.counts)


def test_a_reading_that_is_cut_off_is_reported(root):
    text = printed(root)
    cut = text[: text.index("end aer")]
    assert any("truncated" in one for one in parse_reading(cut, None).failures)
    assert "drops: the probe printed no such section" in parse_reading(cut, None).failures


def test_a_number_that_is_cut_off_is_no_counter(root):
    text = printed(root)
    cut = text[: text.index("out_of_sequence:") + len("out_of_sequence:1844")]
    assert "mlx5_0" not in parse_reading(cut, None).counts


def test_a_counter_that_is_printed_twice_with_other_values_is_left_out(root):
    text = printed(root)
    line = f"{PORT}/counters/symbol_error:7"
    forged = text.replace(line, f"{line}\n{line.replace(':7', ':0')}")
    assert "symbol_error" not in parse_reading(forged, None).counts["mlx5_0"]


@pytest.mark.parametrize("value", ["-1", "1.5", "", "0x10", "9" * 21, "7 8"])
def test_a_value_that_is_no_number_is_no_counter(root, value):
    text = printed(root).replace("symbol_error:7", f"symbol_error:{value}")
    assert "symbol_error" not in parse_reading(text, None).counts["mlx5_0"]


@pytest.mark.parametrize("text", ["", "\0", "railgauge-counters end boot_id 0\n", "x" * 100_000])
def test_any_text_gives_a_reading_without_counters(text):
    found = parse_reading(text, stack("nvidia"))
    assert (found.boot_id, dict(found.counts)) == (None, {})
    assert found.failures


def test_a_reading_of_another_version_is_one_and_that_of_other_nics_is_not():
    one, other = reading_argv("/", None, ["eth1"]), reading_argv("/", stack("amd"), ["eth1"])
    assert is_reading(one, other)
    assert not is_reading(one, reading_argv("/", None, ["eth2"]))
    assert not is_reading(one, reading_argv("/host", None, ["eth1"]))
    assert not is_reading(("cat", *one[1:]), one)
