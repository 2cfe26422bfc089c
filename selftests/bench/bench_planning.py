"""Planning: what a run would do, from the hostfile and the platform file only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from measuring import ROOT, Row, python

TITLE = "Planning"
ABOUT = """`railgauge plan` for a cluster of H200 nodes in leaves of 32, two rounds at level smoke:
the whole command, in CPU seconds."""

SIZES = (320, 640, 1280)
_ABOVE = """every step is there with its commands, 1.3 KiB each: half is planning them, the rest
is writing and masking 65 MB"""
_COMMAND = "import sys; from railgauge.cli import main; sys.exit(main())"


def hostfile(folder: Path, nodes: int) -> Path:
    """An H200 cluster in leaves of 32."""
    leaves = [f"leaf{n:02}: 'n[{n * 32 + 1:04}-{n * 32 + 32:04}]'" for n in range(nodes // 32)]
    path = folder / f"{nodes}.yaml"
    path.write_text(
        f"cluster: big\nplatform: h200\nnodes: n[0001-{nodes:04}]\n"
        f"groups: {{{', '.join(leaves)}}}\n",
        encoding="utf-8",
    )
    return path


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        files = {size: hostfile(Path(name), size) for size in SIZES}
        for what, option in (("plan, text", ()), ("plan, JSON", ("--json",))):
            for size, path in files.items():
                yield _planned(what, size, path, option)


def _planned(what: str, size: int, path: Path, option: tuple[str, ...]) -> Row:
    arguments = (
        "plan",
        "--hostfile",
        str(path),
        "--level",
        "smoke",
        "--rounds",
        "2",
        "--root",
        str(ROOT),
    )
    done = python("-c", _COMMAND, *arguments, *option)
    if option:
        _, brace, printed = done.stdout.partition("{")  # progress may come before it
        assert len(json.loads(brace + printed)["nodes"]) == size
    return Row(what, size, "nodes", done.cpu_s, "s", target=10.0, why=_ABOVE if option else "")
