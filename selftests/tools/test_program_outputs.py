"""The output of another option or release of a program gives right values or an error."""

import pytest
from testing.parsed_outputs import errors, read, values, warnings
from testing.printed_tables import (
    AMD_MONITOR,
    AMD_TABLE,
    AMD_TOPOLOGY,
    DCGMI_ERRORS,
    DCGMI_HEALTH,
    DCGMI_STATES,
    IBSTATUS,
    IMB,
    MX_228,
    MX_229,
    NVIDIA_QUERY,
    NVIDIA_TABLE,
    ROCM_TABLE,
    UDP,
)
from testing.program_outputs import RIGHT

from railgauge.judging.evidence import DOUBTS
from railgauge.tools.finding import find


@pytest.mark.parametrize(("tool", "option"), RIGHT)
def test_every_option_is_read_right_or_refused(tool, option):
    text, right = RIGHT[tool, option]
    parsed = read(tool, text)
    if right is None:
        assert errors(parsed)
    else:
        assert not errors(parsed)
        assert values(parsed) == pytest.approx(right)


@pytest.mark.parametrize(("tool", "option"), RIGHT)
def test_no_other_reader_takes_it(tool, option):
    text, right = RIGHT[tool, option]
    if right is not None:
        assert find(text, "x").tool == tool


WHOLE = {
    "nvidia-smi": (NVIDIA_TABLE,),
    "mx-smi": (MX_228, MX_229),
    "rocm-smi": (ROCM_TABLE,),
    "amd-smi": (AMD_TABLE, AMD_MONITOR, AMD_TOPOLOGY),
    "ibstatus": (IBSTATUS,),
    "dcgmi-nvlink": (DCGMI_ERRORS, DCGMI_STATES),
    "dcgmi-health": (DCGMI_HEALTH,),
    "imb": (IMB,),
    "iperf3": (UDP,),
}
EVERY = [pytest.param(tool, text, id=f"{tool} {n}") for tool, texts in WHOLE.items()
         for n, text in enumerate(texts)]  # fmt: skip


@pytest.mark.parametrize(("tool", "text"), EVERY)
def test_two_outputs_are_refused(tool, text):
    assert errors(read(tool, text + text))


@pytest.mark.parametrize(("tool", "text"), EVERY)
def test_no_cut_changes_values_silently(tool, text):
    whole = values(read(tool, text))
    for at in range(1, len(text) - 1, 7):
        for part in (text[:at], text[at:]):
            parsed = read(tool, part)
            kinds = {problem.kind for problem in parsed.problems}
            assert parsed.errors or kinds & DOUBTS or values(parsed) == whole or _names_fewer(
                values(parsed), whole
            ), part[-200:]  # fmt: skip


def _names_fewer(found, whole):
    """A list that no line closes may end after any of its entries; the count says how many."""
    lists = {"ports_active", "gpus"}
    return any(name in lists for name, _ in found) and found != whole


@pytest.mark.parametrize(
    ("tool", "text", "was", "is_now", "kind"),
    [
        ("nvidia-smi", NVIDIA_TABLE, "N/A   31C", "ERR!  ERR!", "gpu-failed"),
        ("nvidia-smi", NVIDIA_TABLE, "77W /  700W", "77 W of 700", "unparsable"),
        ("nvidia-smi", NVIDIA_TABLE, "|   1  NVIDIA H200", "|   0  NVIDIA H200", "several-tables"),
        ("mx-smi", MX_228, "Available  ", "Unavailable", "gpu-failed"),
        ("mx-smi", MX_228, "Attached GPUs                                     : 1",
         "Attached GPUs                                     : 2", "truncated"),
        ("amd-smi", RIGHT["amd-smi", "xgmi -l"][0], "U      D", "U      ?", "unparsable"),
        ("nvidia-smi", RIGHT["nvidia-smi", "nvlink -s"][0], "Link 1", "Link 2", "unparsable"),
        ("nvidia-smi", RIGHT["nvidia-smi", "nvlink -s"][0], "Link 1", "Link 0", "unparsable"),
        ("amd-smi", AMD_MONITOR, "83 %", "183 %", "inconsistent"),
        ("amd-smi", AMD_MONITOR, "283 MB", "283000 MB", "inconsistent"),
        ("amd-smi", AMD_TOPOLOGY, "0000:0c:00.0 XGMI         SELF\n", "", "unparsable"),
        ("ibstatus", IBSTATUS, "\trate:\t\t 400 Gb/sec (4X NDR)\n", "", "truncated"),
        ("dcgmi-nvlink", DCGMI_STATES, "U U U D", "U U U ?", "unparsable"),
        ("dcgmi-nvlink", DCGMI_ERRORS, "| 3  ", "| XX ", "unparsable"),
        ("dcgmi-health", DCGMI_HEALTH, "| Failure  ", "| Healthy  ", "inconsistent"),
        ("imb", IMB, "11522.81", "1152.28", "inconsistent"),
        ("imb", IMB, "4.50        18.59", "18.59        4.50", "inconsistent"),
        ("imb", IMB, "#processes = 16", "#processes = 1", "too-few-ranks"),
        ("iperf3", UDP, "87/8783", "8784/8783", "inconsistent"),
        ("iperf3", UDP, "50.9 Mbits", "50.9 Gbits", "inconsistent"),
    ],
)  # fmt: skip
def test_bad_or_contradictory_output_is_an_error(tool, text, was, is_now, kind):
    assert was in text
    assert kind in errors(read(tool, text.replace(was, is_now, 1)))


def test_a_bad_state_in_an_output_gives_a_problem():
    slow = RIGHT["nvidia-smi", "-q -d PERFORMANCE, throttled"][0]
    (problem,) = read("nvidia-smi", slow).problems
    assert "HW Slowdown" in problem.message
    assert "SW Power Cap" not in problem.message
    assert "SLOWED" not in read("nvidia-smi", NVIDIA_QUERY).summary
    (problem,) = read("lspci", RIGHT["lspci", "-vvv"][0]).problems
    assert "16GT/s (downgraded)" in problem.message
    assert warnings(read("dcgmi-health", DCGMI_HEALTH)) == {"test-warned", "test-failed"}
    (gpu0, gpu3) = read("dcgmi-health", DCGMI_HEALTH).summary["incidents"]
    assert (gpu0["entity"], gpu3["system"]) == ("GPU 0", "NVLink system")
    assert gpu3["says"].endswith("Check DCGM and system logs for errors.")


def test_old_releases_of_imb_count_in_binary_megabytes():
    parsed = read("imb", IMB.replace("11522.81", "10989.01"))
    (bandwidth,) = [one for one in parsed.samples if one.metric == "bandwidth"]
    assert (bandwidth.unit, bandwidth.unit_means) == ("MB/s", "MiB/s")
    assert not errors(parsed)


def test_the_remote_ends_and_distances_are_in_the_summary():
    far = read("nvidia-smi", RIGHT["nvidia-smi", "nvlink -R"][0]).summary
    assert far["remotes"]["gpu0"] == {0: "00000000:0a:00.0 link 30"}
    matrix = read("nvidia-smi", RIGHT["nvidia-smi", "topo -m of an older driver"][0]).summary
    assert matrix["distances"]["gpu1"] == {"gpu0": "NV18", "mlx5_0": "SYS"}
    assert matrix["numa_nodes"] == {"gpu0": 0, "gpu1": 1}


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("            Disabled |", "             Enabled |"),  # MIG
        ("0%      Default", "0%   E. Process"),
        ("                    0 |", "                  N/A |"),
        ("                    0 |", "                  Off |"),
        ("N/A   31C    P0             77W /  700W", "30%   31C    P8             N/A /  N/A "),
        ("     0%      Default", "    N/A      Default"),
        ("NVIDIA H200        ", "Tesla V100-SXM2... "),
        ("      4MiB / 143771MiB", "143000MiB / 143771MiB"),
    ],
)
def test_a_healthy_gpu_of_any_kind_is_read(was, is_now):
    assert was in NVIDIA_TABLE
    parsed = read("nvidia-smi", NVIDIA_TABLE.replace(was, is_now, 1))
    assert not parsed.problems
    assert values(parsed)["gpus", None] == 2
