"""``railgauge check``: what each node lacks before the first run, and the hostfile lines to add."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from railgauge.cli import check_text, replacing, text
from railgauge.cli.reached import nodes_reached, tell
from railgauge.config import hostfile, texts, thresholds
from railgauge.config.strict_yaml import loads
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.describing.readiness import proposal
from railgauge.describing.readiness.model import CheckCell, HostfileLine
from railgauge.describing.readiness.table import Cells, cells, is_ready
from railgauge.planning.programs import programs
from railgauge.run.asking import asked
from railgauge.run.store import write_whole

HELP = "check on every node what a run needs, and print what to write into the hostfile"
EXAMPLE = (
    "example: railgauge check hostfiles/mine.yaml --write hostfiles/ready.yaml; it measures and "
    "changes nothing. Exit codes: 0 all nodes are ready, 1 something is to be mended or written "
    "or is not known, 2 bad usage or input"
)
_NOT_READY = 1
_UNNAMED = "unnamed"  # in place of a platform, which the nodes may not have yet
_YAML = (".yaml", ".yml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hostfile", type=Path, metavar="HOSTFILE", help="YAML, or one host a line")
    parser.add_argument("--platform", metavar="NAME", help="for a plain list; may be left out")
    parser.add_argument(
        "--write", type=Path, metavar="NEW.yaml", help="write the hostfile with the proposed lines"
    )
    replacing.add_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print the table; exit code 1 unless every node is ready."""
    _refuse_unwritable(options)
    cluster = hostfile.load(
        options.hostfile,
        schema_file=options.root / "hostfiles" / "schema.json",
        platform=options.platform,
        unnamed=_UNNAMED,
    )
    platform = _platform(cluster, options.root)
    planned = None if platform is None else programs(platform, cluster)
    with nodes_reached(cluster, "check", tell) as (reached, sessions):
        began = time.monotonic()
        found = cells(asked(reached, platform, planned, sessions))
        took_s = time.monotonic() - began
    lines = _lines(found)
    _write(options, cluster, lines)
    if options.json:
        text.print_json(_json(options, cluster, found, lines, took_s))
    else:
        for row in (*check_text.rows(found), *_next(options, cluster, lines)):
            print(text.printable(row))
    return 0 if is_ready(found) else _NOT_READY


def _refuse_unwritable(options: argparse.Namespace) -> None:
    new: Path | None = options.write
    if new is None:
        return
    if new.suffix not in _YAML:
        raise BadInput("is no name of a YAML file", where=str(new), remedy="write NAME.yaml")
    replacing.refuse_existing(new, options)
    if new.absolute().parent.resolve() != options.hostfile.absolute().parent.resolve():
        what = "is not in the folder of the hostfile, whose relative paths it keeps"
        raise BadInput(what, where=str(new), remedy=f"write it into {options.hostfile.parent}")


def _platform(cluster: Cluster, root: Path) -> Platform | None:
    """Return the platform of the hostfile, if there is a file for it."""
    if not (root / "thresholds" / f"{cluster.platform}.json").exists():
        return None
    found = thresholds.load(cluster.platform, root / "thresholds")
    return thresholds.on_site(found, cluster, cluster.source)


def _lines(found: Cells) -> list[HostfileLine]:
    """Return what is to be written, each line once."""
    every = (line for row in found.values() for cell in row.values() for line in cell.lines)
    return list({repr(line): line for line in every}.values())


def _write(options: argparse.Namespace, cluster: Cluster, lines: Sequence[HostfileLine]) -> None:
    if options.write is not None:
        write_whole(options.write, proposal.written(_text(options, cluster), lines))


def _text(options: argparse.Namespace, cluster: Cluster) -> str:
    if options.hostfile.suffix in _YAML:
        return texts.read(options.hostfile)
    named = "" if cluster.platform == _UNNAMED else cluster.platform
    return proposal.of_plain(cluster, named)


def _next(
    options: argparse.Namespace, cluster: Cluster, lines: Sequence[HostfileLine]
) -> Iterator[str]:
    """Yield what is to be written, and the command that comes next."""
    if proposed := _proposed(options, cluster, lines):
        yield f"to write into {options.hostfile}:"
        yield from (f"  {row}" for row in proposal.block(proposed, proposed).splitlines())
    if options.write:
        yield f"written: {options.write}; next: railgauge check {options.write}"
    elif proposed:
        yield "or have it written: --write NEW.yaml, beside this hostfile"
    if cluster.platform == _UNNAMED:
        yield (
            "the hostfile names no platform: railgauge platform new NAME --hostfile "
            f"{options.write or options.hostfile}"
        )


def _proposed(
    options: argparse.Namespace, cluster: Cluster, lines: Sequence[HostfileLine]
) -> dict[str, Any]:
    """Return the keys of the hostfile that change, as they become."""
    document, _ = loads(_text(options, cluster))
    made = proposal.applied(document, lines)
    return {key: made[key] for key in proposal.changed(document, made)}


def _json(
    options: argparse.Namespace,
    cluster: Cluster,
    found: Cells,
    lines: Sequence[HostfileLine],
    took_s: float,
) -> dict[str, Any]:
    return {
        "hostfile": str(options.hostfile),
        "ready": is_ready(found),
        "nodes": {
            node: {name: _cell(cell) for name, cell in row.items()} for node, row in found.items()
        },
        "write": _proposed(options, cluster, lines),
        "written": str(options.write) if options.write else None,
        "took_s": round(took_s, 1),
    }


def _cell(cell: CheckCell) -> dict[str, Any]:
    return {
        "state": str(cell.state),
        "found": cell.found,
        "remedy": cell.remedy,
        "lines": [{"keys": list(line.keys), "value": line.value} for line in cell.lines],
    }
