"""The clocks and throttle reasons of MetaX: a node makes one line of each block."""

import subprocess

import pytest
from testing.gpu_samples import BOOT, began, stamped

from railgauge.config.thresholds.telemetry import read_telemetry
from railgauge.core.errors import TelemetryUnread, ThresholdError
from railgauge.stacks import stack
from railgauge.stacks.sampling import (
    CAP,
    CLOCK,
    HEAT,
    LOAD,
    POWER,
    last_of_each,
    parse_samples,
    sampling_argv,
)

LOOP, LISTINGS = stack("metax").samplers
REASONS = (
    "Idle", "Applications Limit", "Over Power", "Chip Over Temperature", "VR Over Temperature",
    "Hbm Over Temperature", "Thermal Over Temperature", "Pcc", "Power Brake", "Didt", "Low Usage",
    "Other",
)  # fmt: skip
HEADING = """\
mx-smi  version: 2.2.12

=================== MetaX System Management Interface Log ===================
Timestamp                                         : Tue Nov 24 18:20:00 2026

Attached GPUs                                     : 2
"""
SAYS = "each line is the block of a GPU"


def block(gpu=0, *active, mhz="1125 MHz", heat=" 61.50 C"):
    """A block in the form of 2.2.12, in which blanks follow some values."""
    reasons = [f"        {r:<42}: {'Active' if r in active else 'Not Active'} " for r in REASONS]
    lines = [
        f"GPU#{gpu}  MXC500  0000:0{gpu}:00.0",
        "    Chip Temperature",
        f"        hotspot(sensor{gpu})                          : {heat}",
        "    Board Temperature",
        "        DrMOS_soc                                 :  31.00 C",
        "",
        "    Board Power",
        "        Way 0                                     :  25.789 W",
        "        Total                                     : 310.250 W",
        "        Limit                                     : 350.000 W",
        "    Utilization",
        "        GPU                                       : 99 %",
        "    Clock",
        f"        XCORE                                     : {mhz}",
        "        MC                                        : 1800 MHz",
        "",
        "    Xcore Clocks Throttle Reason",
        *reasons,
        "",
    ]
    return "\n".join(lines) + "\n"


def ran(tmp_path, text, code=0, times=1):
    """What the node prints if the tool prints a text, ``times`` times, and then nothing."""
    boot = tmp_path / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text(f"{BOOT}\n")
    (tmp_path / "text").write_text(text)
    tool = tmp_path / "mx-smi"
    left = tmp_path / "left"
    left.write_text("x" * times)
    tool.write_text(
        f'#!/bin/sh\n[ -s {left} ] || {{ echo "no device" >&2; exit 9; }}\n'
        f'printf %s "$(tail -c +2 {left})" >{left}\ncat {tmp_path}/text; exit {code}\n'
    )
    tool.chmod(0o755)
    argv = sampling_argv(str(tmp_path), str(tool), LISTINGS, 10)
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30).stdout


def joined(text):
    """The line that a node makes of a block."""
    return ",".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def read(*lines):
    return parse_samples(began() + stamped(SAYS, *lines), LISTINGS).samples


def test_the_node_makes_one_line_of_each_block(tmp_path):
    output = ran(tmp_path, f"{HEADING}{block(0)}{block(1, 'Pcc')}\nEnd of Log\n", times=2)
    _, *lines = [line.partition(",")[2] for line in output.splitlines()]
    both = [joined(block(0)), joined(block(1, "Pcc"))]
    assert lines == [SAYS, *both, *both, "no device"]


@pytest.mark.parametrize("text", ["mx-smi: unrecognized option '--show-clk-tr'\n", HEADING])
def test_a_tool_that_prints_no_block_ends_the_sampler_and_is_quoted(tmp_path, text):
    with pytest.raises(TelemetryUnread, match=r"unrecognized option|Attached GPUs"):
        parse_samples(ran(tmp_path, text, code=1, times=3), LISTINGS)


def test_a_line_is_a_sample():
    (found,) = read(joined(block(3)))
    assert (found.gpu, found.at_s, found.reasons) == (3, 1000.0, frozenset())
    assert found.values == {CLOCK: 1125, HEAT: 61.5, POWER: 310.25, CAP: 350, LOAD: 99}


@pytest.mark.parametrize(
    ("active", "names"),
    [
        (("Idle", "Applications Limit", "Low Usage"), set()),
        (("Over Power",), {"power-limit"}),
        (("Chip Over Temperature", "Power Brake"), {"chip-thermal", "power-brake"}),
        (("VR Over Temperature",), {"regulator-thermal"}),
        (("Hbm Over Temperature", "Thermal Over Temperature"), {"memory-thermal", "thermal"}),
        (("Pcc", "Didt", "Other"), {"peak-current", "current-slope", "other"}),
    ],
)
def test_the_reasons_that_are_active(active, names):
    (found,) = read(joined(block(0, *active)))
    assert found.reasons == names


def test_a_reason_of_a_later_release_is_reported_by_its_name():
    (found,) = read(joined(block(0, "Other").replace("Other ", "Moon  ")) + ",Other : Not Active")
    assert found.reasons == {"Moon"}
    assert "Moon" not in LISTINGS.known_reasons


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("        Chip Over Temperature", "        Chip Hot            "),
        ("    Xcore Clocks Throttle Reason", "    Vpu Clocks Throttle Reason"),
    ],
)
def test_a_listing_that_lacks_a_reason_shows_none(was, now):
    """Only positive evidence counts: other inactive reasons do not prove this one inactive."""
    (found,) = read(joined(block().replace(was, now)))
    assert found.reasons is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (joined(block()).replace("Pcc : Not Active", "Pcc : Maybe"), "neither active nor not"),
        (joined(block(mhz="1.1 GHz")), "no clock in MHz"),
        (joined(block(heat="hot")), "no temperature in C"),
        ("GPU#0 show-clk-tr Sysfs error: No such file or directory", "which is no sample"),
        ("mx-smi: no device", "which is no sample"),
        ("", "which is no sample"),
    ],
)
def test_anything_else_is_refused(line, words):
    with pytest.raises(TelemetryUnread, match=words):
        read(joined(block(1)), line)


def test_the_last_block_of_each_gpu_is_found():
    text = began() + stamped(SAYS, *[joined(block(n)) for n in (0, 1, 0, 1, 0)])
    kept = text[last_of_each(text, LISTINGS, 2) :]
    assert [line.split(",")[1][:5] for line in kept.splitlines()] == ["GPU#1", "GPU#0"]
    assert last_of_each(text, LISTINGS, 3) == 0


# --- which of the two ways a platform file needs ---

BASIS = {"source": "derived", "says": "made up for a test"}
LIMITS = {
    "power": {"ceiling": 385, "basis": BASIS},
    "memory_temperature": {"ceiling": 95, "basis": BASIS},
    "throttling": {"never": ["thermal"], "basis": BASIS},
    "clock": {"floor": 600, "basis": BASIS},
}


def chosen(*names):
    return read_telemetry({name: LIMITS[name] for name in names}, "metax", "a.json").sampler


def test_the_listings_are_asked_for_only_where_a_limit_needs_them():
    assert chosen("power", "memory_temperature") is LOOP
    assert chosen("power", "throttling") is LISTINGS
    assert chosen("clock") is LISTINGS


def test_limits_that_no_single_sampler_shows_are_refused():
    with pytest.raises(ThresholdError) as caught:
        chosen("memory_temperature", "clock")
    assert "clock, memory temperature, utilisation together" in str(caught.value)
