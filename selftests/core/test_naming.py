"""File names stay short for any number of nodes, and stay unique to these nodes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from testing.places import ROOT

from railgauge.config import thresholds
from railgauge.core import naming
from railgauge.core.model import Case, Cluster, Node, Transcript
from railgauge.core.pseudonyms import Pseudonyms
from railgauge.core.question import CaseResult
from railgauge.diagnosis.model import Where
from railgauge.diagnosis.reach import nodes_of
from railgauge.planning import plan
from railgauge.run.case_files import case_file
from railgauge.run.store import Store

MANY = tuple(f"node{number:02}" for number in range(1, 41))
# Names without a common part, which cannot be folded.
STRANGERS = tuple(f"{a}{b}-gpu-of-the-second-row" for a in "abcdefgh" for b in "vwxyz")
# Including the suffix that Store adds while it writes; file systems allow 255 bytes.
MOST_BYTES = 160


def cluster(platform: str, names: tuple[str, ...]) -> Cluster:
    nodes = tuple(Node(name, name, name) for name in names)
    halves = {"left": names[:20], "right": names[20:]}
    return Cluster("big", platform, "ssh", nodes, "big.yaml", groups=halves)


def all_cases(platform_name: str, names: tuple[str, ...], level: str) -> list[Case]:
    platform = thresholds.load(platform_name, ROOT / "thresholds")
    wanted = plan.level(platform, cluster(platform_name, names), level)
    return [case for _, case in plan.cases(platform, wanted)]


@pytest.mark.parametrize("level", ["smoke", "nightly"])
@pytest.mark.parametrize("names", [MANY, STRANGERS], ids=["numbered", "strangers"])
@pytest.mark.parametrize("platform", ["h200", "h100-tcpx"])
def test_every_case_of_forty_nodes_has_a_short_file_of_its_own(platform, names, level):
    cases = all_cases(platform, names, level)
    assert max(len(case.nodes) for case in cases) == 40
    assert {20, 40} <= {len(case.nodes) for case in cases}
    files = [case_file(case) for case in cases]
    assert max(len(Path(name).name) for name in files) <= MOST_BYTES
    assert len(set(files)) == len(set(cases))
    assert max(len(naming.title(case)) for case in cases) <= MOST_BYTES


def test_a_case_of_forty_nodes_is_kept_and_found_again(tmp_path):
    """Two groups of the same size are two cases, and so are two orders of the same nodes."""
    store = Store(tmp_path)
    cases = [Case("sum", nodes, None, (8,)) for nodes in (MANY, STRANGERS, MANY[::-1])]
    for case in cases:
        ran = Transcript("node01", ("mpirun",), 0, case.nodes[0], "", 1.0)
        store.save(case, CaseResult(((ran,),)))
    for case in cases:
        ((ran,),) = store.load(case).runs
        assert ran.stdout == case.nodes[0]
        assert (tmp_path / store.transcript_name(case)).stat().st_size
    held = json.loads((tmp_path / case_file(cases[0])).read_text(encoding="utf-8"))
    assert held["case"]["key"] == f"sum[{':'.join(MANY)}]"


def test_names_of_few_nodes_are_as_they_were():
    assert case_file(Case("x", ("a", "b"), None, ())) == "transcripts/x_a+b.json"
    assert case_file(Case("x", ("a", "b", "c"), None, ())) == "transcripts/x_a+b+c.json"
    assert naming.place(("mx01", "mx02")) == "mx01:mx02"
    assert naming.place(MANY) == "node[01-40]"
    assert naming.place(STRANGERS) == f"{STRANGERS[0]} and 39 more"


@pytest.mark.parametrize("names", [MANY, STRANGERS, ("a", "b"), ("rack1-n1", "rack2-n1", "x")])
def test_a_name_of_several_nodes_can_be_read_back(names):
    assert nodes_of(naming.folded(names)) == set(names)
    assert nodes_of(naming.among(names)) == set(names)


@pytest.mark.parametrize("names", [MANY, STRANGERS], ids=["numbered", "strangers"])
def test_a_cause_on_forty_nodes_is_reported_in_few_words(names):
    assert len(str(Where(naming.among(names), "mlx5_0"))) <= 80
    assert str(Where("n1|n2")) == "n1|n2"


FOLDED = {
    "two brackets": ("rack1-n1", "rack1-n2", "rack2-n1", "rack2-n2"),
    "digit first": tuple(f"{number}a" for number in range(1, 9)),
    "digits first": tuple(f"4u{number}" for number in range(1, 9)),
    "odd": tuple(f"n{number:04}" for number in range(1, 999, 2)),
    "in a domain": tuple(f"n{number}.site" for number in range(1, 9)),
}


@pytest.mark.parametrize("names", FOLDED.values(), ids=FOLDED)
def test_no_name_of_a_host_stays_in_a_folded_set(names):
    """A redacted name holds the pseudonyms of all nodes and no part of their real names."""
    pseudonyms = Pseudonyms(names)
    stand_ins = {pseudonyms.text(name, Counter()) for name in names}
    assert not stand_ins & set(names)
    shown = pseudonyms.text(f"on {naming.folded(names)}: x[{naming.folded(names)}]", Counter())
    inner = shown.removeprefix("on ").partition(":")[0]
    assert nodes_of(inner) == stand_ins
    assert shown == f"on {inner}: x[{inner}]"
