"""perftest's warnings have consequences: the conditions of document 004's first run."""

import json

import pytest
from testing.core_values import ROOT, TRANSCRIPTS, judgement, needs_transcripts, transcript

from railgauge.cli import main
from railgauge.config import thresholds
from railgauge.core.errors import ConditionsUnmet, OtherThanAsked
from railgauge.core.model import Case, Outcome, Pairing, Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.core.terms import Severity
from railgauge.judging import agreement
from railgauge.judging.evidence import frequency_doubt
from railgauge.tools import tool
from railgauge.tools.output_checks import SideOutput, ToolRequest

HOMELAB = thresholds.load("connectx4-homelab", ROOT / "thresholds")
ACCEPTED, REJECTED, INCOMPLETE = 0, 1, 10
RELAXED = """\
WARNING: CPU is not PCIe relaxed ordering compliant.
WARNING: You should disable PCIe RO with `--disable_pcie_relaxed` for both server and client.
"""
SLOW_CPU = (
    "Conflicting CPU frequency values detected: 1200.000000 != 1300.046000. CPU Frequency is not"
    " max.\n"
)
HEADER = """\
Send BW Test
Dual-port : OFF Device : mlx5_0
Number of qps : 4 Transport type : IB
Connection type : RC Using SRQ : OFF
PCIe relax order: {order} Lock-free : OFF
{warns}TX depth : 128
Mtu : 4096[B]
Link type : IB
---------------------------------------------------------------------------------------
#bytes #iterations BW peak[MiB/sec] BW average[MiB/sec] MsgRate[Mpps]
"""


def table(*rows, order="OFF", warns="", slow=""):
    lines = [
        f"{size} 4000 {mib:.2f} {mib:.2f} {mib * 2**20 / size / 1e6:.6f}" for size, mib in rows
    ]
    return "\n".join(
        [HEADER.format(order=order, warns=warns) + slow + lines.pop(0), *lines, RULE, ""]
    )


RULE = "-" * 87
PLATEAU = (8388608, 3776.9)


def judge(capsys, folder, text, name="host_send_bandwidth_4qp"):
    path = folder / "output.txt"
    path.write_text(text)
    words = ["judge", "--root", ROOT, "--platform", "connectx4-homelab", "--tool", "perftest"]
    words += ["--json", "--measurement", name, path]
    code = main([str(word) for word in words])
    return code, json.loads(capsys.readouterr().out)


def test_the_second_run_of_document_004_is_accepted(capsys, tmp_path):
    """Relaxed ordering is off; a CPU below its frequency does not lower the plateau."""
    assert judge(capsys, tmp_path, table(PLATEAU))[0] == ACCEPTED
    assert judge(capsys, tmp_path, table(PLATEAU, slow=SLOW_CPU))[0] == ACCEPTED


def test_relaxed_ordering_on_a_cpu_that_does_not_comply_is_no_measurement(capsys, tmp_path):
    """The figure may be good: the document fixes the setting and measures again."""
    text = table(PLATEAU, order="ON", warns=RELAXED)
    code, answer = judge(capsys, tmp_path, text)
    assert (code, answer["judgements"]) == (INCOMPLETE, [])
    assert "relaxed ordering: asked for off" in answer["errors"][0]
    assert "add 'disable_pcie_relaxed' to the measurement's options" in answer["errors"][0]


def test_a_platform_that_does_not_ask_for_it_gets_the_remedy_too():
    read = tool("perftest").parse(table(PLATEAU, order="ON", warns=RELAXED))
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    checks = relaxed(platform, "host_write_bandwidth", read)
    assert [one.agrees for one in checks] == [False]
    quiet = tool("perftest").parse(table(PLATEAU, order="ON"))
    assert [one.agrees for one in relaxed(platform, "host_write_bandwidth", quiet)] == [True]


def test_relaxed_ordering_that_is_off_without_being_asked_for_is_another_test():
    read = tool("perftest").parse(table(PLATEAU, order="OFF"))
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    assert [one.agrees for one in relaxed(platform, "host_write_bandwidth", read)] == [False]


def relaxed(platform, name, read):
    case = Case(name, ("n1", "n2"), Pairing("mlx5_0"), (PLATEAU[0],))
    asked = ToolRequest(case, platform.measurements[name], platform)
    checks = tool("perftest").output_checks(asked, (SideOutput("n1", "client", read),))
    return [one for one in checks if one.item == "relaxed ordering"]


def test_a_missed_limit_reports_that_the_cpu_was_slow(capsys, tmp_path):
    code, answer = judge(capsys, tmp_path, table((8388608, 2000.0), slow=SLOW_CPU))
    assert code == REJECTED
    assert "CPU below its frequency" in answer["judgements"][0]["reason"]


def doubt(value, ceiling, *problems):
    run = Parsed("perftest", "6", (), {}, tuple(problems))
    judged = judgement(Outcome.PASSED, worst=value, physical_ceiling=ceiling)
    return frequency_doubt([run], judged)


SLOW = Problem(ProblemKind.CPU_FREQUENCY, Severity.WARNING, "CPU Frequency is not max.")


@pytest.mark.parametrize(("value", "ceiling"), [(7.4, 3814.7), (1.15, None), (3433.1, 3814.7)])
def test_a_value_that_does_not_fill_the_link_depends_on_the_cpu(value, ceiling):
    found = doubt(value, ceiling, SLOW)
    assert isinstance(found, ConditionsUnmet)
    assert "CPU Frequency is not max." in str(found)
    assert "performance" in found.remedy
    assert doubt(value, ceiling) is None


def test_a_value_that_fills_the_link_does_not_depend_on_the_cpu():
    assert doubt(3776.9, 3814.7, SLOW) is None


@needs_transcripts
def test_the_first_run_of_document_004_must_be_repeated(capsys):
    path = TRANSCRIPTS / "cx4-ib_send_bw-truncated.txt"
    words = ["judge", "--root", ROOT, "--platform", "connectx4-homelab", "--tool", "perftest", path]
    assert main([str(word) for word in words]) == INCOMPLETE
    assert "disable_pcie_relaxed" in capsys.readouterr().out


def test_every_rdma_measurement_of_that_platform_leaves_relaxed_ordering_out():
    """Its CPUs do not comply, so any other warning would be an error."""
    found = [one for one in HOMELAB.measurements.values() if one.tool == "perftest"]
    assert found
    assert {one.name for one in found if not one.options.get("disable_pcie_relaxed")} == set()


def test_a_warning_of_the_server_is_one_of_the_run():
    case = Case("host_send_bandwidth_4qp", ("n1", "n2"), Pairing("mlx5_0"), (PLATEAU[0],))
    asked = ToolRequest(case, HOMELAB.measurements[case.measurement], HOMELAB, is_planned=False)
    transcripts = [transcript("n1", duration_s=60.0), transcript("n2", role="server")]
    parse = tool("perftest").parse
    client, server = parse(table(PLATEAU)), parse(table(PLATEAU, slow=SLOW_CPU))
    agreed = agreement.agreed(asked, transcripts, [client, server])
    assert [one.kind for one in agreed.problems] == ["cpu-frequency"]
    with pytest.raises(OtherThanAsked, match="of the server"):
        agreement.agreed(
            asked, transcripts, [client, parse(table(PLATEAU, order="ON", warns=RELAXED))]
        )
