"""The example of docs/diagnosis.md says what the model says."""

from __future__ import annotations

import re

import pytest
from testing.asked_again import answered
from testing.diagnose_scenes import path, run_results
from testing.places import ROOT

from railgauge.diagnosis import diagnosed
from railgauge.tools.form import KindOfPart

PAGE = (ROOT / "docs/diagnosis.md").read_text(encoding="utf-8")
RING = (("mx01", "mx02"), ("mx02", "mx03"), ("mx03", "mx01"))
ROWS = {
    "`mlx5_1` of `mx01`, where it sends": (KindOfPart.SEND, "mx01", "mlx5_1"),
    "the path from `mx01` to `mx02` over `mlx5_1`": (KindOfPart.PATH, "mx01", "mlx5_1"),
    "`mlx5_1` of `mx02`, where it receives": (KindOfPart.RECEIVE, "mx02", "mlx5_1"),
    "`mlx5_1` of `mx02`, at times": (KindOfPart.NIC, "mx02", "mlx5_1"),
    "`mx02`, at times": (KindOfPart.NODE, "mx02", ""),
}


def rate(nodes, nic):
    return 330.0 if (nodes[1], nic) == ("mx02", "mlx5_1") else 391.0


def run():
    items = [path(*pair, nic, rate(pair, nic)) for pair in RING for nic in ("mlx5_0", "mlx5_1")]
    return run_results(items, nodes=("mx01", "mx02", "mx03"))


@pytest.fixture(scope="module")
def found():
    return diagnosed(run())


def hypothesis(found, kind, node, nic):
    parts = found.inference.model.evidence.parts
    for faults, probability in found.inference.weighed.of_all:
        part = parts[faults[0].part]
        if len(faults) == 1 and (part.kind, part.node, part.nic) == (kind, node, nic):
            return faults, probability
    raise AssertionError((kind, node, nic))


@pytest.mark.parametrize("row", ROWS)
def test_each_row_of_the_table_is_what_the_model_computes(found, row):
    model = found.inference.model
    faults, probability = hypothesis(found, *ROWS[row])
    prior, score = sum(map(model.prior, faults)), model.score(faults)
    figures = " | ".join(f"{one:.1f}" for one in (prior, score - prior, score))
    assert f"| {row} | {figures} | {100 * probability:.1f} % |" in PAGE


def test_the_report_reads_as_the_page_says(found):
    (cause,) = found.causes
    printed = re.sub(r"\s+", " ", PAGE)
    assert f"{cause.cause} {cause.where} ({cause.confidence}): {cause.says}" in printed
    assert f"decide: {cause.would_decide}" in printed


def test_what_the_run_adds_decides_as_the_page_says():
    (cause,) = answered(run(), lambda case: rate(case.nodes, case.pairing.nic)).causes
    assert (cause.cause, str(cause.where), cause.confidence) == (
        "slow-direction", "mx02, mlx5_1", "likely",
    )  # fmt: skip
    assert f"{cause.probability:.1%}".replace("%", " %") in PAGE
