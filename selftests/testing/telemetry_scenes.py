"""Two nodes whose GPUs are measured alone and together, with samples of each."""

from dataclasses import replace

from railgauge.config import thresholds
from railgauge.core.model import Case
from railgauge.core.question import LIMITS, CaseResult, Question
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeFacts
from testing.core_values import ROOT, cluster, item
from testing.gpu_samples import BOOT, HOT, OTHER_BOOT, client, nvidia, output, telemetry

H200 = replace(thresholds.load("h200", ROOT / "thresholds"), kernel_log=None, growth=None)
BOOTS = {"n1": BOOT, "n2": OTHER_BOOT}
ON_NODE, ON_PAIR, BELOW = "gpu_matrix_bf16", "pair_all_reduce", "host_write_bandwidth"


def case(name, *nodes, **changes):
    return replace(Case(name, nodes, None, ()), **changes)


def asked(name, *nodes, **changes):
    """An item of a measurement, and its case."""
    on = case(name, *nodes)
    plain = item(
        f"{name}[{':'.join(nodes)}]",
        rung=H200.measurements[name].rung,
        subject=name,
        nodes=nodes,
        questions=(Question(LIMITS, on),),
    )
    return replace(plain, **changes), on


def run(*nodes, text=output, **changes):
    samples = [telemetry(node, text(boot=BOOTS[node]), **changes) for node in nodes]
    return (client(nodes[0]), *samples)


def results(found=None, platform=H200, **more):
    """Each GPU by itself on two nodes, and a collective on both; ``found`` replaces evidence."""
    items = [asked(ON_NODE, "n1"), asked(ON_NODE, "n2"), asked(ON_PAIR, "n1", "n2")]
    kept = {on: CaseResult((run(*on.nodes),)) for _, on in items} | (found or {})
    records = {record.id: record for record, _ in items} | more.pop("records", {})
    surveyed = {node: NodeFacts(node, boot_id=boot) for node, boot in BOOTS.items()}
    on_nodes = cluster("n1", "n2", platform="h200")
    return RunResults(records, surveyed, platform, on_nodes, kept=kept.get, **more)


def hot(gpu=3):
    return lambda boot: output(
        5, row=lambda one, _: nvidia(one, reasons=HOT if one == gpu else "0x0"), boot=boot
    )


HOT_PAIR = {
    case(ON_PAIR, "n1", "n2"): CaseResult(
        (
            (
                client("n1"),
                telemetry("n1", output(boot=BOOT)),
                telemetry("n2", hot()(boot=OTHER_BOOT)),
            ),
        )
    )
}
