"""The runner samples the GPUs of a case's nodes: one sampler a node for many of them."""

import pytest
from testing.core_values import case, cluster, transcript
from testing.fake_sessions import Fakes
from testing.gpu_samples import output
from testing.places import ROOT
from testing.run_folder import store_in

from railgauge.config import thresholds
from railgauge.core.errors import CommandTimedOut, NodeUnreachable
from railgauge.core.model import Case, Command
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.planning.telemetry import samplers
from railgauge.run.runner import Runner
from railgauge.run.sampling import GpuSampling
from railgauge.stacks import stack
from railgauge.stacks.sampling import last_of_each
from railgauge.transport.sessions import Sessions

NODES = ("n1", "n2")
STARTED = "2026-11-23T12:00:00.000+00:00"


def planned(wanted, _port):
    return (Command(wanted.nodes[0], ("all_reduce_perf",)),)


def of_each(wanted):
    return tuple(Command(node, ("sh", "-c", "…", "nvidia-smi")) for node in wanted.nodes)


@pytest.fixture
def fakes():
    made = Fakes()
    made.stopped = {"exit_code": None, "stdout": output(), "started_at": STARTED}
    made.reports = [transcript("n1", started_at=STARTED) for _ in range(6)]
    return made


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


@pytest.fixture
def sampled(fakes, store, tmp_path):
    """Makes a runner with samplers; the seconds of its clock are in ``now``."""

    def make(commands=of_each, **options):
        sessions = Sessions(cluster(*NODES), fakes.connect)
        sampling = GpuSampling(sessions, commands, **{"last_samples": last_of_all} | options)
        return Runner(sessions, store, planned, sampling=sampling)

    return make


@pytest.fixture
def runner(sampled):
    return sampled()


def last_of_all(text):
    return last_of_each(text, stack("nvidia").samplers[0], 8)


def steps(fakes):
    return [(entry[0], entry[1]) for entry in fakes.log if entry[0] != "connect"]


def starts(fakes):
    return [entry[1] for entry in fakes.done("start")]


def test_the_samplers_run_from_before_the_measurement_on(runner, fakes):
    (run,) = runner.measure(case()).runs
    assert steps(fakes) == [
        ("start", "n1"), ("start", "n2"), ("line", "n1"), ("line", "n2"), ("run", "n1"),
    ]  # fmt: skip
    assert [(one.node, one.role) for one in run] == [
        ("n1", Role.CLIENT), ("n1", Role.TELEMETRY), ("n2", Role.TELEMETRY),
    ]  # fmt: skip
    assert run[1].argv == of_each(case())[0].argv
    assert fakes.running == 2


def test_each_repeat_has_its_own_samples_of_one_sampler(runner, fakes):
    runs = runner.measure(case(repeats=3)).runs
    assert [[one.role for one in run].count(Role.TELEMETRY) for run in runs] == [2, 2, 2]
    assert starts(fakes) == ["n1", "n2"]


def test_the_next_measurement_has_the_samples_since_the_one_before(runner, fakes):
    """Of what was before it, the last sample of each GPU."""
    fakes.stopped["stdout"] = output(5)
    runner.measure(case())
    fakes.stopped["stdout"] = output(9)
    (run,) = runner.measure(case(measurement="another")).runs
    assert starts(fakes) == ["n1", "n2"]
    lines = run[1].stdout.splitlines()
    assert lines[:2] == output(9).splitlines()[:2]
    assert [line.partition(",")[0] for line in lines[2::8]] == ["1008.40"]


def test_samples_of_a_measurement_go_on_to_its_end(fakes, sampled):
    def grows(wanted, port):
        fakes.stopped["stdout"] = output(12)
        return planned(wanted, port)

    fakes.stopped["stdout"] = output(9)
    runner = sampled()
    runner._plan = grows
    (run,) = runner.measure(case()).runs
    at = [line.partition(",")[0] for line in run[1].stdout.splitlines()[2::8]]
    assert at == ["1008.40", "1009.40", "1010.40", "1011.40"]


def test_a_sampler_that_ended_is_in_the_measurement_and_is_replaced_for_the_next(runner, fakes):
    runner.measure(case())
    fakes.stopped |= {"exit_code": 1}
    fakes.died = {"n2"}
    (run,) = runner.measure(case(measurement="another")).runs
    assert [one.exit_code for one in run if one.role == Role.TELEMETRY] == [1, 1]
    assert starts(fakes) == ["n1", "n2", "n2"]


@pytest.mark.parametrize(
    ("after_s", "grows", "again"),
    [(20.0, False, False), (40.0, False, True), (40.0, True, False), (700.0, True, True)],
)
def test_a_sampler_that_is_silent_or_old_is_replaced(sampled, fakes, after_s, grows, again):
    now = [1000.0]
    runner = sampled(clock=lambda: now[0])
    runner.measure(case())
    runner.measure(case(measurement="second"))
    now[0] += after_s
    fakes.stopped["stdout"] = output(9 if grows else 5)
    runner.measure(case(measurement="third"))
    assert starts(fakes) == [*NODES] * (2 if again else 1)
    assert fakes.running == 2


def test_a_sampler_without_time_enough_or_of_another_tool_is_replaced(sampled, fakes):
    def by_case(wanted):
        longer = {"time_limit_s": 5000.0} if wanted.measurement == "long" else {}
        tool = "amd-smi" if wanted.measurement == "other" else "nvidia-smi"
        return (Command("n1", ("sh", "-c", "…", tool), **longer),)

    runner = sampled(by_case)
    for name in ("short", "long", "other"):
        runner.measure(case(measurement=name))
    assert starts(fakes) == ["n1"] * 3
    assert fakes.running == 1


def test_a_measurement_that_loads_no_gpu_is_not_disturbed_by_a_sampler(sampled, fakes):
    runner = sampled(lambda wanted: () if wanted.measurement == "latency" else of_each(wanted))
    runner.measure(case())
    runner.measure(case(measurement="latency"))
    assert [step for step in steps(fakes) if step[0] in ("stop", "run")] == [
        ("run", "n1"), ("stop", "n1"), ("stop", "n2"), ("run", "n1"),
    ]  # fmt: skip


def test_a_stopped_sampler_does_not_end_the_repeats(runner):
    """It has no exit code; a measurement counts as through only when all its repeats are made."""
    assert len(runner.measure(case(repeats=2)).runs) == 2
    assert len(runner.measure(case(repeats=2)).runs) == 2


def test_a_failed_measurement_keeps_its_samples(runner, fakes):
    fakes.reports = [transcript("n1", exit_code=1)]
    result = runner.measure(case(repeats=3))
    assert [[one.role for one in run] for run in result.runs] == [
        [Role.CLIENT, Role.TELEMETRY, Role.TELEMETRY]
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), NodeUnreachable("gone", where="n1")])
def test_no_sampler_is_left_behind(runner, fakes, error):
    fakes.reports = [error]
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            runner.measure(case())
    else:
        assert runner.measure(case()).error is error
    assert fakes.running == 0
    assert {entry[1] for entry in fakes.done("stop")} == set(NODES)


def test_a_sampler_that_cannot_be_started_is_an_error_of_the_case(runner, fakes):
    fakes.start_error = CommandTimedOut("no channel", where="n1")
    result = runner.measure(case())
    assert (result.runs, result.error) == ((), fakes.start_error)
    assert fakes.done("run") == []


def test_a_node_whose_sampler_prints_nothing_is_waited_for_once(runner, fakes):
    fakes.silent = fakes.died = {"n2"}
    runner.measure(case(repeats=3))
    assert starts(fakes) == ["n1", "n2", "n2", "n2"]
    assert [entry[1] for entry in fakes.done("line")] == ["n1", "n2"]


def test_the_samples_are_kept_as_a_file_of_columns(sampled, store):
    sampled(last_samples=lambda _: 0).measure(case())
    text = (store.folder / store.samples_name(case())).read_text()
    assert text.startswith("repeat,node,gpu,time [s],clock [MHz]")
    assert text.count("\n") == 1 + 2 * 5 * 8
    readable = (store.folder / store.transcript_name(case())).read_text()
    assert "more lines" in readable
    assert readable.count("0x0000000000000004") < 80


def test_a_case_without_samplers_has_no_such_file(fakes, store, tmp_path):
    sessions = Sessions(cluster(*NODES), fakes.connect)
    runner = Runner(sessions, store, planned)
    runner.measure(case())
    assert not (store.folder / store.samples_name(case())).exists()
    assert fakes.done("start") == []


def test_samples_are_read_back_as_they_were(runner, store):
    made = runner.measure(case())
    assert store.load(case()) == made
    assert isinstance(made, CaseResult)


# --- which cases, and with which command ---


def commands(platform, measurement, *nodes, **changes):
    loaded = thresholds.load(platform, ROOT / "thresholds")
    on = cluster(*nodes, platform=platform, **changes)
    return samplers(Case(measurement, nodes, None, ()), loaded, on)


def test_each_node_of_a_case_that_loads_gpus_is_sampled():
    found = commands("h200", "pair_all_reduce", "n1", "n2", rootfs="/host")
    assert [one.node for one in found] == ["n1", "n2"]
    assert found[0].argv[3:6] == ("railgauge", "/host", "nvidia-smi")
    assert found[0].argv[-3:] == ("--format=csv,nounits", "-lms", "1000")


def test_the_tool_is_where_the_hostfile_says():
    (one,) = commands("mi300x", "node_all_reduce", "n1", tools={"amd-smi": "/opt/rocm/bin/amd-smi"})
    assert one.argv[5:7] == ("/opt/rocm/bin/amd-smi", "monitor")


def test_a_sampler_may_run_longer_than_its_case():
    platform = thresholds.load("h200", ROOT / "thresholds")
    (one,) = commands("h200", "node_all_reduce", "n1")
    assert one.time_limit_s > 2 * platform.measurements["node_all_reduce"].time_limit_s


@pytest.mark.parametrize(
    ("platform", "measurement"),
    [
        ("h200", "host_write_bandwidth"),
        ("h200", "gpu_write_bandwidth"),
        ("connectx4-homelab", "host_write_bandwidth"),
        ("b200", "node_all_reduce"),
    ],
)
def test_no_other_case_is_sampled(platform, measurement):
    assert commands(platform, measurement, "n1") == ()


def test_a_measurement_begins_after_the_first_sample_of_each_gpu(sampled, fakes):
    """Otherwise a short one would end between the samples of two GPUs."""
    sampled(gpus=8).measure(case())
    assert {entry[2] for entry in fakes.log if entry[0] == "line"} == {2 + 8 - 1}
