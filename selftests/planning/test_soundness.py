"""Each entry of a platform file is used by a test."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT, document, limit_of, measurement_of, put

from railgauge.config import thresholds
from railgauge.config.thresholds.model import Expectation
from railgauge.core.errors import BadInput
from railgauge.core.limits import Basis
from railgauge.planning.expectations import EXPECTATIONS
from railgauge.planning.marks import marked_tests
from railgauge.planning.soundness import complaints, undeclared

TESTS = """\
import pytest

@pytest.mark.measures("host_write_bandwidth")
def test_write(pair, pairing, size, measure, check):
    check(measure(pair, pairing), size)

@pytest.mark.expects("cpu_governor")
def test_governor(node, expect):
    expect(node)
"""
BASIS = {"source": "derived", "says": "made up for this test"}


def asks(folder, text=TESTS):
    inner = folder / "tests" / "network"
    inner.mkdir(parents=True, exist_ok=True)
    (inner / "test_it.py").write_text(text, encoding="utf-8")
    return marked_tests(folder)


def found(tmp_path, doc, text=TESTS):
    platform = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    return list(complaints(platform, asks(tmp_path, text)))


def bench():
    doc = document()
    doc["expected"] = {"cpu_governor": {"equals": ["performance"], "basis": BASIS}}
    doc.pop("not_applicable", None)
    measurement_of(doc).pop("traffic", None)
    return doc


def test_a_file_that_tests_use_completely_has_no_complaint(tmp_path):
    assert found(tmp_path, bench()) == []


@pytest.mark.parametrize("name", thresholds.available(ROOT / "thresholds"))
def test_tests_use_every_entry_of_the_projects_platform_files(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    assert list(complaints(platform, marked_tests(ROOT))) == []


def test_an_expectation_without_a_test_is_reported(tmp_path):
    doc = bench()
    doc["expected"]["kernel"] = {"equals": "6.1", "basis": BASIS}
    (line,) = found(tmp_path, doc)
    assert "/expected/kernel" in line
    assert "no test" in line


def test_an_expectation_of_an_unknown_fact_is_reported(tmp_path):
    doc = bench()
    doc["expected"]["own"] = {"equals": 1, "basis": BASIS}
    own = TESTS + '\n@pytest.mark.expects("own")\ndef test_own(node, expect):\n    expect(node)\n'
    (line,) = found(tmp_path, doc, own)
    assert "knows no fact" in line
    doc["expected"]["own"]["fact"] = "cpus"
    assert found(tmp_path, doc, own) == []


def test_an_expectation_of_undeclared_parts_is_reported(tmp_path):
    doc = bench()
    doc["expected"]["gpu_model"] = {"as_declared": True, "basis": BASIS}
    more = '\n@pytest.mark.expects("gpu_model")\ndef test_model(node, gpu, expect):\n    pass\n'
    (line,) = found(tmp_path, doc, TESTS + more)
    assert line.startswith("/expected/gpu_model: the platform declares no GPU")


# Of GPUs and NICs, though the names do not begin with ``gpu_``, ``nic_`` and ``netdev``.
OF_GPUS = {"collective_library", "peer_memory"}
OF_NICS = {
    *("port_state", "physical_state", "port_address", "link_rate", "link_layer", "active_mtu"),
    *("lid", "subnet_manager", "node_guid", "gid", "pcie_link", "ofed", "ipoib", "memlock_config"),
}


def reported(**hardware):
    """The ladder's expectations that are reported on a platform without a part of its hardware."""
    basis = Basis("site", "for a test")
    every = {
        name: Expectation(name, "equals", 1, basis, f"/expected/{name}") for name in EXPECTATIONS
    }
    base = thresholds.load("h200", ROOT / "thresholds")
    lacking = replace(base, expected=every, measurements={}, **hardware)
    return {line.split(":")[0].removeprefix("/expected/") for line in undeclared(lacking, TESTED)}


TESTED = marked_tests(ROOT)


def test_an_expectation_of_hardware_that_is_not_declared_is_reported():
    """Of every fact, also one of the node itself, such as gpu_driver; not a list of names."""
    always = {name for name in EXPECTATIONS if name.startswith("netdev")}  # of Ethernet
    always |= {"gpu_compute_partition", "gpu_memory_partition", "mm_kobj"}  # of AMD's, of MetaX's
    assert reported() == always
    of_gpus = {name for name in EXPECTATIONS if name.startswith("gpu_")} | OF_GPUS
    assert reported(gpus=None, affinity={}) == always | of_gpus
    of_nics = {name for name in EXPECTATIONS if name.startswith("nic_")} | OF_NICS
    found = reported(nics=(), affinity={0: {}})
    assert found - {"peer_memory"} == always | of_nics | {"gpu_nic_link"}


def test_a_measurement_of_hardware_that_is_not_declared_is_reported_too():
    homelab = thresholds.load("connectx4-homelab", ROOT / "thresholds")
    h200 = thresholds.load("h200", ROOT / "thresholds")
    tcp = thresholds.load("h100-tcpx", ROOT / "thresholds").measurements["host_tcp_bandwidth"]
    of_gpus = h200.measurements["gpu_host_bandwidth"]
    more = {**homelab.measurements, "gpu_host_bandwidth": of_gpus, "host_tcp_bandwidth": tcp}
    (line,) = undeclared(replace(homelab, measurements=more), TESTED)
    assert line.startswith("/measurements/gpu_host_bandwidth: the platform declares no GPU")


def test_an_expectation_of_a_site_needs_what_has_its_fact(tmp_path):
    doc = bench()
    own = TESTS + '\n@pytest.mark.expects("own")\ndef test_own(node, expect):\n    expect(node)\n'
    doc["expected"]["own"] = {"fact": "gpu_software.runtime", "equals": "12.4", "basis": BASIS}
    (line,) = found(tmp_path, doc, own)
    assert line.startswith("/expected/own: the platform declares no GPU")


def test_rdma_of_nics_without_rdma_is_reported(tmp_path):
    doc = bench()
    doc["hardware"]["nics"][0]["rdma"] = False
    doc["expected"]["port_state"] = {"equals": "ACTIVE", "basis": BASIS}
    more = '\n@pytest.mark.expects("port_state")\ndef test_port(node, nic, expect):\n    pass\n'
    assert any("declares no NIC with RDMA" in line for line in found(tmp_path, doc, TESTS + more))


def test_a_measurement_without_a_test_is_reported(tmp_path):
    doc = bench()
    doc["measurements"]["invented"] = dict(measurement_of(doc))
    (line,) = found(tmp_path, doc)
    assert "/measurements/invented" in line


def test_a_kind_of_question_without_a_test_is_reported(tmp_path):
    doc = bench()
    measurement_of(doc)["traffic"] = {"share": [0.9, 1.3], "basis": BASIS}
    (line,) = found(tmp_path, doc)
    assert "per traffic" in line


def test_a_limit_that_no_level_uses_is_reported(tmp_path):
    doc = bench()
    limits = measurement_of(doc)["limits"]
    limits.append({**limit_of(doc), "metric": "msg_rate", "unit": "Mpps"})
    (line,) = found(tmp_path, doc)
    assert f"limits/{len(limits) - 1}" in line
    assert "msg_rate" in line


def test_a_measured_subject_cannot_be_not_applicable_too(tmp_path):
    doc = bench()
    doc["not_applicable"] = {
        "host_write_bandwidth": "measured all the same, as it happens",
        "no_such_thing": "a slip of the pen, as it happens",
    }
    measured, unknown = found(tmp_path, doc)
    assert "remove one of the two" in measured
    assert "no test under tests/ has this subject" in unknown


def test_a_comparison_with_a_missing_measurement_is_reported(tmp_path):
    doc = bench()
    ratio = {"metric": "scaling", "per": "ratio", "of": "bw_average", "over": "nothing"}
    measurement_of(doc)["asserts"].append(ratio)
    assert any("nothing, which is not a measurement" in line for line in found(tmp_path, doc))


def test_a_test_file_that_is_not_python_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"test_it\.py"):
        asks(tmp_path, "def test_it(:\n")
