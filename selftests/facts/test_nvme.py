"""The health of NVMe disks: what nvme-cli and smartctl print, and everything that is no health."""

from __future__ import annotations

import json

import pytest

from railgauge.core.errors import FactMissing
from railgauge.facts import require
from railgauge.facts.model import from_json, to_plain
from railgauge.facts.nvme import NO_DISK, NvmeSmart, read_smart

HEALTHY = NvmeSmart(0, 0, 100, 10, 3, 38)
CLI = {
    "critical_warning": 0, "temperature": 311, "avail_spare": 100, "spare_thresh": 10,
    "percent_used": 3, "media_errors": 0, "power_on_hours": 2160,
}  # fmt: skip
SMARTCTL = {
    "critical_warning": 0, "temperature": 38, "available_spare": 100,
    "available_spare_threshold": 10, "percentage_used": 3, "media_errors": 0,
}  # fmt: skip


def cli(**other):
    return json.dumps({**CLI, **other})


@pytest.mark.parametrize(
    "text",
    [
        cli(),
        cli(media_errors="0"),  # nvme-cli 2 writes counters of 128 bits as text
        cli(critical_warning={"value": 0, "available_spare": 0, "temp_threshold": 0}),
        json.dumps({"json_format_version": [1, 0], "nvme_smart_health_information_log": SMARTCTL}),
        f"smartctl warning\n{cli()}\n",
    ],
)
def test_the_health_is_read_from_both_tools(text):
    assert read_smart(text) == HEALTHY


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "{}", "Permission denied", cli()[:-40], cli(media_errors=None),
        cli(media_errors=-1), cli(media_errors=True), cli(media_errors="9" * 40),
        cli(media_errors=1.5), json.dumps({k: v for k, v in CLI.items() if k != "avail_spare"}),
        json.dumps({"nvme_smart_health_information_log": [0]}), "{" * 5_000, cli() + " " * 20_000,
    ],
)  # fmt: skip
def test_a_log_without_a_value_is_no_health(text):
    assert read_smart(text) is None


@pytest.mark.parametrize(
    ("log", "fault"),
    [
        ({"critical_warning": 1, "avail_spare": 4}, "available spare below its threshold"),
        ({"avail_spare": 9}, "spare 9 %, below 10 %"),
        ({"critical_warning": 2, "temperature": 353}, "temperature outside its thresholds (80 C)"),
        ({"critical_warning": 4}, "reliability degraded by media or internal errors"),
        ({"critical_warning": {"value": 8}}, "media read-only"),
        ({"critical_warning": 128}, "critical warning 0x80"),
        ({"media_errors": "12"}, "12 media errors"),
    ],
)
def test_each_fault_that_a_disk_reports_is_listed(log, fault):
    assert list(read_smart(cli(**log)).faults()) == [fault]


def test_a_healthy_node_has_healthy_disks(node):
    facts = node.facts(None)
    assert [one.name for one in facts.disks.controllers] == ["nvme0", "nvme1", "nvme10"]
    assert require(facts, "disks.faults") == require(facts, "disks.slow_links") == ()
    assert require(facts, "disks.used_percent") == 3
    assert from_json(to_plain(facts)) == facts


def test_one_disk_of_many_that_is_degraded_is_named(node):
    worn = cli(media_errors=2, percent_used=91)
    node.script("nvme", f"case $4 in *nvme1) echo '{worn}' ;; *) echo '{cli()}' ;; esac\n")
    node.write({"sys/class/nvme/nvme0/device/current_link_width": "2"})
    facts = node.facts(None)
    assert require(facts, "disks.faults") == ("nvme1: 2 media errors",)
    assert require(facts, "disks.used_percent") == 91
    assert require(facts, "disks.slow_links") == ("nvme0: PCIe 16 GT/s x2 of 16 GT/s x4",)


def test_one_disk_whose_log_is_not_read_leaves_the_health_unknown(node):
    """Seven healthy disks are no evidence of the eighth."""
    node.script("nvme", f"case $4 in *nvme1) echo 'Permission denied' ;; *) echo '{cli()}' ;; esac")
    facts = node.facts(None)
    for path in ("disks.faults", "disks.used_percent"):
        with pytest.raises(FactMissing, match="nvme1: SMART log: access denied") as error:
            require(facts, path)
        assert "become" in str(error.value.remedy)
    assert require(facts, "disks.slow_links") == ()


def test_a_link_without_a_speed_is_unknown(node):
    node.write({"sys/class/nvme/nvme1/device/current_link_speed": "Unknown"})
    with pytest.raises(FactMissing, match="nvme1: sysfs shows no PCIe link"):
        require(node.facts(None), "disks.slow_links")


def test_without_either_tool_the_remedy_is_to_install_one(node):
    (node.bin / "nvme").unlink()
    with pytest.raises(FactMissing, match="nvme: command not found") as error:
        require(node.facts(None), "disks.faults")
    assert "install it" in str(error.value.remedy)


def test_smartctl_is_run_if_nvme_is_not_installed(node):
    (node.bin / "nvme").unlink()
    node.tool("smartctl", json.dumps({"nvme_smart_health_information_log": SMARTCTL}))
    assert require(node.facts(None), "disks.faults") == ()


def test_a_node_without_disks_has_no_healthy_ones(bare):
    bare.write({"sys/class/net/lo/mtu": "65536"})
    with pytest.raises(FactMissing, match=NO_DISK):
        require(bare.facts(None), "disks.faults")


def test_disks_behind_a_network_are_not_the_nodes_own(node):
    for name in ("nvme0", "nvme1"):
        node.write({f"sys/class/nvme/{name}/transport": "tcp"})
    facts = node.facts(None)
    assert [one.name for one in facts.disks.controllers] == ["nvme10"]
    assert require(facts, "disks.faults") == ()
