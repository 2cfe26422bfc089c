"""A reason under ``not_applicable`` is true about documents and other tests."""

import re
from dataclasses import replace

import pytest
from testing.core_values import PLATFORMS, ROOT, SHARED, cluster, long_form

from railgauge.config import thresholds
from railgauge.planning import plan
from railgauge.planning.marks import marked_tests
from railgauge.planning.needs import candidates, unmet

KNOWN = {test.name for test in marked_tests(ROOT)}

# "netdev_rate asserts them": a reason that refers to another test.
_LEFT_TO = re.compile(r"\b([a-z]+(?:_[a-z0-9]+)*) (?:asserts?|measures?|holds|loads|stands for)\b")
# "Document 001 gives no figure for ib_read_bw": the document must not contain that word.
_SILENT = re.compile(
    r"[Dd]ocument (\d{3}) (?:does not touch|gives no figure for|names no|prints no) ([\w ]+?)"
    r"(?=[;:,.]|$)"
)
# What netdev (the link is up) and host_tcp_bandwidth (one direction) cannot detect.
_NOT_SEEN = re.compile(r"latency|bidirectional|model|layer|pcie|^lid$|^gid$|subnet_manager")


def reasons(name):
    return thresholds.load(name, ROOT / "thresholds").not_applicable.items()


def left_to(why):
    return set(_LEFT_TO.findall(why)) & KNOWN


# Reasons that say more than that hardware is missing.
_SAY_MORE = {
    ("h100-tcpx", "peer_memory"),
    ("h100-tcpx", "gpu_write_bandwidth"),
    ("connectx4-homelab", "peer_memory"),
}


@pytest.mark.parametrize("name", [*PLATFORMS, "tcp-lab"])
def test_reasons_that_follow_from_declared_hardware_are_not_repeated(name):
    platform = replace(thresholds.load(name, ROOT / "thresholds"), not_applicable={})
    level = plan.level(platform, cluster("n1", "n2", "n3"), "nightly")
    missing = unmet(platform, level, candidates(marked_tests(ROOT))).keys()
    again = {(name, what) for what, _ in reasons(name) if what in missing}
    assert again <= _SAY_MORE


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_reason_that_names_another_test_is_true(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    tested = platform.expected.keys() | platform.measurements.keys()
    left = {(what, other) for what, why in reasons(name) for other in left_to(why)}
    assert not {(what, other) for what, other in left if other not in tested}


@pytest.mark.parametrize("name", PLATFORMS)
def test_no_reason_names_a_test_that_cannot_detect_the_fault(name):
    blind = {
        what
        for what, why in reasons(name)
        if _NOT_SEEN.search(what) and left_to(why) & {"netdev", "host_tcp_bandwidth"}
    }
    assert not {
        what for what in blind if "one direction at a time" not in dict(reasons(name))[what]
    }


@pytest.mark.parametrize("name", PLATFORMS)
def test_documents_named_as_silent_do_not_contain_the_word(name):
    if not SHARED.is_dir():
        pytest.skip("the documents are not beside this project (../shared)")
    for what, why in reasons(name):
        for number, words in _SILENT.findall(why):
            (path,) = (SHARED / "seeds").glob(f"{number}_*.txt")
            text = path.read_text(encoding="utf-8", errors="replace").lower()
            assert words.lower() not in text, f"{what}: {why}"


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_reason_names_documents_of_its_platform(name):
    known = long_form(name)
    named = {number for _, why in reasons(name) for number in re.findall(r"ocument (\d{3})", why)}
    assert named <= known["documents"].keys()
