"""The samplers of the vendors: what their tools print in a loop, and what is no sample."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from testing.gpu_samples import (
    AMD,
    BOOT,
    METAX,
    METAX_UNITS,
    NVIDIA,
    began,
    nvidia,
    output,
    stamped,
)

from railgauge.core.errors import TelemetryUnread
from railgauge.stacks import stack, vendors
from railgauge.stacks.sampling import (
    CAP,
    CLOCK,
    HEAT,
    LOAD,
    MEMORY_HEAT,
    POWER,
    REASONS,
    last_of_each,
    parse_samples,
    sampling_argv,
)

(SMI,) = stack("nvidia").samplers


def one(text, vendor="nvidia"):
    (found,) = parse_samples(began() + text, stack(vendor).samplers[0]).samples
    return found


def refused(text, vendor="nvidia"):
    with pytest.raises(TelemetryUnread) as caught:
        parse_samples(text, stack(vendor).samplers[0])
    return caught.value.what


def test_a_row_of_nvidia_smi():
    """As driver 590 prints it: the heading has the newer name of the throttle reasons."""
    found = one(stamped(NVIDIA, nvidia(3), at_s=1001.25))
    assert (found.at_s, found.gpu, found.reasons) == (1001.25, 3, {"software-power-cap"})
    assert found.values == {CLOCK: 1755, HEAT: 61, POWER: 690.1, CAP: 700, LOAD: 100}


def test_an_older_driver_has_the_older_name():
    heading = NVIDIA.replace("event", "throttle")
    assert one(stamped(heading, nvidia(reasons="0x0000000000000001"))).reasons == frozenset()


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        ("0x0000000000000000", set()),
        ("0x0000000000000113", set()),
        ("0x0000000000000008", {"hardware-slowdown"}),
        ("0x0000000000000020", {"software-thermal-slowdown"}),
        ("0x0000000000000048", {"hardware-slowdown", "hardware-thermal-slowdown"}),
        ("0x0000000000000084", {"power-brake", "software-power-cap"}),
        ("0x0000000000000600", {"0x200", "0x400"}),
    ],
)
def test_the_bits_of_nvml(bits, names):
    assert one(stamped(NVIDIA, nvidia(reasons=bits))).reasons == names


@pytest.mark.parametrize("text", ["[N/A]", "N/A", "[Not Supported]"])
def test_a_value_that_the_gpu_does_not_report_is_not_zero(text):
    found = one(stamped(NVIDIA, nvidia(mhz=text, reasons=text)))
    assert CLOCK not in found.values
    assert MEMORY_HEAT not in found.values
    assert found.reasons is None


def test_a_row_of_amd_smi():
    text = stamped(AMD, "1732384000,2,0,613,71,58,1402,100,12,0,False,0,0,0")
    found = one(text, "amd")
    assert (found.gpu, found.reasons) == (2, {"power-cap"})
    assert found.values == {CLOCK: 1402, HEAT: 71, MEMORY_HEAT: 58, POWER: 613, LOAD: 100}


@pytest.mark.parametrize(
    ("cells", "reasons"),
    [
        ("0,64,True,0,0,0", {"socket-thermal"}),
        ("0,0,True,0,0,0", {"socket-thermal"}),
        ("0,0,False,3,0,7", {"processor-hot", "memory-thermal"}),
        ("0 %,0 %,False,0 %,1 %,0 %", {"regulator-thermal"}),
        ("N/A,N/A,N/A,N/A,N/A,N/A", None),
        ("0,N/A,N/A,0,0,0", None),
    ],
)
def test_the_violations_of_amd_smi(cells, reasons):
    text = stamped(AMD, f"1732384000,0,0,613,71,58,1402,100,{cells}")
    assert one(text, "amd").reasons == reasons


def test_the_partitions_of_a_gpu_are_one_gpu():
    row = "1732384000,0,{},613,71,58,1402,100,0,0,False,0,0,0"
    assert one(stamped(AMD, row.format(0), row.format(1), row.format(2)), "amd").gpu == 0


def test_amd_smi_repeats_its_heading():
    row = "1732384000,0,N/A,613,71,58,1402,100,0,0,False,0,0,0"
    text = began() + stamped(AMD, row) + stamped(AMD, row, at_s=1002)
    assert [s.at_s for s in parse_samples(text, stack("amd").samplers[0]).samples] == [1000, 1002]


def test_a_row_of_mx_smi_below_its_line_of_units():
    text = stamped(
        METAX, METAX_UNITS, "0, 0, 34, N/A, 31, 40, 254, 37, 78, 78, 0, 72, 0000:01:00.0"
    )
    found = one(text, "metax")
    assert (found.gpu, found.reasons) == (0, None)
    assert found.values == {HEAT: 34, MEMORY_HEAT: 40, POWER: 254, LOAD: 37}
    assert stack("metax").samplers[0].shows.isdisjoint({CLOCK, REASONS})


def test_the_last_line_may_be_cut_off():
    whole = output(seconds=2, gpus=2)
    for length in range(1, len(nvidia())):
        found = parse_samples(whole[:-length], SMI)
        assert len(found.samples) == 3
    assert (found.boot_id, found.began_s) == (BOOT, 1000.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "printed nothing"),
        (began(), "printed no sample"),
        (began() + stamped(NVIDIA), "printed no sample"),
        (output().partition("\n")[2], "do not say of which node"),
        (began("not-a-boot-id"), "do not say of which node"),
        (began() + stamped(nvidia()), "which is no sample"),
        (began() + stamped('Field "x" is not a valid field to query.'), "valid field"),
        (began() + stamped("NVIDIA-SMI has failed because it couldn't"), "has failed"),
        (began() + stamped(NVIDIA, nvidia() + ", 1"), "which is no sample"),
        (began() + stamped(NVIDIA, nvidia().rpartition(",")[0]), "which is no sample"),
        (began() + stamped(NVIDIA, "Unable to determine the device handle"), "Unable to"),
        (began() + stamped(NVIDIA, nvidia(mhz=-5)), "'-5' is no clock in MHz"),
        (began() + stamped(NVIDIA, nvidia(mhz="nan")), "'nan' is no clock"),
        (began() + stamped(NVIDIA, nvidia(mhz="1e9")), "'1e9' is no clock"),
        (began() + stamped(NVIDIA, nvidia(mhz="")), "'' is no clock"),
        (began() + stamped(NVIDIA, nvidia(heat="61 F")), "'61 F' is no temperature in C"),
        (began() + stamped(NVIDIA, nvidia(heat="61 W")), "no temperature in C"),
        (began() + stamped(NVIDIA, nvidia("x")), "names no GPU"),
        (began() + stamped(NVIDIA, nvidia(reasons="Not Active")), "no throttle reasons"),
        (began() + stamped(NVIDIA.replace("MHz", "GHz"), nvidia()), "shows no clock"),
        (began() + stamped(NVIDIA.replace("temperature.gpu", "x"), nvidia()), "no temperature"),
        (began() + stamped(NVIDIA.replace("event_reasons", "x"), nvidia()), "no throttle reasons"),
        (began() + stamped(NVIDIA, nvidia()) + stamped(nvidia(), at_s=999.9), "time goes back"),
        (began() + f"1000.10,{NVIDIA}\n{nvidia()}\n", "has no time before it"),
        (began() + "x1000.10,a\n", "has no time before it"),
    ],
)
def test_anything_else_is_refused(text, words):
    assert words in refused(text)


def test_a_heading_without_the_violations_is_refused():
    heading = "timestamp,gpu,power_usage,hotspot_temperature,memory_temperature,gfx_clk,gfx"
    text = began() + stamped(heading, "1732384000,0,613,71,58,1402,100")
    assert "amd-smi shows no throttle reasons" in refused(text, "amd")


def test_each_vendor_has_a_tool_with_a_loop_mode():
    samplers = {vendor: stack(vendor).samplers[0] for vendor in vendors()}
    assert {name: (one.program, one.arguments(1500)[-2:]) for name, one in samplers.items()} == {
        "amd": ("amd-smi", ("-w", "2")),
        "metax": ("mx-smi", ("-l", "1500")),
        "nvidia": ("nvidia-smi", ("-lms", "1500")),
    }


def a_tool(folder: Path, text: str) -> Path:
    path = folder / "a-sampler"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def ran(tmp_path, program, *arguments):
    boot = tmp_path / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text(f"{BOOT}\n")
    sampler = replace(SMI, arguments=lambda _: arguments)
    argv = sampling_argv(str(tmp_path), str(program), sampler, 1000)
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_the_command_stamps_each_line_with_the_uptime_of_the_node(tmp_path):
    tool = a_tool(tmp_path, 'printf \'index\\n%s|%s\\n\' "$1" "$2"; echo complaint >&2')
    samplers = ran(tmp_path, tool, "a b", "$(reboot); 'x'")
    first, *rest = samplers.stdout.splitlines()
    assert re.fullmatch(rf"\d+\.\d\d,telemetry,{BOOT}", first)
    stamps, texts = zip(*(line.split(",", 1) for line in rest), strict=True)
    assert texts == ("index", "a b|$(reboot); 'x'", "complaint")
    assert list(map(float, stamps)) == sorted(map(float, stamps))


def test_the_command_reports_that_the_tool_is_missing(tmp_path):
    samplers = ran(tmp_path, "no-such-sampler")
    assert (samplers.returncode, samplers.stdout) == (127, "")
    assert "no-such-sampler: command not found" in samplers.stderr


# --- the last sample of each GPU ---


def last(text, vendor="nvidia", count=8):
    return text[last_of_each(text, stack(vendor).samplers[0], count) :]


@pytest.mark.parametrize("printed", [0, 1, 5, 7])
def test_the_last_sample_of_each_gpu_wherever_the_tool_has_just_stopped(printed):
    text = output(4) + stamped(*[nvidia(gpu) for gpu in range(printed)], at_s=1004.4)
    gpus = [line.split(",")[1] for line in last(text).splitlines()]
    assert [int(gpu) for gpu in gpus] == [*range(printed, 8), *range(printed)]


def test_a_line_that_is_not_complete_follows_the_last_samples():
    assert last(output(2) + "1002.4").splitlines()[-1] == "1002.4"
    assert len(last(output(2) + "1002.4").splitlines()) == 9


def test_rows_that_are_skipped_are_no_samples():
    """A partition of a GPU of AMD has a row too, after that of its GPU."""
    rows = [f"1732300000,{gpu},{xcp},700.0,61,58,2100,100,0,0,N/A,0,0,0" for gpu in (0, 1)
            for xcp in (0, 1, 2)]  # fmt: skip
    kept = last(began() + stamped(AMD, *rows), "amd", 2).splitlines()
    assert [line.split(",")[2:4] for line in kept] == [
        ["0", "0"], ["0", "1"], ["0", "2"], ["1", "0"], ["1", "1"], ["1", "2"],
    ]  # fmt: skip


def test_units_below_the_heading_are_no_sample():
    rows = [f"{gpu}, 0, 61, 40, 40, 50, 90, 99, 1, 1, 1, 64, 0000:08:00.0" for gpu in (0, 1)]
    text = began() + stamped(METAX, METAX_UNITS, *rows)
    assert last(text, "metax", 2) == stamped(*rows)


@pytest.mark.parametrize("text", ["", "x", "\n", "\n\n\n", began(), stamped("a", "b", "c", "d")])
def test_an_output_without_samples_of_all_is_kept_from_its_start(text):
    assert last_of_each(text, SMI, 8) == 0
    assert last_of_each(output(3, gpus=7), SMI, 8) == 0
