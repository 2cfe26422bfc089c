"""The verifier knows of every test of the ladder which fact it asks for."""

import importlib.util
import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest

from railgauge.bundle import factpaths
from railgauge.question import FactAt

PREFLIGHT = Path(__file__).parents[2] / "tests" / "preflight"
PARTS = {"gpu": 3, "nic": "mlx5_1", "fact": "kernel"}


def every_test():
    for path in sorted(PREFLIGHT.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_"):
                yield pytest.param(test, id=f"{path.stem}::{name}")


def asked(test, **parts):
    """What a test asks for, and the part of the node that its items are named after."""
    found = []

    def expect(node, *paths, declared="", same_as="", absent=""):
        found.append(FactAt(node, paths, declared, same_as, absent))

    address = parts.pop("address", None)
    platform = SimpleNamespace(nic=lambda _: SimpleNamespace(pci_address=address))
    known = {"node": "n1", "expect": expect, "platform": platform, **parts}
    names = list(inspect.signature(test).parameters)
    test(**{name: known[name] for name in names})
    words = [
        f"gpu{parts['gpu']}" if name == "gpu" else parts[name] for name in names if name in parts
    ]
    (fact,) = found
    return fact, "-".join(words)


@pytest.mark.parametrize("test", list(every_test()))
@pytest.mark.parametrize(
    "parts",
    [PARTS, {**PARTS, "address": "0000:12:00.0"}, {**PARTS, "fact": "nic_firmware"}],
    ids=["named", "slot", "firmware"],
)
def test_it_is_about_the_fact_that_it_is_called_after(test, parts):
    fact, pairing = asked(test, **parts)
    (mark,) = [mark for mark in test.pytestmark if mark.name == "expects"]
    assert factpaths.are_of(fact, pairing)
    assert factpaths.pattern(fact, pairing) in factpaths.KNOWN[mark.args[0]]


def about(*paths, declared="", same_as=""):
    return FactAt("n1", paths, declared, same_as)


@pytest.mark.parametrize(
    ("fact", "pairing"),
    [
        (about("nics.mlx5_0.lid"), "mlx5_1"),
        (about("nics.mlx5_0.lid", "nics.mlx5_1.lid"), "mlx5_1"),
        (about("gpus.3.links_up", same_as="gpus.4.links_total"), "gpu3"),
        (about("gpus.13.model"), "gpu3"),
        (about("topology.gpu3.mlx5_0"), "gpu3-mlx5_1"),
        (about("kernel"), "os"),
        (about("kernel"), "mlx5_0"),
        (about("nics.*.firmware"), "mlx5_0"),
        (about(), ""),
        (about("nics.mlx5_0.lid"), ""),
    ],
)
def test_a_fact_of_another_device_is_not_its_own(fact, pairing):
    assert not factpaths.are_of(fact, pairing)


@pytest.mark.parametrize(
    ("subject", "fact", "pairing"),
    [
        ("port_state", about("nics.mlx5_1.physical_state"), "mlx5_1"),
        ("link_rate", about("nics.mlx5_1.rate_gbps", declared="nics.mlx5_0.rate_gbps"), "mlx5_1"),
        ("gpu_bus_id", about("gpus.3.bus_id", declared="gpus.bus_ids.2"), "gpu3"),
        ("gpu_links", about("gpus.3.links_up", same_as="gpus.3.links_up"), "gpu3"),
        ("gpu_ecc_errors", about("gpus.3.remap_pending"), "gpu3"),
    ],
)
def test_another_fact_of_the_same_device_is_not_either(subject, fact, pairing):
    assert factpaths.pattern(fact, pairing) not in factpaths.KNOWN[subject]
