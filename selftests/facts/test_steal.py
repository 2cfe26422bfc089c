"""Which nodes are virtual, and what a hypervisor took from them."""

import pytest

from railgauge.facts.host import parse_virtual
from railgauge.facts.steal import StolenTime, parse, readers

FLAGS = "processor\t: 0\nmodel name\t: AMD EPYC 9654\nflags\t\t: fpu vme{} sse2\n\n"
VENDOR, PRODUCT = "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"


def reading(worked=0, stolen=0, idle=0, wait=0, running=1):
    ticks = f"cpu  {1000 + worked} 0 0 {5000 + idle} {100 + wait} 0 0 {stolen} 0 0"
    return f"{ticks}\nprocs_running {running}\n"


# --- virtual or not ---


@pytest.mark.parametrize(("flag", "virtual"), [("", False), (" hypervisor", True)])
def test_processors_of_x86_show_whether_a_node_is_virtual(node, flag, virtual):
    node.write({"proc/cpuinfo": FLAGS.format(flag), VENDOR: "QEMU"})
    assert node.facts(None).virtual is virtual


def test_a_flag_that_only_looks_like_it_is_not_it(node):
    node.write({"proc/cpuinfo": FLAGS.format(" nohypervisor hypervisor_x")})
    assert node.facts(None).virtual is False


@pytest.mark.parametrize(
    ("vendor", "product", "virtual"),
    [
        ("QEMU", "KVM Virtual Machine", True),
        ("Microsoft Corporation", "Virtual Machine", True),
        ("Microsoft Corporation", "Surface Laptop", False),
        ("Google", "Google Compute Engine", True),
        ("Amazon EC2", "c7g.16xlarge", True),
        ("Amazon EC2", "c7g.metal", False),
        ("Dell Inc.", "PowerEdge XE9680", False),
    ],
)
def test_on_other_processors_the_firmware_shows_it(node, vendor, product, virtual):
    arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
    node.write({"proc/cpuinfo": arm, VENDOR: vendor, PRODUCT: product})
    assert node.facts(None).virtual is virtual


def test_a_node_that_shows_nothing_is_unknown(node):
    assert parse_virtual("") is None
    facts = node.facts(None)
    assert facts.virtual is False  # its firmware names a server


# --- what was stolen ---


def test_the_share_is_that_of_the_time_in_which_the_cpus_wanted_to_work():
    """One busy thread on a node of many CPUs, of which the others are idle."""
    load = parse(reading(), reading(worked=90, stolen=10, idle=9000, wait=50, running=3))
    assert load == StolenTime(10, 100, (1, 3))
    assert (load.share, load.is_busy) == (0.1, True)


@pytest.mark.parametrize(
    "after",
    [
        reading(worked=96, stolen=4),  # less than the share
        reading(worked=10, stolen=4),  # too few ticks to tell
        reading(worked=100),
        reading(),
    ],
)
def test_a_smaller_share_is_not_steal(after):
    assert not parse(reading(), after).is_busy


@pytest.mark.parametrize(
    "broken",
    [
        "", "cpu  1 2 3", reading().replace("procs_running", "procs"), reading(worked=-1),
        reading().replace("cpu ", "cpu0"), reading().replace(" 0 0 0", " x"), reading(stolen=-1),
    ],
)  # fmt: skip
def test_unusable_readings_give_no_share(broken):
    assert parse(reading(), broken) is None


def test_the_counter_of_waiting_for_a_disk_may_decrease():
    assert parse(reading(wait=5), reading(worked=90, stolen=10)).share == 0.1


def test_the_reading_is_one_command_below_the_root_of_the_host():
    one, other = readers(("n1", "n2"), "/host/")
    assert (one.node, other.node) == ("n1", "n2")
    assert one.argv == other.argv == ("grep", "-E", "^(cpu|procs_running) ", "/host/proc/stat")
    assert one.plain
