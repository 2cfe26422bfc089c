"""A tool that hung twice at a place is not started there again, and nothing else is left out."""

import pytest
from testing.core_values import case, cluster, transcript
from testing.diagnose_scenes import broken, causes, record
from testing.fake_sessions import Fakes
from testing.run_folder import store_in

from railgauge.core.errors import CommandTimedOut, ToolHangs, from_json, to_json
from railgauge.core.model import Command
from railgauge.core.question import CaseResult
from railgauge.diagnosis.symptoms import Symptom, symptoms
from railgauge.judging.prevention import Prevents, prevents
from railgauge.run import resume
from railgauge.run.hung import HungTools
from railgauge.run.runner import Runner
from railgauge.transport.sessions import Sessions


@pytest.fixture
def fakes():
    return Fakes()


@pytest.fixture
def runner(fakes, tmp_path):
    def plan(wanted, _port):
        return (Command(wanted.nodes[0], (wanted.measurement, *wanted.nodes)),)

    sessions = Sessions(cluster("n1", "n2", "n3"), fakes.connect)
    tools = HungTools(lambda wanted: wanted.measurement.rpartition("_")[0])
    return Runner(sessions, store_in(tmp_path), plan, hung=tools)


def hang(runner, fakes, wanted):
    fakes.reports = [transcript(wanted.nodes[0], exit_code=None, error=CommandTimedOut.kind)]
    assert runner.measure(wanted).runs


def of(measurement, *nodes):
    return case(measurement=measurement, nodes=nodes)


def assert_refused(runner, fakes, wanted, says):
    before = len(fakes.done("run"))
    result = runner.measure(wanted)
    assert result.runs == ()
    assert isinstance(result.error, ToolHangs)
    assert str(result.error).startswith(says)
    assert len(fakes.done("run")) == before


def assert_measured(runner, fakes, wanted):
    before = len(fakes.done("run"))
    assert runner.measure(wanted).error is None
    assert len(fakes.done("run")) > before


def test_a_tool_that_hung_twice_on_a_node_is_not_started_there_again(runner, fakes):
    hang(runner, fakes, of("gpu_burn_a", "n1"))
    assert_measured(runner, fakes, of("gpu_burn_b", "n1"))
    hang(runner, fakes, of("gpu_burn_c", "n1"))
    assert_refused(runner, fakes, of("gpu_burn_d", "n1"), "n1: gpu_burn: hung twice on n1 ")
    assert_refused(runner, fakes, of("gpu_burn_e", "n2", "n1"), "n1: gpu_burn: hung twice on n1 ")
    assert_measured(runner, fakes, of("gpu_burn_d", "n2"))
    assert_measured(runner, fakes, of("gemm_a", "n1"))


def test_a_pair_that_hangs_does_not_count_against_other_pairs(runner, fakes):
    """Either of the two may be at fault, and the other one may be good."""
    for name in "ab":
        hang(runner, fakes, of(f"ib_write_bw_{name}", "n1", "n2"))
    says = "n2: ib_write_bw: hung twice on n2 and n1 "
    assert_refused(runner, fakes, of("ib_write_bw_c", "n2", "n1"), says)
    assert_measured(runner, fakes, of("ib_write_bw_c", "n1", "n3"))
    assert_measured(runner, fakes, of("ib_write_bw_c", "n2", "n3"))
    assert_measured(runner, fakes, of("ib_write_bw_c", "n2"))


def test_a_server_that_never_listens_hangs_on_its_own_node():
    tools, pair = HungTools(lambda _: "ib_write_bw"), of("a", "n1", "n2")
    for _ in range(2):
        tools.note({pair: CaseResult((), CommandTimedOut("did not listen", where="n2"))})
    tools.refuse(of("b", "n1", "n3"))
    with pytest.raises(ToolHangs, match="hung twice on n2 "):
        tools.refuse(of("b", "n3", "n2"))


def test_rails_that_hang_at_the_same_time_hung_once():
    tools, rails = HungTools(lambda _: "ib_write_bw"), [of(name, "n1", "n2") for name in "abcd"]
    hung = CaseResult((), CommandTimedOut("late"))
    tools.note(dict.fromkeys(rails, hung))
    tools.refuse(rails[0])
    tools.note(dict.fromkeys(rails, hung))
    with pytest.raises(ToolHangs):
        tools.refuse(rails[0])


def test_a_resumed_run_measures_cases_left_out_and_not_those_that_hung():
    left_out = CaseResult((), ToolHangs("hung twice", where="n1: gpu_burn"))
    hung = CaseResult((), CommandTimedOut("did not listen", where="n1"))
    assert resume._without_lost_connections(left_out).error is None
    assert resume._without_lost_connections(hung) == hung


def test_a_case_that_was_left_out_has_the_cause_of_a_hanging_tool():
    error = from_json(to_json(ToolHangs("hung twice", where="n1: gpu_burn")))
    assert type(error) is ToolHangs

    def cause_of(kind):
        item = broken(record(3, "gpu_burn", "n1"), kind, "n1: gpu_burn")
        assert symptoms(item) == {Symptom.HUNG}
        assert prevents(item) is Prevents.ALL
        return [(cause.cause, cause.where) for cause in causes(item)]

    assert cause_of(ToolHangs.kind) == cause_of(CommandTimedOut.kind) != []
