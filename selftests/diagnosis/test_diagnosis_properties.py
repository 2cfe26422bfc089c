"""Properties for any run: each bad item has a cause, nothing raises, order has no effect."""

import random
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st
from testing.diagnose_scenes import (
    accounted,
    blocked,
    broken,
    collective,
    corrupt,
    counters,
    fact,
    healthy,
    links,
    measured,
    names,
    path,
    platform,
    record,
    run_results,
    transport,
    unknown,
)

from railgauge.core.errors import FactMissing, NodeUnreachable
from railgauge.core.model import Outcome
from railgauge.diagnosis import CATALOGUE, STRAGGLER, diagnose
from railgauge.diagnosis.facts.host import _BY_SUBJECT

NODES = names(5)
NICS = ("mlx5_0", "mlx5_1")
PARTS = (*NICS, "gpu0-mlx5_0", "gpu1-mlx5_1")
SUBJECTS = sorted(
    {*_BY_SUBJECT, "gpu_count", "kernel_module", "peer_memory", "gpu_processes", "nic_present",
     "netdev_present", "netdev", "physical_state", "port_state", "lid", "made_up"}
)  # fmt: skip
KINDS = ("tool-missing", "tool-failed", "connection-lost", "unparsable", "fact-missing", "bug", "")

node = st.sampled_from(NODES)
pair = st.lists(node, min_size=2, max_size=2, unique=True).map(tuple)
group = st.lists(node, min_size=3, max_size=5, unique=True).map(tuple)
part = st.sampled_from(PARTS)
value = st.sampled_from([33.0, 200.0, 349.0, 372.4, 390.0])
facts_wrong = st.builds(
    lambda make, *what: make(*what),
    st.sampled_from([fact, unknown]),
    node,
    st.sampled_from(SUBJECTS),
    st.sampled_from(["", "kernel", "nic_firmware", "gpu1", "gpu0-mlx5_1", *NICS]),
)
over_paths = st.builds(lambda p, *rest: path(*p, *rest), pair, part, value)
over_nodes = st.builds(
    lambda where, values: collective(where, *values),
    st.one_of(pair, group, node.map(lambda name: (name,))),
    st.lists(value, min_size=1, max_size=12),
)
over_links = st.builds(
    lambda name, link, speed: links(name, {link: speed}, 3)[0 if link == (0, 1) else 3],
    node,
    st.sampled_from([(0, 1), (1, 2)]),
    value,
)
of_gpus = st.builds(
    lambda name, gpu, speed: measured(
        record(3, "gpu_host_bandwidth", name, part=f"gpu{gpu}"), speed
    ),
    node,
    st.integers(0, 7),
    value,
)
logged = st.one_of(
    st.builds(corrupt, st.one_of(pair, node.map(lambda name: (name,)))),
    st.builds(transport, st.one_of(pair, group), st.sampled_from(["Socket", "IB", "GDRDMA"])),
    st.builds(
        lambda p, metric, nic: counters(p, metric, (p[0], nic), f"{nic} of {p[0]} lags", nic),
        pair, st.sampled_from(["link_errors", "traffic_spread", "traffic"]), st.sampled_from(NICS),
    ),
)  # fmt: skip
sound = st.one_of(facts_wrong, over_paths, over_nodes, over_links, of_gpus, logged)


@dataclass(frozen=True)
class Run:
    """A drawn run in a short form, for readable failures."""

    records: tuple
    states: tuple
    untuned: bool

    @property
    def run_results(self):
        changed = [STATES[state](name) for state, name in zip(self.states, NODES, strict=True)]
        environment = dict.fromkeys(platform().environment, "") if self.untuned else {}
        return run_results(self.records, *changed, nodes=NODES, environment=environment)


@st.composite
def runs(draw):
    """A run with any mixture of bad items."""
    records = {item.id: item for item in draw(st.lists(sound, max_size=25))}
    ids = sorted(records)
    for item in draw(st.sets(st.sampled_from(ids))) if ids else ():
        kind = draw(st.sampled_from(KINDS))
        where = draw(st.sampled_from(["", "n1", "n2: ib_write_bw", "elsewhere: x"]))
        records[item] = broken(records[item], kind, where, draw(st.sampled_from(["", "it hung"])))
    for item in draw(st.sets(st.sampled_from(ids), max_size=3)) if ids else ():
        others = [records[i] for i in draw(st.sets(st.sampled_from(ids), max_size=2))]
        records[item] = blocked(records[item], *others)
    states = draw(st.tuples(*[st.sampled_from(sorted(STATES))] * len(NODES)))
    return Run(tuple(records.values()), states, draw(st.booleans()))


STATES = {
    "healthy": healthy,
    "lost a GPU": lambda name: replace(healthy(name), gpus=healthy(name).gpus[1:], modules=()),
    "lost a NIC": lambda name: replace(
        healthy(name), nics=healthy(name).nics[1:], gpu_processes=("dcgmi",)
    ),
    "unreachable": lambda name: NodeUnreachable("no route", where=name),
    "unknown": lambda name: FactMissing("the probe was cut off", where=name),
}


def troubled(found):
    wrong = (Outcome.FAILED, Outcome.ERROR)
    return {item.id for item in found.records.values() if item.outcome in wrong}


@given(runs())
def test_each_failed_item_and_each_error_has_a_cause(run):
    found = run.run_results
    assert accounted(diagnose(found)) >= troubled(found)


@given(runs())
def test_evidence_holds_bad_items_only_and_causes_name_existing_items(run):
    found = run.run_results
    waits = {item.id for item in found.records.values() if item.outcome is Outcome.BLOCKED}
    for cause in diagnose(found):
        assert cause.evidence
        assert set(cause.evidence) <= troubled(found) or cause.cause == STRAGGLER
        assert set(cause.explains) <= troubled(found) | waits
        assert not set(cause.evidence) & set(cause.explains)
        assert cause.cause in CATALOGUE
        assert cause.confidence in ("certain", "likely", "open")


@given(runs())
def test_a_cause_is_named_once(run):
    found = run.run_results
    named = [(cause.cause, cause.where, cause.confidence) for cause in diagnose(found)]
    assert len(named) == len(set(named))


@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_the_records_does_not_matter(run, chance):
    found = run.run_results
    shuffled = list(found.records.items())
    chance.shuffle(shuffled)
    assert diagnose(replace(found, records=dict(shuffled))) == diagnose(found)


@given(runs())
def test_a_blocked_item_is_explained_only_by_its_blocker(run):
    found = run.run_results
    for cause in diagnose(found):
        for item in (found.records[i] for i in cause.explains):
            if item.outcome is Outcome.BLOCKED:
                assert set(item.blocked_by) & set(cause.evidence)


@given(runs())
def test_an_open_cause_says_what_would_decide(run):
    found = run.run_results
    for cause in diagnose(found):
        if cause.confidence == "open" and cause.cause != "undiagnosed":
            assert cause.would_decide


any_names = st.one_of(st.text(max_size=12), st.sampled_from(["mlx5_0", "gpu1>gpu1", "n1"]))


@given(
    st.integers(0, 5),
    any_names,
    any_names,
    st.tuples(node, node),
    any_names,
)
def test_records_of_a_bundle_may_hold_any_text(rung, subject, pairing, nodes, printed):
    """Only the nodes of a bundle's records are checked against its cluster."""
    failed = transport(("n1", "n2"), printed)
    failed = replace(failed, rung=rung, subject=subject, pairing=pairing, nodes=nodes)
    slow = measured(replace(path("n1", "n2", "mlx5_0", 1), judgements=()), 1.0, metric=printed)
    slow = replace(slow, id="slow", rung=rung, subject=subject, pairing=pairing, nodes=nodes)
    pointing = counters(("n1", "n2"), "link_errors", (printed, pairing), printed)
    error = broken(replace(slow, id="error"), printed, f"{printed}: {pairing}", printed)
    found = run_results([failed, slow, pointing, error], nodes=NODES)
    assert accounted(diagnose(found)) >= troubled(found)


def test_a_run_of_hundreds_of_items_is_diagnosed_correctly():
    chance = random.Random(1)
    many = names(64)
    items = [
        path(a, b, nic, 200.0 if "n7" in (a, b) else 392.0)
        for a in many for b in chance.sample(many, 4) if a != b for nic in NICS
    ]  # fmt: skip
    causes = diagnose(run_results(items, nodes=many))
    assert [(cause.cause, cause.where.node) for cause in causes] == [("slow-node", "n7")]
