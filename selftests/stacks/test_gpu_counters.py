"""The error counters of GPUs: what the vendors' tools print, and what is no counter."""

import json
from xml.etree import ElementTree as Xml

import pytest
from testing.places import SHARED

from railgauge.config.thresholds.counter_groups import GROUPS
from railgauge.stacks import Section, stack, vendors

CORPUS = SHARED / "corpus"
NVLINK = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-abcdefab-cdef-abdc-abcd-abababababab)
\t Link 0: Replay Errors: 0
\t Link 0: Recovery Errors: 0
\t Link 0: CRC Errors: 7

\t Link 17: Replay Errors: 3
\t Link 17: Recovery Errors: 0
\t Link 17: CRC Errors: 0
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-abcdefab-cdef-abdc-abcd-abababababac)
\t Link 0: Replay Errors: 0
"""
NONE = {"correctable_count": 0, "uncorrectable_count": 0, "deferred_count": 0}


def nvidia(log, links=NVLINK, code=0):
    sections = {
        "nvidia-smi-q": Section("nvidia-smi-q", log, code),
        "nvidia-smi-nvlink-e": Section("nvidia-smi-nvlink-e", links),
    }
    return stack("nvidia").counters.parse(sections)


def recorded(name):
    path = CORPUS / "nvidia-smi" / name
    if not path.exists():
        pytest.skip("the corpus is not here")
    return path.read_text(encoding="utf-8")


def test_an_h200_shows_memory_and_pcie_and_no_retired_pages():
    found = nvidia(recorded("019-q-x-xml-h200-8gpu-v13.txt"), "")
    assert sorted(found) == list(range(8))
    due = {"ecc_uncorrected": 0, "ecc_corrected": 0, "pcie_replays": 0, "remapped_rows": 0}
    assert list(found.values()) == [due] * 8


def test_an_a100_with_a_history_shows_it():
    text = recorded("021-q-x-xml-a100-2gpu-ecc-history.txt")
    volatile = [
        gpu.find("ecc_errors/volatile")
        for gpu in Xml.fromstring(text[text.find("<nvidia_smi_log>") :]).findall("gpu")
    ]
    due = [
        sum(int(one.text) for one in gpu if "_correctable" in one.tag and one.text.isdigit())
        for gpu in volatile
    ]
    assert [one["ecc_corrected"] for one in nvidia(text, "").values()] == due


def test_an_m60_shows_none_of_what_it_does_not_have():
    for found in nvidia(recorded("022-q-x-xml-m60-v12.txt"), "").values():
        assert "remapped_rows" not in found
        assert found["pcie_replays"] >= 0


def test_the_errors_of_nvlinks_are_read_link_by_link():
    assert nvidia("") == {
        0: {
            "link0_replay_errors": 0, "link0_recovery_errors": 0, "link0_crc_errors": 7,
            "link17_replay_errors": 3, "link17_recovery_errors": 0, "link17_crc_errors": 0,
        },
        1: {"link0_replay_errors": 0},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code"), [("", 0), ("nvidia-smi: command not found", 127), ("<nvidia_smi_log>", 0)]
)
def test_no_inventory_gives_no_memory_counters(text, code):
    assert all("ecc_uncorrected" not in one for one in nvidia(text, code=code).values())


def amd(metric, pages="[]", code=0):
    sections = {
        "amd-smi-metric": Section("amd-smi-metric", metric, code),
        "amd-smi-bad-pages": Section("amd-smi-bad-pages", pages),
    }
    return stack("amd").counters.parse(sections)


def metric(**ecc):
    totals = {"total_correctable_count": 0, "total_uncorrectable_count": 0} | ecc
    blocks = {"UMC": NONE, "XGMI_WAFL": {**NONE, "correctable_count": 5}}
    pcie = {"width": 16, "replay_count": 11, "nak_sent_count": 0}
    return json.dumps([{"gpu": 0, "ecc": totals, "ecc_blocks": blocks, "pcie": pcie}])


def test_amd_shows_totals_replays_and_xgmi_and_counts_xgmi_once():
    """The totals are those of all blocks."""
    pages = json.dumps(
        [{"gpu": 0, "retired": "No bad pages found.", "pending": "x", "un_res": "x"}]
    )
    assert amd(metric(total_correctable_count=7), pages) == {
        0: {
            "ecc_corrected": 2, "ecc_uncorrected": 0, "pcie_replays": 11, "xgmi_corrected": 5,
            "xgmi_uncorrected": 0, "retired_pages": 0,
        }
    }  # fmt: skip


@pytest.mark.parametrize("value", ["N/A", None, "", "-1", 1.5, "12 errors", "9" * 30])
def test_a_value_that_is_no_number_is_left_out_and_is_never_zero(value):
    found = amd(metric(total_uncorrectable_count=value))[0]
    assert "ecc_uncorrected" not in found


def test_rocm_smi_of_old_releases_names_the_totals_otherwise():
    text = json.dumps([{"gpu": 0, "ecc": {"total_correct_count": 3, "total_uncorrect_count": 1}}])
    assert amd(text)[0] == {"ecc_corrected": 3, "ecc_uncorrected": 1}


@pytest.mark.parametrize("code", [127, 124])
def test_a_tool_that_failed_shows_nothing(code):
    assert amd(metric(), code=code) == {}


def test_the_groups_of_each_vendor_are_known_and_shown():
    for vendor in vendors():
        counters = stack(vendor).counters
        assert set(counters.groups if counters else ()) <= set(GROUPS)


# --- MetaX ---

ECC = """\
mx-smi  version: 2.2.12

=================== MetaX System Management Interface Log ===================
Timestamp                                         : Tue Nov 24 18:20:00 2026

Attached GPUs                                     : 2
GPU#0  MXC500  0000:0e:00.0
    ECC Errors
        SRAM Correctable                          : 3
        SRAM Uncorrectable                        : 0
        DRAM Correctable                          : 40
        DRAM Uncorrectable                        : 2
    Retired Pages
        Double Bit ECC                            : 1

GPU#1  MXC500  0000:0f:00.0
    ECC Errors
        SRAM Correctable                          : 0
        SRAM Uncorrectable                        : 5
        DRAM Correctable                          : 0
        DRAM Uncorrectable                        : 6
    Retired Pages
        Double Bit ECC                            : 0

End of Log
"""


def metax(text, code=0):
    return stack("metax").counters.parse({"mx-smi-ecc": Section("mx-smi-ecc", text, code)})


def test_mx_smi_counts_errors_of_both_memories_and_retired_pages():
    """The form is that of versions 2.2.9 and 2.2.12."""
    assert metax(ECC) == {
        0: {"ecc_corrected": 43, "ecc_uncorrected": 2, "retired_pages": 1},
        1: {"ecc_corrected": 0, "ecc_uncorrected": 11, "retired_pages": 0},
    }


@pytest.mark.parametrize("value", ["N/A", "", "-1", "1.5", "0x3", "9" * 30])
def test_a_sum_without_one_of_its_parts_is_left_out(value):
    found = metax(ECC.replace(": 40\n", f": {value} \n"))
    assert found[0] == {"ecc_uncorrected": 2, "retired_pages": 1}
    assert found[1] == metax(ECC)[1]


def test_counters_below_another_heading_are_not_those_of_ecc():
    assert metax(ECC.replace("ECC Errors", "RAS Errors"))[0] == {"retired_pages": 1}


def test_a_gpu_that_is_listed_twice_has_no_counters():
    assert sorted(metax(ECC.replace("GPU#1", "GPU#0"))) == []


@pytest.mark.parametrize("text", ["", "mx-smi: unrecognized option '--count-ecc'\n", "GPU#0\n"])
def test_an_older_mx_smi_shows_no_counters(text):
    assert metax(text) == {}
    assert metax(ECC, code=1) == {}
