"""Rung 3: the vendor's own diagnostics, while nothing else is measured on the node."""

import pytest


@pytest.mark.measures("gpu_diagnostic_quick")
@pytest.mark.needs("nvidia gpus")
def test_quick_diagnostic(node, measure, check_results):
    """Driver, libraries, permissions and settings are fit for work, says the quick diagnostic."""
    check_results(measure(node))


@pytest.mark.measures("gpu_diagnostic_full")
@pytest.mark.needs("nvidia gpus")
def test_full_diagnostic(node, measure, check_results):
    """Every GPU passes every test of the longest diagnostic: memory, PCIe, power and stress."""
    check_results(measure(node))


@pytest.mark.measures("gpu_diagnostic_extended")
@pytest.mark.needs("nvidia gpus")
def test_extended_diagnostic(node, measure, check_results):
    """Every GPU passes the extended utility diagnostics, which have the node for themselves."""
    check_results(measure(node))


@pytest.mark.measures("node_health_check")
@pytest.mark.needs("gpus")
def test_node_health_checks(node, measure, check_results):
    """Every health check of the node passed: topology, counts, ECC, links and bandwidths."""
    check_results(measure(node))


@pytest.mark.measures("node_health_check")
@pytest.mark.needs("gpus")
def test_node_health_figures(node, measure, check):
    """The bandwidths that the health checks print are those of a sound node."""
    check(measure(node))
