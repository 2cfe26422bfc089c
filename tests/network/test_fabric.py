"""Rung 1: the subnet is cabled as declared, and its links carry no errors."""

import pytest

pytestmark = pytest.mark.needs("subnet")


@pytest.mark.measures("fabric_manager")
def test_subnet_manager(node, measure, check_fabric):
    """A subnet manager is in charge of the subnet, and answers."""
    check_fabric(measure(node))


@pytest.mark.measures("fabric_cabling")
def test_cabling(node, switch, measure, check_fabric):
    """Every declared cable joins the two ports that it should, and there is no other."""
    check_fabric(measure(node), switch)


@pytest.mark.measures("fabric_links")
def test_links(node, switch, measure, check_fabric):
    """Every declared cable is up, at its full width and speed."""
    check_fabric(measure(node), switch)


@pytest.mark.measures("fabric_errors")
def test_error_counters(node, switch, measure, check_fabric):
    """No port has counted more errors than a sound link does."""
    check_fabric(measure(node), switch)


@pytest.mark.measures("fabric_errors_growth")
def test_errors_during_the_run(node, switch, measure, check_fabric):
    """While everything else was measured no link went down, retrained or took errors."""
    check_fabric(measure(node), switch, since=measure(node, of="fabric_errors"))
