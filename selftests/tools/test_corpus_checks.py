"""Recorded outputs compared with plans that fit them: only what no plan could ask for is denied.

The plan has the values that a recording shows reliably: number of QPs, NIC and GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from testing.places import ROOT
from testing.tool_setting import SHARED

from railgauge.config import thresholds
from railgauge.config.thresholds import Measurement, Platform
from railgauge.core.model import Case, Pairing, Parsed
from railgauge.tools import tool
from railgauge.tools.output_checks import SideOutput, ToolRequest

PLATFORM = thresholds.load("metax-c500", ROOT / "thresholds")
VENDORS = {"cuda": "nvidia", "rocm": "amd"}
DEFAULT_ITERATIONS = {"ib_write_bw": 5000}
COLLECTIVES = {
    "allgather": "all_gather", "reducescatter": "reduce_scatter", "alltoall": "alltoall",
    "broadcast": "broadcast", "sendrecv": "sendrecv", "005-reduce": "reduce",
}  # fmt: skip
# Rightly denied: no command of this suite prints it.
DENIED = {
    "cx4-ib_send_bw-truncated": "relaxed ordering: asked for off",
    "001-ib_write_bw-8M-both-sides-concat-MBs": "tables: asked for 1, the tool says 2",
    "006-ib_write_bw-run_infinitely-client1": "the tool says 5 of 64KiB",
    "039-ib_write_bw-3qp-rdmacm-D10-bnxt-gbps": "iterations: asked for 4159602",
    "040-ib_send_bw-a-efa-srd-transport-unknown": "asked for RC, the tool says SRD",
    "041-ib_send_lat-a-efa-srd": "asked for RC, the tool says SRD",
    "046-unit-trap-loopback-interleaved-100g": "the tool says 2 of 64KiB",
    "059-allreduce-multi-dtype-rows": "the tool says float, double",
}


def perftest(path: Path, parsed: Parsed) -> ToolRequest:
    summary: dict[str, Any] = dict(parsed.summary)
    named = re.search(r"ib_\w+?_(?:bw|lat)", path.name)
    command = summary.get("command") or (named[0] if named else "ib_write_bw")
    qps = summary.get("qps", 4 if "4qp" in path.name else 1)
    options: dict[str, object] = {"qps": qps, "bidirectional": bool(summary.get("bidirectional"))}
    counts = set(summary.get("iterations", {}).values())
    if counts and counts != {DEFAULT_ITERATIONS.get(command, 1000) * qps}:
        options["iterations"] = min(counts) // qps
    layer = "Ethernet" if summary.get("link_type") == "Ethernet" else "InfiniBand"
    nic = replace(PLATFORM.nics[0], name=summary.get("device", "mlx5_0"), link_layer=layer)
    memory = summary.get("memory", "host")
    gpu = None if memory == "host" else summary.get("gpu")
    platform = replace(_gpus(VENDORS.get(memory, "metax"), summary.get("gpu_model")), nics=(nic,))
    case = Case("x", ("a", "b"), Pairing(nic.name, gpu), (65536,))
    options["dmabuf"] = bool(summary.get("dmabuf"))
    return ToolRequest(case, _measurement("perftest", command, options), platform)


def collective(path: Path, parsed: Parsed) -> ToolRequest:
    summary: dict[str, Any] = dict(parsed.summary)
    guessed = (name for sign, name in COLLECTIVES.items() if sign in path.name.lower())
    command = f"{summary.get('collective') or next(guessed, 'all_reduce')}_perf"
    hosts = summary.get("hosts", ("a",))
    unchecked = summary.get("rows_checkable") and not summary.get("rows_checked")
    options: dict[str, object] = {
        "dtype": summary.get("dtypes", ("float",))[0],
        "gpus_per_node": summary.get("nranks", len(hosts)) // len(hosts),
        "gpus_per_process": summary.get("threads", 1) * summary.get("gpus_per_process", 1),
        "graph": bool(summary.get("graph")),
        "check": int(summary.get("validation") is not False and not unchecked),
    }
    models = [device.model for device in summary.get("devices", ())]
    platform = _gpus("nvidia", models[0] if models else None)
    case = Case("x", tuple(hosts), None, (65536,))
    return ToolRequest(case, _measurement("ccl-tests", command, options), platform)


def _gpus(vendor: str, model: str | None) -> Platform:
    assert PLATFORM.gpus
    gpus = replace(PLATFORM.gpus, vendor=vendor, model=model or "unknown", bus_ids=())
    expected = {name: e for name, e in PLATFORM.expected.items() if name != "active_mtu"}
    return replace(PLATFORM, gpus=gpus, expected=expected)


def _measurement(name: str, command: str, options: dict[str, object]) -> Measurement:
    one = PLATFORM.measurements["pair_all_reduce"]
    return replace(one, tool=name, command=command, options=options)


OUTPUTS = [
    *(("perftest", path) for path in sorted(SHARED.glob("corpus/perftest/*"))),
    *(("perftest", path) for path in sorted(SHARED.glob("transcripts/*-ib_*_bw*"))),
    *(("ccl-tests", path) for path in sorted(SHARED.glob("corpus/[nrm]ccl/*"))),
    *(("ccl-tests", path) for path in sorted(SHARED.glob("transcripts/*allreduce*"))),
]
PLANS: dict[str, Callable[[Path, Parsed], ToolRequest]] = {
    "perftest": perftest,
    "ccl-tests": collective,
}


@pytest.mark.parametrize(
    ("name", "path"), OUTPUTS or [("", SHARED)], ids=lambda value: getattr(value, "stem", value)
)
def test_recorded_outputs_deny_only_what_no_plan_could_make(name: str, path: Path) -> None:
    if not OUTPUTS:
        pytest.skip("recorded output is not beside this checkout")
    parsed = tool(name).parse(path.read_text(encoding="utf-8", errors="replace"))
    checks = tool(name).output_checks(
        PLANS[name](path, parsed), (SideOutput("a", "client", parsed),)
    )
    denied = "; ".join(str(check) for check in checks if not check.agrees)
    assert DENIED.get(path.stem, "") in denied
    assert bool(denied) == (path.stem in DENIED), denied
