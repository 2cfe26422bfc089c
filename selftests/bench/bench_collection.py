"""Collection: the items of a large cluster, compared with a plain test file of the same size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_planning import hostfile
from measuring import ROOT, Child, Compared, Row, compare, python

TITLE = "Collection"
ABOUT = """`pytest --collect-only -q` of one file of the ladder, RDMA between H200 nodes in leaves
of 32: two rounds of pairs x 8 rails x 22 (sizes, and traffic of nine measurements), so 29,920
items for 170 nodes. Compared with a file of plain pytest in which one `parametrize` gives as many
items of the same shape and the same ids, collected by the same pytest with the same plugins
installed. CPU seconds of the whole command, bytecode cached; memory is the peak of the process.
Fewer items weigh less against what is read before the first of them: hostfile, platform file and
the package itself.

*Sign-off* is the whole ladder with all pairs of 64 and of 128 nodes, in one process: beyond 20,000
judgements an item that is collected holds all pairings and sizes of a test at one place."""

NODES = (44, 86, 170)  # even, so that each has two partners in two rounds
TARGET = 1.3
PER_NODE = 8 * 22
_FILE = "tests/network/test_rdma.py"
# Nodes, and the targets in seconds and MiB.
SIGNOFFS = ((64, 25.0, 250.0), (128, 60.0, 500.0))
_HELD = "what is left is what is kept of an item, 1.2 KiB, and one is collected for each place"
_ABOVE = """before the first item the package is imported (30 MiB), and a command of each
measurement is planned for every node, so that a bad hostfile is refused"""
_PLAN = "import sys; from railgauge.cli import main; sys.exit(main())"

_PLAIN = """
import json
from pathlib import Path

import pytest

IDS = json.loads(Path(__file__).with_name("ids.json").read_text())
ROWS = [(*text.split("-"), "")[:4] for text in IDS]  # a test of traffic has no size


@pytest.mark.parametrize(("measurement", "pair", "pairing", "size"), ROWS, ids=IDS)
def test_rdma(measurement, pair, pairing, size):
    \"\"\"RDMA between any two nodes runs at line rate.\"\"\"
"""
_INI = "[pytest]\ntestpaths = tests\naddopts = -p no:cacheprovider\n"


@dataclass(frozen=True)
class Side:
    """A project folder, and the command that collects it."""

    folder: Path
    options: tuple[str, ...] = ()

    def collect(self) -> Child:
        return python(
            "-m", "pytest", "--collect-only", "-q", *self.options,
            cwd=self.folder, PYTEST_ADDOPTS="",
        )  # fmt: skip

    def ids(self) -> list[str]:
        return re.findall(r"\[(.+)\]$", self.collect().stdout, re.MULTILINE)


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        for nodes in NODES:
            yield from _collected(Path(name, str(nodes)), nodes)
        for nodes, limit_s, limit_mib in SIGNOFFS:
            yield from _signoff(Path(name), nodes, limit_s, limit_mib)


def _signoff(folder: Path, nodes: int, limit_s: float, limit_mib: float) -> Iterator[Row]:
    cluster = ("--hostfile", str(hostfile(folder, nodes)), "--level", "signoff")
    planned = python("-c", _PLAN, "plan", "--root", str(ROOT), *cluster).stdout
    judged = re.search(r"judges ([\d,]+) items", planned)
    assert judged
    items = int(judged[1].replace(",", ""))
    made = Side(ROOT, cluster).collect()
    yield Row("sign-off", items, "judgements", made.cpu_s, "s", target=limit_s, why=_HELD)
    yield Row(
        "sign-off, memory", items, "judgements", made.peak_rss_mib, "MiB",
        target=limit_mib, why=_HELD,
    )  # fmt: skip


def _collected(folder: Path, nodes: int) -> Iterator[Row]:
    ours = ladder(folder / "ladder", nodes)
    ids = ours.ids()
    assert len(ids) == nodes * PER_NODE, len(ids)
    theirs = plain(folder / "plain", ids)
    assert theirs.ids() == ids
    both = compare(lambda: ours.collect().cpu_s, lambda: theirs.collect().cpu_s)
    yield _row("collection", nodes, "s", both)
    both = compare(lambda: ours.collect().peak_rss_mib, lambda: theirs.collect().peak_rss_mib, 1)
    yield _row("collection, memory", nodes, "MiB", both)


def _row(what: str, nodes: int, unit: str, both: Compared) -> Row:
    return Row(
        what, nodes * PER_NODE, "items", both.measured, unit,
        compared_with="bare pytest", baseline=both.baseline, ratio=both.ratio,
        target=TARGET if nodes == NODES[-1] else None, why=_ABOVE,
    )  # fmt: skip


def ladder(folder: Path, nodes: int) -> Side:
    """One family of the ladder, each of whose items is collected."""
    folder.mkdir(parents=True)
    cluster = str(hostfile(folder, nodes))
    level = ("--level", "signoff", "--rounds", "2", "--most-items", str(10**9))
    return Side(ROOT, (_FILE, "--hostfile", cluster, *level))


def plain(folder: Path, ids: list[str]) -> Side:
    project(folder, _PLAIN)
    (folder / "tests" / "ids.json").write_text(json.dumps(ids), encoding="utf-8")
    return Side(folder)


def project(folder: Path, test: str) -> None:
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test_scale.py").write_text(test, encoding="utf-8")
    (folder / "pytest.ini").write_text(_INI, encoding="utf-8")
