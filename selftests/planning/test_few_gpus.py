"""MI300X collectives over 2 and 4 GPUs and from a graph, as document 002 advises."""

import json
from pathlib import Path

import pytest
from testing.core_values import ROOT, TRANSCRIPTS, needs_transcripts

from railgauge.cli import main
from railgauge.config import hostfile, thresholds
from railgauge.core.model import Outcome, Parsed, Sample
from railgauge.judging import assess
from railgauge.planning import plan
from railgauge.stacks import stack
from railgauge.tools import Setting, tool

MI300X = thresholds.load("mi300x", ROOT / "thresholds")
FEW = {2: 1, 4: 3}  # number of GPUs: links of each GPU to the others
GIB16, MIB1 = 16 << 30, 1 << 20
REJECTED = 1


def measured(gpus, value):
    """The judgement of a run that prints this busbw."""
    measurement = MI300X.measurements[f"node_all_reduce_{gpus}gpu"]
    case = plan.case_at(measurement, "nightly", "n1")
    sample = Sample("busbw", "GB/s", value, GIB16, 0, "out_of_place")
    return assess.Measured(case, measurement, (Parsed("ccl-tests", "2", (sample,), {}),), ((),))


@pytest.mark.parametrize(("gpus", "links"), FEW.items())
def test_the_floor_of_few_gpus_follows_from_their_links(gpus, links):
    """Eight GPUs reach 318.98 GB/s over seven links; without the channels a fifth is lost."""
    tuned = links / 7 * 318.98
    for value, outcome in ((tuned, Outcome.PASSED), (0.8 * tuned, Outcome.FAILED)):
        found = assess.limits(MI300X, measured(gpus, value), GIB16)
        assert [judged.outcome for judged in found.judgements] == [outcome], found.errors
        assert found.judgements[0].floor == pytest.approx(0.6 * 64 * links)


@pytest.mark.parametrize("gpus", FEW)
def test_few_gpus_run_with_the_documents_channels(gpus):
    lab = hostfile.load(
        ROOT / "hostfiles/lab-mi300x.yaml", schema_file=ROOT / "hostfiles/schema.json"
    )
    measurement = MI300X.measurements[f"node_all_reduce_{gpus}gpu"]
    case = plan.case_at(measurement, "nightly", lab.nodes[0].name)
    environment = {**MI300X.environment, **measurement.environment}
    setting = Setting(case, measurement, lab, stack("amd"), MI300X, environment)
    (command,) = tool("ccl-tests").commands(setting, 0)
    assert command.environment["NCCL_MIN_NCHANNELS"] == "112"
    assert command.argv[command.argv.index("-np") + 1] == str(gpus)


def as_graph(capsys, path: Path):
    words = ["judge", "--root", ROOT, "--platform", "mi300x", "--tool", "ccl-tests", "--json"]
    words += ["--measurement", "node_all_reduce_graph", "--level", "signoff", path]
    code = main([str(word) for word in words])
    answer = json.loads(capsys.readouterr().out)
    return code, {
        (one["metric"], one["size_bytes"]): one["outcome"] for one in answer["judgements"]
    }


@needs_transcripts
def test_the_documents_graph_run_passes_at_all_sizes(capsys):
    _, found = as_graph(capsys, TRANSCRIPTS / "mi300x-rccl-allreduce-8gpu-graph.txt")
    assert set(found.values()) == {"passed"}
    assert {("busbw", MIB1), ("busbw", GIB16), ("avg_busbw", None)} <= set(found)


@needs_transcripts
def test_a_run_without_a_graph_fails_the_graph_floor_at_1_mib(capsys):
    """66.93 GB/s against 94.61 GB/s; at larger sizes the document's two runs are alike."""
    code, found = as_graph(capsys, TRANSCRIPTS / "mi300x-rccl-allreduce-8gpu.txt")
    assert code == REJECTED
    assert found["busbw", MIB1] == "failed"
    assert found["busbw", GIB16] == "passed"
