"""TransferBench's configuration and rows against what its command asked for."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT, TRANSCRIPTS, needs_transcripts
from testing.tool_setting import setting

from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.core.model import Case
from railgauge.tools import tool
from railgauge.tools.output_checks import SideOutput, ToolRequest
from railgauge.tools.transferbench import commands

MI300X = thresholds.load("mi300x", ROOT / "thresholds")
RECORDED = TRANSCRIPTS / "mi300x-transferbench-a2a.txt"


def denied(text, **options):
    made = MI300X.measurements["gpu_link_bandwidth"]
    asked = ToolRequest(
        Case("gpu_link_bandwidth", ("n1",), None, (64 << 20,)),
        replace(made, options={**made.options, **options}),
        MI300X,
    )
    sides = (SideOutput("n1", "client", tool("transferbench").parse(text)),)
    return {
        check.item
        for check in tool("transferbench").output_checks(asked, sides)
        if not check.agrees
    }


@needs_transcripts
def test_the_recorded_run_is_what_the_platform_asks_for():
    assert denied(RECORDED.read_text()) == set()


@needs_transcripts
@pytest.mark.parametrize(
    ("name", "was", "now"),
    [
        ("GFX_UNROLL", 2, 4), ("USE_DMA_EXEC", 0, 1), ("USE_FINE_GRAIN", 1, 0),
        ("USE_REMOTE_READ", 0, 1), ("A2A_MODE", 0, 1), ("A2A_LOCAL", 0, 1), ("BYTE_OFFSET", 0, 4),
    ],
)  # fmt: skip
def test_another_configuration_than_was_asked_for_is_denied(name, was, now):
    text = RECORDED.read_text()
    line = f"{name:20} = {was:12}"
    assert line in text
    assert denied(text.replace(line, f"{name:20} = {now:12}")) == {name}


@needs_transcripts
@pytest.mark.parametrize(
    ("old", "new", "items"),
    [
        ("F0 -> G000:008 -> F1", "F0 -> D000:008 -> F1", {"executor of the transfers"}),
        ("F0 -> G000:008 -> F1", "G0 -> G000:008 -> G1", {"memory of the transfers"}),
        ("using 8 CUs", "using 4 CUs", {"compute units"}),
    ],
)
def test_another_transfer_than_was_asked_for_is_denied(old, new, items):
    text = RECORDED.read_text()
    assert old in text
    assert denied(text.replace(old, new)) == items


@needs_transcripts
def test_a_hidden_configuration_is_not_denied_and_its_rows_count():
    text = RECORDED.read_text()
    hidden = text[: text.index("[Common]")] + text[text.index("GPU-GFX") :]
    assert denied(hidden) == set()
    assert denied(hidden.replace("-> F", "-> G")) == {"memory of the transfers"}


def test_options_become_variables_of_the_command():
    given = {"preset": "a2a", "unroll": 2, "executor": "dma", "memory": "coarse"}
    (made,) = commands(setting("transferbench", sizes=(64 << 20,), options=given), 1)
    assert made.environment == {
        "NUM_SUB_EXEC": "8", "GFX_UNROLL": "2", "USE_DMA_EXEC": "1", "USE_FINE_GRAIN": "0",
    }  # fmt: skip


@pytest.mark.parametrize("wrong", [{"executor": "cpu"}, {"memory": "managed"}, {"unroll": 0}])
def test_unknown_kinds_are_refused(wrong):
    with pytest.raises(BadInput):
        commands(setting("transferbench", sizes=(64 << 20,), options=wrong), 1)
