"""Rung 3: the vendor's own diagnostics, while nothing else is measured on the node."""

import pytest


@pytest.mark.measures("gpu_diagnostic_quick", "gpu_diagnostic_full", "gpu_diagnostic_extended")
@pytest.mark.needs("nvidia gpus")
def test_diagnostic(measurement, node, measure, check_results):
    """Every GPU passes the vendor's diagnostic.

    gpu_diagnostic_quick: The vendor's quick diagnostic passes: driver, libraries, permissions and
        settings.
    gpu_diagnostic_full: Every GPU passes the vendor's longest diagnostic: memory, PCIe, power and
        stress.
    gpu_diagnostic_extended: Every GPU passes the vendor's extended utility diagnostics.

    Pass: Every named test passed on every GPU.
    Fail: A named test failed or was not carried out on a GPU.
    Remedy: Follow the diagnostic's own message in the transcript; drain the node if a GPU
        failed.
    """
    check_results(measure(node, of=measurement))


@pytest.mark.measures("node_health_check")
@pytest.mark.needs("gpus")
def test_node_health_checks(node, measure, check_results):
    """Every health check of the node passes: topology, counts, ECC, links and bandwidths.

    Pass: Every named check passed.
    Fail: A check failed or was not carried out.
    Remedy: Follow the check's own message in the transcript.
    """
    check_results(measure(node))


@pytest.mark.measures("node_health_check")
@pytest.mark.needs("gpus")
def test_node_health_figures(node, measure, check):
    """The bandwidths that the health checks print reach their floors.

    Pass: Every figure reaches its floor.
    Fail: A figure is below its floor.
    Remedy: Compare the rung 1 and rung 3 items of the same device.
    """
    check(measure(node))
