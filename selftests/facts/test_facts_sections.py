"""Truncated, torn, forged or binary output never crashes and never counts as a fact."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.core.codec import to_plain
from railgauge.facts import NodeFacts, from_json, parse_probe
from railgauge.facts.parts import FIELDS, PartKind
from railgauge.facts.probe import probe_script, split_sections
from railgauge.stacks import stack

METAX = stack("metax")
STACKS = [stack(vendor) for vendor in ("amd", "metax", "nvidia")]
N = "0123456789abcdef"
NAMES = sorted(
    {
        line.split()[1]
        for one in STACKS
        for line in probe_script("/", one, N).splitlines()
        if line[:8] == "section "
    }
)


def output(**sections: str) -> str:
    return "".join(f"{N} begin {name}\n{t}\n{N} end {name} 0\n" for name, t in sections.items())


def test_text_and_exit_code_of_a_section():
    found = split_sections(f"{N} begin os\na\r\n\x1b[4mb\x1b[0m\n\n{N} end os 3\n", N)["os"]
    assert (found.text, found.exit_code) == ("a\nb", 3)


def test_section_without_end_is_cut_off():
    facts = parse_probe("n", f"{N} begin hostname\nmx01\n", N, None)
    assert facts.hostname is None
    assert facts.missing["hostname"] == "hostname: the output is truncated"


@pytest.mark.parametrize("end", ["end", "end hostname", "end hostname 0 0", "end kernel 0", "e"])
def test_torn_end_mark_is_no_end(end):
    assert parse_probe("n", f"{N} begin hostname\nmx01\n{N} {end}", N, None).hostname is None


def test_a_section_that_is_printed_twice_is_refused():
    facts = parse_probe("n", output(hostname="mx01") + output(hostname="mx02"), N, None)
    assert facts.hostname is None
    assert facts.missing["hostname"] == "hostname: printed twice"


def test_mark_without_the_nonce_is_text():
    forged = "mx01\n\nffffffffffffffff end hostname 0\nffffffffffffffff begin kernel\n6.6.6"
    facts = parse_probe("n", output(hostname=forged), N, None)
    assert facts.hostname is None
    assert facts.kernel is None


@pytest.mark.parametrize("vendor", STACKS, ids=lambda vendor: vendor.name)
def test_an_empty_output_gives_a_reason_for_every_fact(vendor):
    facts = parse_probe("n", "", N, vendor)
    unread = {path.partition(".")[0] for path in facts.missing}
    # The logins between nodes are not of the probe: the run tries them where it needs them.
    # A part has its own reasons.
    assert unread == set(to_plain(facts)) - {"node", "missing", "failed_logins", "parts"}
    assert {one.kind: set(one.missing) for one in facts.parts} == {
        kind: set(FIELDS[kind]) for kind in (PartKind.NODE, PartKind.BMC)
    }
    assert facts.missing["os"] == "os: the probe printed no such section"


@given(st.dictionaries(st.sampled_from(NAMES), st.text()), st.text(), st.integers(0, 400))
def test_garbage_never_crashes(sections, noise, cut):
    text = noise + "\n" + output(**sections)
    for vendor in STACKS:
        facts = parse_probe("n", text[: len(text) - cut], N, vendor)
        assert from_json(to_plain(facts)) == facts


TOOL_WORDS = """\
GPU0 GPU1 NIC0 NIC0: X PIX mlx5_0 port 1 ==> fw (Up) hca_id: mlx5_0/ports/1/lid:0x7 nic | 0
0000:08:00.0 Attached GPUs : ACSCtl: SrcValid+ 17:00.0 performance 0-3 index, name, pid, 1, eth1
irq 17 msi_irqs nvvs comm: <nvidia_smi_log> </nvidia_smi_log> <gpu id="1"> </gpu> { } [ ] "card0":
{} "gpu": 0, "gpu_data": "system": GPU: 0 Link 0: 26.562 GB/s XGMI U D X 512 Gb/s cpulist: /"""
WORDS = st.sampled_from([*TOOL_WORDS.split(), "\n", "\n\n", "\t"])


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(WORDS).map(" ".join)))
def test_words_of_the_tools_in_any_order_never_crash(sections):
    for vendor in STACKS:
        assert isinstance(parse_probe("n", output(**sections), N, vendor), NodeFacts)


@pytest.mark.parametrize(
    "text",
    [
        "A" * 125_000,
        "1 " * 62_500,
        " " * 125_000 + "x",
        "/" * 125_000,
        "GPU0 X\n" * 17_500,
    ],
)
def test_an_eighth_of_a_megabyte_is_read_in_seconds(text):
    """At this limit, time quadratic in the input would be 80 s for half a megabyte."""
    started = time.process_time()
    for vendor in STACKS:
        for name in NAMES:
            parse_probe("n", output(**{name: text}), N, vendor)
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize(
    "line",
    [
        "[PN] Part number: a{}b",
        "Max locked memory {}x",
        "| 0 1 a{}b",
        "nic {}",
        "l x{} mlx5_0/device -> {}x",
        "mlx5_0 port 1 ==> {}",
        "GPU0 {}",
        "MACA Version: {}",
        "PRETTY_NAME={}",
        "index, name{}\n0, {}",
        "<nvidia_smi_log>{}",
        "GPU 0: {}\n Link 0: {} GB/s",
        "GPU 00000000:8F:00.0\n  {} : {}",
        "GPU: 0\n    A{}: {}",
        "GPU0 bdf{} U{}",
        '{{"card0": {}}}',
        "irq eth1{}\nproc/irq/7/smp_affinity_list:{}",
        "node0/cpulist:{}",
        "7/comm:{}",
    ],
)
@pytest.mark.parametrize("filler", [" ", "a", "0", "/a", " a", "- "])
def test_every_line_is_read_in_linear_time(line, filler):
    text = "17:00.0 x\n" + line.format(filler * 15_000, filler * 15_000)
    started = time.process_time()
    for vendor in STACKS:
        parse_probe("n", output(**dict.fromkeys(NAMES, text)), N, vendor)
    assert time.process_time() - started < 3.0
