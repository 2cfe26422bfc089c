"""``railgauge slurm-nodes``: the nodes of a hostfile that Slurm can give to a job."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from railgauge.cli import text
from railgauge.config import hostfile
from railgauge.config.thresholds import LEVELS
from railgauge.core.errors import BadInput
from railgauge.core.naming import folded
from railgauge.planning import part, sample
from railgauge.run import inputs
from railgauge.transport.slurm import nodes

HELP = "print the nodes of a hostfile that Slurm can give to a job, for sbatch --nodelist"
EXAMPLE = (
    'example: sbatch --nodelist="$(railgauge slurm-nodes hostfiles/mine.yaml)" '
    "examples/acceptance.sbatch hostfiles/mine.yaml"
)
_SLURM = "slurm"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hostfile", type=Path, metavar="HOSTFILE")
    parser.add_argument(
        "--shard", metavar="I/N", help="only the nodes that this shard of a run uses"
    )
    parser.add_argument(
        "--level", choices=LEVELS, default="nightly", help="the level of the run, for --shard"
    )


def run(options: argparse.Namespace) -> int:
    schema = options.root / "hostfiles" / "schema.json"
    cluster = hostfile.load(options.hostfile, schema_file=schema)
    if cluster.transport != _SLURM:
        raise BadInput(
            f"its transport is {cluster.transport}: only Slurm's own nodes are asked about",
            where=cluster.source,
            remedy="set transport: slurm",
        )
    names = _of_shard(options) if options.shard else [node.name for node in cluster.nodes]
    refused = nodes.refusals(names, cluster.nodes[0].slurm.partition, for_a_job=True)
    usable = [name for name in names if name not in refused]
    for name, why in refused.items():
        print(f"left out {text.printable(f'{name}: {why}')}", file=sys.stderr)
    if not usable:
        raise BadInput("Slurm can give none of its nodes", where=cluster.source)
    if options.json:
        text.print_json({"nodes": usable, "refused": refused})
    else:
        print(folded(usable))
    return 0


def _of_shard(options: argparse.Namespace) -> list[str]:
    cluster, platform = inputs.site(options.hostfile, options.root, None)
    level = sample.level(platform, cluster, options.level)
    return list(part.used(part.of_level(part.shard(options.shard, cluster), level)))
