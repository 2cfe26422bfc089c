"""What a test needs of the declared hardware, and what happens where that is missing."""

import ast
from dataclasses import replace

import pytest
from testing.core_values import PLATFORMS, ROOT, cluster, lines_of

from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.core.model import Fabric
from railgauge.planning import needs, plan
from railgauge.planning.marks import MarkedTest, marked_tests
from railgauge.planning.needs import Candidate, candidates, lacking, not_limited, unmet

H200 = thresholds.load("h200", ROOT / "thresholds")
HOMELAB = thresholds.load("connectx4-homelab", ROOT / "thresholds")
FOUR = cluster("n1", "n2", "n3", "n4", no_fabric="nobody is asked here")
TESTS = candidates(marked_tests(ROOT))

NODES = ("two nodes", "three nodes", "four nodes")


def level(platform, of=FOUR, name="nightly"):
    return plan.level(platform, of, name)


def absent(platform, of=FOUR):
    return lacking(platform, level(platform, of))


def with_gpus(**changes):
    return replace(H200, gpus=replace(H200.gpus, **changes))


def with_nic(**changes):
    return replace(H200, nics=tuple(replace(nic, **changes) for nic in H200.nics))


def without(platform, *names):
    return replace(
        platform,
        measurements={k: v for k, v in platform.measurements.items() if k not in names},
        expected={k: v for k, v in platform.expected.items() if k not in names},
        not_applicable={},
    )


# --- needs that the declared hardware does not meet ---


@pytest.mark.parametrize(
    ("platform", "lacks"),
    [
        (H200, {"amd gpus", "metax gpus", "ethernet"}),
        (with_gpus(vendor="amd"), {"nvidia gpus", "metax gpus", "ethernet"}),
        (with_gpus(count=1), {"linked gpus", "amd gpus", "metax gpus", "ethernet"}),
        (
            replace(H200, gpus=None),
            {"gpus", "linked gpus", "nvidia gpus", "amd gpus", "metax gpus", "ethernet"},
        ),
        (with_nic(link_layer="Ethernet"), {"amd gpus", "metax gpus", "infiniband"}),
        (
            with_nic(link_layer="Ethernet", rdma=False),
            {"amd gpus", "metax gpus", "infiniband", "rdma"},
        ),
        (
            with_nic(fabric=False),
            {"amd gpus", "metax gpus", "nics", "rdma", "infiniband", "ethernet"},
        ),
    ],
)
def test_needs_are_met_by_declared_hardware_only(platform, lacks):
    of_hostfile = {"subnet", "logins", "model", "storage", "gpudirect storage", "shared storage"}
    assert absent(platform).keys() - of_hostfile == lacks


@pytest.mark.parametrize(
    ("of", "lacks"),
    [
        (cluster("n1"), {"two nodes", "three nodes", "four nodes", "subnet"}),
        (cluster("n1", "n2"), {"three nodes", "four nodes", "subnet"}),
        (cluster("n1", "n2", "n3"), {"four nodes", "subnet"}),
        (FOUR, {"subnet"}),
        (replace(FOUR, fabric=Fabric("n1", "", "topology"), no_fabric=""), set()),
    ],
)
def test_the_hostfile_decides_needs_of_nodes_and_subnet(of, lacks):
    assert absent(H200, of).keys() & {*NODES, "subnet"} == lacks


def test_the_reason_names_what_is_not_declared():
    bare = replace(H200, gpus=None, nics=(), measurements={})
    assert set(absent(bare, cluster("n1")).values()) == {
        "the platform declares no GPU",
        "the platform declares no NIC of the fabric",
        "the platform declares no NIC with RDMA",
        "the platform declares no InfiniBand NIC",
        "the platform declares no Ethernet NIC",
        "no launch by ssh in the hostfile",
        "the hostfile names no model to serve (model:)",
        "the hostfile declares no storage to measure (storage:)",
        "the hostfile declares no GPUDirect Storage (gds_… of storage:)",
        "the hostfile declares no storage that all nodes use at once",
        "the hostfile has no pair to measure",
        "the hostfile has no group of more than two nodes to measure",
        "the hostfile has fewer than four nodes",
        "the hostfile names no node that scans the subnet, and no declared topology (fabric:)",
    }
    assert absent(with_gpus(count=1))["linked gpus"] == "the platform declares one GPU a node"
    assert absent(H200)["amd gpus"] == "the platform declares GPUs of nvidia, none of amd"
    assert absent(H200)["subnet"].endswith("subnet: nobody is asked here")


# --- a subject that the platform file does not have ---

NEW = Candidate("warp", "measures", ("gpus", "two nodes"))


def outcome(platform, test=NEW, of=FOUR, name="nightly"):
    """Why the test is not applicable, if so, and whether it is listed as not limited."""
    at = level(platform, of, name)
    return unmet(platform, at, (test,)).get(test.name), test.name in not_limited(
        platform, at, (test,)
    )


def test_a_test_of_missing_hardware_is_not_applicable_with_that_reason():
    assert outcome(HOMELAB) == ("the platform declares no GPU", False)
    assert outcome(H200, of=cluster("n1")) == ("the hostfile has no pair to measure", False)
    two = replace(NEW, needs=("two nodes", "gpus"))
    assert outcome(HOMELAB, two, cluster("n1"))[0] == "the hostfile has no pair to measure"


def test_a_test_that_the_site_left_out_is_not_listed():
    ruled = replace(H200, not_applicable={"warp": "nobody travels here"})
    assert outcome(ruled) == (None, False)


def test_a_possible_test_that_the_file_does_not_mention_is_listed():
    assert outcome(H200) == (None, True)
    assert outcome(H200, replace(NEW, needs=())) == (None, True)


def test_a_declared_subject_is_required_whatever_its_test_needs():
    """A wrong mark must not remove anything from a platform file."""
    for name, kind in (("host_write_bandwidth", "measures"), ("memlock", "expects")):
        test = Candidate(name, kind, ("gpus",))
        assert outcome(HOMELAB, test) == (None, False)
    other = Candidate("memlock", "measures", ())
    assert outcome(HOMELAB, other) == (None, True)


def test_a_required_subnet_scan_is_not_listed_as_not_limited():
    scan = Candidate("fabric_links", "measures", ("subnet",))
    bare, silent = without(HOMELAB, "fabric_links"), cluster("n1", "n2", "n3")
    assert level(bare, silent, "signoff").scan.is_missing
    assert outcome(bare, scan, silent, "signoff") == (None, False)
    assert outcome(bare, scan, silent) == (None, False)
    own = replace(scan, name="fabric_colours")  # a site's own scan, which no level requires
    assert "names no node that scans" in outcome(bare, own, silent, "signoff")[0]


@pytest.mark.parametrize("platform", [H200, HOMELAB], ids=lambda platform: platform.name)
def test_each_subject_removed_from_a_platform_file_is_listed(platform):
    """Each measurement and each expectation is removed in turn."""
    platform = thresholds.with_model(platform, "some-model")
    at = level(platform, replace(FOUR, fabric=Fabric("n1", "", "topology"), no_fabric=""))
    for name in (*platform.measurements, *platform.expected):
        assert name in not_limited(without(platform, name), at, TESTS), name


# --- the marks of the tests ---


def test_the_ladders_tests_have_known_needs_only():
    assert list(needs.unknown(marked_tests(ROOT))) == []
    assert {need for test in TESTS for need in test.needs} <= set(needs.KNOWN)


_TAKES = {
    "pair": {"two nodes"}, "group": {"three nodes", "four nodes"}, "switch": {"subnet"},
    "link": {"linked gpus"}, "nic": {"nics", "rdma", "ethernet"}, "adapter": {"rdma"},
    "gpu": {"gpus", "linked gpus", "nvidia gpus", "amd gpus"},
}  # fmt: skip


def test_a_test_needs_the_parts_it_is_parametrized_over():
    found = {test.where: set(test.needs) for test in marked_tests(ROOT)}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                where = f"{path.relative_to(ROOT)}::{node.name}"
                for one in _TAKES.keys() & {argument.arg for argument in node.args.args}:
                    assert found[where] & _TAKES[one], (where, one)


@pytest.mark.parametrize("name", PLATFORMS)
def test_no_platform_declares_a_subject_whose_needs_it_lacks(name):
    """A mark that needs too much would contradict a measurement that the platform declares."""
    platform = thresholds.with_model(thresholds.load(name, ROOT / "thresholds"), "some-model")
    lacks = absent(platform).keys() - {"subnet"}
    wrong = {t.name for t in TESTS if t.is_in(platform) and lacks & set(t.needs)}
    assert not wrong


def read(folder, text):
    (folder / "tests").mkdir()
    (folder / "tests" / "test_it.py").write_text(f"import pytest\n{text}")
    return marked_tests(folder)


def test_marks_of_a_file_and_of_a_test_add_up(tmp_path):
    text = """
pytestmark = [pytest.mark.needs("gpus"), pytest.mark.slow]


@pytest.mark.measures("a")
@pytest.mark.needs("two nodes", "gpus")
def test_a(pair):
    pass


@pytest.mark.expects("b")
def test_b(node):
    pass
"""
    assert {one.name: one.needs for one in read(tmp_path, text)} == {
        "a": ("gpus", "two nodes"),
        "b": ("gpus",),
    }


def test_a_test_with_needs_only_has_no_subject(tmp_path):
    text = 'pytestmark = pytest.mark.needs("a")\n\n\n@pytest.mark.needs("b")\ndef test_a(): 1\n'
    assert [(one.kind, one.name) for one in read(tmp_path, text)] == [("", "")]


@pytest.mark.parametrize("mark", ["GPUS", "*GPUS", "'gpus', 2"])
def test_needs_must_be_string_literals(tmp_path, mark):
    text = f'@pytest.mark.expects("a")\n@pytest.mark.needs({mark})\ndef test_a(): 1\n'
    with pytest.raises(BadInput, match=r"test_it\.py: line 3: needs takes string literals only"):
        read(tmp_path, text)


FAMILY = """
NAMES = ("a", "b")


@pytest.mark.measures(*NAMES, "c")
def test_one_after_the_other(measurement, pair, size, measure, check):
    pass
"""


def test_each_member_of_a_family_is_a_subject(tmp_path):
    found = read(tmp_path, FAMILY)
    assert [(one.kind, one.name, one.ways) for one in found] == [
        ("measures", name, ("size",)) for name in "abc"
    ]
    assert len({one.where for one in found}) == 1


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"c"', '"a"', "measures names 'a' twice"),
        ("measurement, ", "", "has 3 names, so that the test needs the argument 'measurement'"),
        ("measurement, ", "expectation, ", "needs the argument 'measurement'"),
        ("*NAMES, ", "", "the argument 'measurement' is for a test whose mark measures has sev"),
    ],
)
def test_a_wrong_family_is_bad_input(tmp_path, old, new, why):
    with pytest.raises(BadInput, match=why):
        read(tmp_path, FAMILY.replace(old, new))


def test_names_that_only_python_knows_are_left_to_the_collection(tmp_path):
    found = read(tmp_path, FAMILY.replace('("a", "b")', 'tuple("ab")'))
    assert [one.name for one in found] == ["c"]


def test_an_unknown_need_is_bad_input_that_lists_the_known_needs():
    (error,) = needs.unknown([MarkedTest("t.py::test_a", "expects", "a", (), ("gpus", "gpuz"))])
    (line,) = lines_of(error)
    assert line.startswith("t.py::test_a: needs 'gpuz', which is unknown")
    assert all(need in line for need in needs.KNOWN)


def test_a_subject_of_several_tests_needs_only_what_all_of_them_need():
    """The subject is possible if any one of its tests is."""
    tests = [
        MarkedTest("t::a", "measures", "x", (), ("gpus", "rdma")),
        MarkedTest("t::b", "measures", "x", (), ("rdma", "two nodes")),
        MarkedTest("t::c", "", ""),
    ]
    assert candidates(tests) == (Candidate("x", "measures", ("rdma",)),)
