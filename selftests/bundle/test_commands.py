"""A transcript must hold the command that its case asks for; only the port may differ."""

from dataclasses import replace

import pytest
from testing.places import ROOT

from railgauge.bundle.commands import Commands, moved
from railgauge.config import hostfile, thresholds
from railgauge.core.errors import NotVerified
from railgauge.core.model import Transcript
from railgauge.core.terms import COUNTER_ROLES, LOAD_ROLES, Role
from railgauge.facts import steal
from railgauge.judging import traffic
from railgauge.planning import plan
from railgauge.planning.telemetry import samplers
from railgauge.run.invocation import Address, Addresses, addresses

PLATFORMS = ("h200", "mi300x", "metax-c500", "connectx4-homelab", "h100-tcpx")


def known(name):
    schema = ROOT / "hostfiles" / "schema.json"
    cluster = hostfile.load(ROOT / "hostfiles" / f"lab-{name}.yaml", schema_file=schema)
    platform = thresholds.load(name, ROOT / "thresholds")
    return thresholds.on_site(platform, cluster, cluster.source), cluster


def cases(platform, cluster):
    """One case for each measurement."""
    level = plan.level(platform, cluster, "smoke")
    return list({case.measurement: case for _, case in plan.cases(platform, level)}.values())


def ran(command, role, moment):
    return Transcript(
        command.node,
        command.argv,
        0,
        f"{role} {moment}",
        "",
        1.0,
        str(moment),
        command.environment,
        role,
    )


def run_of(case, platform, cluster, port=18600, moment=0):
    """The transcripts of one run: the reporting command, its servers, samplers and counters."""
    *servers, last = plan.commands(case, platform, cluster, port)
    run = [ran(last, "client", moment)]
    run += [ran(one, Role.SERVICE if one.endless else "server", moment) for one in servers]
    run += [ran(one, Role.TELEMETRY, moment) for one in samplers(case, platform, cluster)]
    spec = platform.measurements[case.measurement].traffic
    probes = traffic.probes(case.nodes, cluster.rootfs, spec, platform)
    return (*run, *(ran(one, role, moment) for role in COUNTER_ROLES for one in probes))


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_measurement_of_every_platform_fits_its_own_command(name):
    platform, cluster = known(name)
    held = Commands(platform, cluster)
    for moment, case in enumerate(cases(platform, cluster)):
        ports = (18515, 32767)
        runs = [run_of(case, platform, cluster, p, f"{moment} {p}") for p in ports]
        held.refuse_others(case, runs)


@pytest.mark.parametrize("name", PLATFORMS)
def test_no_measurement_passes_for_another(name):
    """A transcript of another measurement is refused even if it is between the same nodes."""
    platform, cluster = known(name)
    every = cases(platform, cluster)
    for case in every:
        for other in every:
            if other != case:
                with pytest.raises(NotVerified, match="is not the command of"):
                    Commands(platform, cluster).refuse_others(
                        case, [run_of(other, platform, cluster)]
                    )


@pytest.fixture
def homelab():
    return known("connectx4-homelab")


@pytest.fixture
def case(homelab):
    return next(c for c in cases(*homelab) if c.measurement == "host_write_bandwidth")


def refused(homelab, case, *runs):
    with pytest.raises(NotVerified) as caught:
        Commands(*homelab).refuse_others(case, runs)
    return str(caught.value)


def test_a_server_that_ended_too_early_may_be_the_only_transcript(homelab, case):
    client, server, *_ = run_of(case, *homelab)
    Commands(*homelab).refuse_others(case, [(server,)])
    assert "is not the command of" in refused(homelab, case, (client,))
    assert "is not the command of" in refused(homelab, case, ())


def test_both_ends_have_one_port(homelab, case):
    client, _, *counters = run_of(case, *homelab)
    _, other, *_ = run_of(case, *homelab, port=20000)
    assert "is not the command of" in refused(homelab, case, (client, other, *counters))


@pytest.mark.parametrize(
    "change",
    [
        lambda run: (replace(run[0], node=run[1].node), *run[1:]),
        lambda run: (replace(run[0], argv=(*run[0].argv, "-q", "16")), *run[1:]),
        lambda run: (replace(run[0], argv=run[0].argv[:-1]), *run[1:]),
        lambda run: (replace(run[0], environment={"A": "b"}), *run[1:]),
        lambda run: (replace(run[0], role="server"), *run[1:]),
        lambda run: (run[1], run[0], *run[2:]),
        lambda run: (run[0], *run[1:2], *run[1:]),
        lambda run: (run[0], *run[2:]),
        lambda run: run[:-1],
        lambda run: (*run[:-1], replace(run[-1], node=run[-2].node)),
        lambda run: (*run[:-1], replace(run[-1], argv=("true",))),
    ],
)
def test_a_command_that_differs_is_refused(homelab, case, change):
    assert refused(homelab, case, change(run_of(case, *homelab)))


@pytest.fixture
def sampled():
    """A platform, its cluster, and a case whose GPUs are sampled, with its run."""
    platform, cluster = known("h100-tcpx")
    found = next(c for c in cases(platform, cluster) if c.measurement == "pair_all_reduce")
    return (platform, cluster), found, run_of(found, platform, cluster)


@pytest.mark.parametrize(
    "change",
    [
        lambda one, other: (replace(one, argv=(*one.argv, "-i", "0")), other),
        lambda one, other: (replace(one, argv=("true",)), other),
        lambda one, other: (replace(one, node=other.node), other),
        lambda one, other: (replace(one, node=other.node), replace(other, node=one.node)),
        lambda one, other: (other, one),
        lambda one, other: (one,),
        lambda one, other: (one, other, other),
    ],
)
def test_samples_of_another_command_or_node_are_refused(sampled, change):
    of, case, run = sampled
    own = [one for one in run if one.role == Role.TELEMETRY]
    rest = tuple(one for one in run if one.role != Role.TELEMETRY)
    Commands(*of).refuse_others(case, [run])
    assert "does not sample the GPUs of" in refused(of, case, (*rest, *change(*own)))


def test_samples_of_a_measurement_without_any_are_refused(homelab, case, sampled):
    own = next(one for one in sampled[2] if one.role == Role.TELEMETRY)
    run = run_of(case, *homelab)
    assert "does not sample the GPUs of" in refused(homelab, case, (*run, own))


def with_loads(homelab, case, nodes, change=lambda reads: reads):
    """The run of the case with the load of nodes, changed."""
    probes = steal.readers(nodes, homelab[1].rootfs)
    reads = [ran(one, role, 0) for role in LOAD_ROLES for one in probes]
    return (*run_of(case, *homelab), *change(reads))


def test_the_load_of_some_or_all_nodes_may_have_been_read(homelab, case):
    for nodes in ((), case.nodes[1:], case.nodes):
        Commands(*homelab).refuse_others(case, [with_loads(homelab, case, nodes)])


@pytest.mark.parametrize(
    "change",
    [
        lambda reads: reads[:1],
        lambda reads: reads[2:],
        lambda reads: [*reads, *reads],
        lambda reads: [replace(reads[0], argv=("true",)), *reads[1:]],
        lambda reads: [replace(one, node="elsewhere") for one in reads],
        lambda reads: [*reads[2:], *reads[:2]],
        lambda reads: [*reads[:2], reads[3], reads[2]],
    ],
)
def test_the_load_of_other_nodes_or_by_other_commands_is_refused(homelab, case, change):
    run = with_loads(homelab, case, case.nodes, change)
    assert "does not read the load of nodes among" in refused(homelab, case, run)


def test_equal_outputs_at_one_time_are_refused(homelab, case):
    held = Commands(*homelab)
    held.refuse_others(case, [run_of(case, *homelab)])
    held.refuse_others(case, [run_of(case, *homelab, moment=1)])
    other = next(c for c in cases(*homelab) if c.measurement == "host_read_bandwidth")
    with pytest.raises(NotVerified, match="has the same output as run/transcripts/host_write"):
        held.refuse_others(other, [run_of(other, *homelab)])


def test_a_resumed_run_may_have_reached_its_nodes_at_other_addresses(homelab, case):
    platform, cluster = homelab
    nodes = {n.name: Address(f"127.0.9.{i}", {}) for i, n in enumerate(cluster.nodes, 1)}
    then = Addresses("earlier", nodes)
    run = run_of(case, platform, moved(cluster, then))
    assert addresses("earlier", moved(cluster, then)) == then
    Commands(platform, cluster, [then]).refuse_others(case, [run])
    assert "is not the command of" in refused(homelab, case, run)
