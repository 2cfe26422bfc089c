"""Rung 1: the subnet is cabled as declared, and its links carry no errors."""

import pytest

pytestmark = pytest.mark.needs("subnet")


@pytest.mark.measures("fabric_manager")
def test_subnet_manager(node, measure, check_fabric):
    """A subnet manager runs the subnet, and answers.

    Pass: One master subnet manager answers the query.
    Fail: There is no master, or it does not answer.
    Remedy: Start or mend the subnet manager; look for a second one with another priority.
    """
    check_fabric(measure(node))


@pytest.mark.measures("fabric_cabling")
def test_cabling(node, switch, measure, check_fabric):
    """Every declared cable joins its two declared ports, and there is no other cable.

    Pass: The scan of the subnet finds exactly the declared cables.
    Fail: A cable is missing, swapped or undeclared.
    Remedy: Move the cable to the declared port, or correct the hostfile's topology.
    """
    check_fabric(measure(node), switch)


@pytest.mark.measures("fabric_links")
def test_links(node, switch, measure, check_fabric):
    """Every declared cable is up, at its full width and speed.

    Pass: Every link of the switch has the declared width and speed.
    Fail: A link is down or was trained lower.
    Remedy: Clean or replace the cable; check both ports.
    """
    check_fabric(measure(node), switch)


@pytest.mark.measures("fabric_errors")
def test_error_counters(node, switch, measure, check_fabric):
    """No port has counted more errors than a sound link does.

    Pass: Every error counter is within its limit.
    Fail: A counter is above its limit.
    Remedy: Clean or replace the cable; reset the counters and run again.
    """
    check_fabric(measure(node), switch)


@pytest.mark.measures("fabric_errors_growth")
def test_errors_during_the_run(node, switch, measure, check_fabric):
    """No link of the subnet went down, retrained or counted errors during the run.

    Pass: The counters' growth since the start of the run is within its limit.
    Fail: A counter grew during the run.
    Remedy: Replace the cable or transceiver of that link; the measurements over it are in
        doubt.
    """
    check_fabric(measure(node), switch, since=measure(node, of="fabric_errors"))
