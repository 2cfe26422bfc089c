"""Facts pass through JSON without loss, and a missing fact is never read as a value."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.core.codec import to_plain
from railgauge.core.errors import BadInput, FactMissing
from railgauge.facts import NodeFacts, from_json, require
from railgauge.facts.model import GidFacts, GpuFacts, IrqFacts, NetdevFacts, NicFacts

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
MAPPINGS = st.dictionaries(st.text(), st.text(), max_size=3)
FACTS = st.builds(
    NodeFacts,
    node=st.text(),
    governors=st.lists(st.text()).map(tuple),
    gpus=st.lists(
        st.builds(
            GpuFacts,
            power_limit_w=st.none() | NUMBERS,
            ecc_enabled=st.none() | st.booleans(),
            ecc_uncorrected=st.none() | st.integers(),
            fabric=st.none() | st.text(),
        ),
        max_size=3,
    ).map(tuple),
    netdevs=st.lists(st.builds(NetdevFacts, rate_gbps=st.none() | NUMBERS), max_size=2).map(tuple),
    irqs=st.lists(st.builds(IrqFacts), max_size=2).map(tuple),
    numa_cpus=MAPPINGS,
    nics=st.lists(
        st.builds(
            NicFacts,
            rate_gbps=st.none() | NUMBERS,
            lid=st.none() | st.integers(),
            gids=st.lists(st.builds(GidFacts)).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    cpus=st.none() | st.integers(),
    gpu_software=MAPPINGS,
    topology=st.dictionaries(st.text(), MAPPINGS, max_size=3),
    missing=MAPPINGS,
)


@given(FACTS)
def test_facts_pass_through_json_unchanged(facts):
    plain = to_plain(facts)
    assert json.loads(json.dumps(plain)) == plain
    assert from_json(plain) == facts


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        {"node": "n", "gpus": [], "nics": []},
        to_plain(NodeFacts("n")) | {"colour": "red"},
        to_plain(NodeFacts("n")) | {"nics": [{"name": "mlx5_0"}]},
        to_plain(NodeFacts("n")) | {"gpus": 8},
    ],
)
def test_other_json_is_refused(data):
    with pytest.raises(BadInput, match="not the facts of a node"):
        from_json(data)


def test_a_gpu_of_an_earlier_version_has_no_device_id():
    plain = to_plain(NodeFacts("n", gpus=(GpuFacts(0, "H200", None, None, device_id="2335"),)))
    del plain["gpus"][0]["device_id"]
    assert from_json(plain).gpus[0].device_id is None
    del plain["gpus"][0]["fabric"]
    with pytest.raises(BadInput, match="not the facts of a node"):
        from_json(plain)


LATER = (
    "machine_id", "clock_offset_s", "bios", "cpus_present", "cpu_model", "memory_mib",
    "failed_logins", "virtual",
)  # fmt: skip


def test_facts_of_an_earlier_version_are_read_with_reasons_for_missing_ones():
    """Facts as saved before these were collected (9b78d9d)."""
    saved = {key: value for key, value in to_plain(NODE).items() if key not in LATER}
    facts = from_json(saved)
    assert replace(facts, missing=NODE.missing) == NODE
    for name in LATER:
        with pytest.raises(FactMissing, match=f"{name} is not known: the version that collected"):
            require(facts, name)
    assert from_json(to_plain(facts)) == facts


def test_a_field_that_every_version_has_must_be_given():
    saved = {key: value for key, value in to_plain(NODE).items() if key != "kernel"}
    with pytest.raises(BadInput, match="some fields are not given"):
        from_json(saved)


NODE = NodeFacts(
    "mx01",
    cpus=4,
    gpus=(GpuFacts(0, "MetaX C500", "0000:08:00.0", None),),
    nics=(NicFacts("mlx5_0", lid=7, gids=(GidFacts(3, "fe80::1", None, "v2"),)),),
    topology={"gpu0": {"mlx5_0": "PXB"}},
    netdevs=(NetdevFacts("eth1", numa_node=0, mtu_bytes=8244),),
    irqs=(IrqFacts("eth1", 16, "1-16"),),
    numa_cpus={"0": "0-51,104-155"},
    missing={
        "gpus.*.fabric": "nvidia-smi-q: no answer within its time limit (exit 124)",
        "modules": "/proc/modules: no such file",
        "acs_enabled": "lspci: command not found (exit 127)",
        "nics.mlx5_0.sm_lid": "ibv_devinfo: no answer within its time limit (exit 124)",
    },
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cpus", 4),
        ("peer_memory", ()),
        ("gpus.0.bus_id", "0000:08:00.0"),
        ("nics.mlx5_0.lid", 7),
        ("nics.mlx5_0.gids.3.roce_version", "v2"),
        ("topology.gpu0.mlx5_0", "PXB"),
        ("netdevs.eth1.mtu_bytes", 8244),
        ("irqs.eth1.cpus", "1-16"),
        ("numa_cpus.0", "0-51,104-155"),
    ],
)
def test_known_facts_are_returned(path, value):
    assert require(NODE, path) == value


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("modules", "modules is not known: /proc/modules: no such file; check that the driver"),
        ("acs_enabled", "lspci: command not found (exit 127); install it"),
        ("nics.mlx5_0.sm_lid", "time limit (exit 124); run it on the node by hand"),
        ("gpus.0.fabric", "gpus.0.fabric is not known: nvidia-smi-q: no answer"),
        ("netdevs.eth1.rate_gbps", "is not known"),
        ("gpus.0.memory_mib", "the node did not report it; read the output of the probe"),
        ("nics.mlx5_9.lid", "nics.mlx5_9.lid is not known"),
        ("topology.gpu0.mlx5_1", "is not known"),
    ],
)
def test_unknown_facts_give_node_reason_and_remedy(path, says):
    with pytest.raises(FactMissing) as caught:
        require(NODE, path)
    assert str(caught.value).startswith("mx01: ")
    assert says in str(caught.value)
    assert caught.value.remedy


def test_a_misspelt_field_is_an_error_of_the_caller():
    with pytest.raises(AttributeError):
        require(NODE, "governor")
