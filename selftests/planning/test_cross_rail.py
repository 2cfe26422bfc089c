"""Cross-rail paths, from one NIC to another: both ends are planned, checked and judged."""

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from testing.core_values import ROOT, TRANSCRIPTS, cluster, item, needs_transcripts, transcript
from testing.nic_counters import hca

from railgauge.bundle.binding import refuse_other_items
from railgauge.cli import main
from railgauge.config import thresholds
from railgauge.config.thresholds import limit_for, uncovered
from railgauge.config.thresholds.limits import bound_at
from railgauge.config.thresholds.physics import pcie_gbps, physical_ceiling
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import BadInput, NotVerified
from railgauge.core.model import Case, Outcome, Pairing
from railgauge.core.question import LIMITS, READ, TRAFFIC, CaseResult, Question
from railgauge.judging.assessor import Assessor
from railgauge.planning import plan
from railgauge.planning.required import LevelScope, count, required_checks
from railgauge.run.case_files import text_file
from railgauge.tools import check_plannable
from railgauge.verdict.counts import coverage

MIB8 = 8 << 20
SWEEP = tuple(2**power for power in range(1, 24))
PATH = Pairing("mlx5_1", 4, "cross_rail", Pairing("mlx5_0", 0, "near"))
CASE = Case("gpu_write_bandwidth", ("n1", "n2"), PATH, SWEEP)
TOOK_S = 60.0  # longer than 400 Gb/s need for all of its sizes
CROSS_RUN = TRANSCRIPTS / "metax-ib_write_bw-gpu4-mlx5_1.txt"


@pytest.fixture(scope="module")
def metax():
    return thresholds.load("metax-c500", ROOT / "thresholds")


# --- what is planned ---


def test_each_nic_writes_to_the_next_one_with_the_first_gpu_beside_it(metax):
    assert [str(path) for path in metax.cross_rail("gpu")] == [
        "gpu0-mlx5_0:gpu4-mlx5_1", "gpu4-mlx5_1:gpu0-mlx5_0",
    ]  # fmt: skip
    assert [str(path) for path in metax.cross_rail("host")] == ["mlx5_0:mlx5_1", "mlx5_1:mlx5_0"]
    assert metax.cross_rail("gpu")[1] == PATH


def test_of_eight_nics_the_last_writes_to_the_first():
    h200 = thresholds.load("h200", ROOT / "thresholds")
    paths = h200.cross_rail("host")
    names = [nic.name for nic in h200.fabric_nics]
    assert [path.nic for path in paths] == names
    assert [path.ends[1].nic for path in paths] == [*names[1:], names[0]]


def test_a_level_plans_cross_rail_paths_beside_its_own_pairings(metax):
    measurement = metax.measurements["gpu_write_bandwidth"]
    for level, asked in (("smoke", False), ("nightly", True), ("signoff", True)):
        paths = plan.paths(metax, measurement, level)
        assert (PATH in paths) is asked, level
        assert [str(path) for path in paths if path.peer is None] == [
            str(path) for path in paths if ":" not in str(path)
        ]


def test_required_items_and_planned_cases_agree(metax):
    scope = LevelScope(
        metax, cluster("n1", "n2"), plan.level(metax, cluster("n1", "n2"), "nightly")
    )
    found = [check for check in required_checks(scope) if check.key.part == str(PATH)]
    asked = [("size", 64 << 10), ("size", 1 << 20), ("size", MIB8), ("traffic", None)]
    assert [(check.key.way, check.key.size_bytes) for check in found] == 2 * asked
    assert [check.key.nodes for check in found[::4]] == [("n1", "n2"), ("n2", "n1")]
    assert count(scope) == len(list(required_checks(scope)))
    assert all(check.question.case.pairing == PATH for check in found)


def test_a_case_reads_back_unchanged_and_older_cases_have_no_peer():
    assert from_plain(Case, json.loads(json.dumps(to_plain(CASE)))) == CASE
    plain = to_plain(replace(CASE, pairing=Pairing("mlx5_0", 0, "near")))
    del plain["pairing"]["peer"]
    assert from_plain(Case, plain).pairing == Pairing("mlx5_0", 0, "near")


def test_file_names_and_ids_name_both_ends_and_those_of_one_rail_are_unchanged():
    assert CASE.key == "gpu_write_bandwidth[n1:n2-gpu4-mlx5_1:gpu0-mlx5_0]"
    same = replace(CASE, pairing=Pairing("mlx5_1", 4, "near"))
    assert same.key == "gpu_write_bandwidth[n1:n2-gpu4-mlx5_1]"
    back = replace(CASE, pairing=Pairing("mlx5_0", 0, "cross_rail", Pairing("mlx5_1", 4, "near")))
    assert len({text_file(case) for case in (CASE, same, back)}) == 3


def argvs(metax, case):
    return [list(command.argv) for command in plan.commands(case, metax, cluster("n1", "n2"), 9999)]


def test_each_side_uses_its_own_nic_and_gpu(metax):
    server, client = argvs(metax, CASE)
    assert server[server.index("-d") + 1] == "mlx5_0"
    assert "--use_maca=0" in server
    assert client[client.index("-d") + 1] == "mlx5_1"
    assert "--use_maca=4" in client


def test_iperf3_measures_cross_rail_paths_of_host_memory():
    """iperf3 binds each side to its own NIC and connects to the address of the server's NIC."""
    tcpx = thresholds.load("h100-tcpx", ROOT / "thresholds")
    path = tcpx.cross_rail("host")[0]
    own, other = path.ends
    hosts = cluster("n1", "n2")
    address = replace(hosts.nodes[1], nic_addresses={own.nic: "10.0.0.1", other.nic: "10.0.0.2"})
    hosts = replace(hosts, nodes=(hosts.nodes[0], address))
    server, client = plan.commands(
        Case("host_tcp_bandwidth", ("n1", "n2"), path, ()), tcpx, hosts, 9999
    )
    assert server.argv[server.argv.index("--bind-dev") + 1] == other.nic
    assert client.argv[client.argv.index("--bind-dev") + 1] == own.nic
    assert client.argv[client.argv.index("-c") + 1] == "10.0.0.2"


# --- what a platform file may ask for ---


def with_cross_rail(platform, name, **changes):
    """The platform with cross-rail paths at nightly of a measurement."""
    measurement = platform.measurements[name]
    nightly = replace(measurement.extents["nightly"], cross_rail=True)
    changed = replace(measurement, extents={**measurement.extents, "nightly": nightly}, **changes)
    return replace(platform, measurements={**platform.measurements, name: changed})


def test_cross_rail_paths_need_two_nics():
    homelab = thresholds.load("connectx4-homelab", ROOT / "thresholds")
    (complaint,) = uncovered(with_cross_rail(homelab, "host_write_bandwidth"))
    assert "host_write_bandwidth: has cross_rail" in complaint


def test_a_collective_cannot_have_cross_rail_paths(metax):
    crossed = with_cross_rail(metax, "pair_all_reduce")
    assert any("pair_all_reduce: has cross_rail" in line for line in uncovered(crossed))
    with pytest.raises(BadInput, match="pair_all_reduce: ccl-tests does not run from one NIC"):
        check_plannable(crossed)


def test_host_memory_has_the_same_limit_across_rails(metax):
    crossed = with_cross_rail(metax, "host_write_bandwidth")
    assert list(uncovered(crossed)) == []
    measurement = crossed.measurements["host_write_bandwidth"]
    paths = plan.paths(crossed, measurement, "nightly")
    assert [str(path) for path in paths] == ["mlx5_0", "mlx5_1", "mlx5_0:mlx5_1", "mlx5_1:mlx5_0"]
    assert [limit_for(measurement, "bw_average", path, MIB8) for path in paths[1:]] == [
        limit_for(measurement, "bw_average", paths[0], MIB8)
    ] * 3


def test_a_cross_rail_path_without_a_limit_is_reported(metax):
    measurement = metax.measurements["gpu_write_bandwidth"]
    kept = tuple(limit for limit in measurement.limits if limit.pairings != ("cross_rail",))
    without = replace(measurement, limits=kept)
    holes = uncovered(replace(metax, measurements={"gpu_write_bandwidth": without}))
    assert any("cross_rail has no limit" in line for line in holes)


def test_the_slower_nic_is_the_ceiling(metax):
    first, *others = metax.nics
    mixed = replace(metax, nics=(replace(first, pcie_generation=4), *others))
    measurement = mixed.measurements["gpu_write_bandwidth"]
    of = measurement.limits[0]
    assert physical_ceiling(mixed, measurement, PATH, of) == pcie_gbps(4, 16) < 400
    assert physical_ceiling(mixed, measurement, Pairing("mlx5_1", 4, "near"), of) == 400


def test_coverage_declares_the_paths_that_any_level_plans(metax):
    whole = coverage(cluster("n1", "n2"), metax, ())
    assert whole["pairings"]["declared"] == 2 + 16 + 2


# --- what a run printed and counted, against what was planned ---


def words(nic, size_bytes, way):
    return hca(nic, **{f"port_{way}_data": size_bytes // 4})


def counted(node, nic, role, size_bytes):
    """The counters of both NICs of a node; ``nic`` alone has moved these bytes."""
    way = "xmit" if node == "n1" else "rcv"
    counters = "".join(words(n, size_bytes if n == nic else 0, way) for n in ("mlx5_0", "mlx5_1"))
    return transcript(node, stdout=counters, role=role)


def server_of(text, nic="mlx5_0", gpu=0, bus="0x8"):
    """The server's output of the document's run, which the document does not show."""
    ends = (("local add", "its add"), ("remote add", "local add"), ("its add", "remote add"))
    for old, new in (*ends, ("mlx5_1", nic), ("ID: 4", f"ID: {gpu}"), ("0x32", bus)):
        text = text.replace(old, new)
    return text


class OneRun:
    """One run of the case: a client, a server, and what their NICs counted."""

    found = MappingProxyType({})

    def __init__(self, client, server, carried=("mlx5_1", "mlx5_0")):
        moved = 5000 * sum(SWEEP)
        self._run = (
            transcript("n1", stdout=client, duration_s=TOOK_S),
            transcript("n2", stdout=server, role="server", duration_s=TOOK_S),
            *(
                counted(n, nic, "counters-before", 0)
                for n, nic in zip(("n1", "n2"), carried, strict=True)
            ),
            *(
                counted(n, nic, "counters-after", moved)
                for n, nic in zip(("n1", "n2"), carried, strict=True)
            ),
        )

    def result(self, _case):
        return CaseResult((self._run,))


@pytest.fixture(scope="module")
def client():
    return CROSS_RUN.read_text(encoding="utf-8")


def answered(metax, run, kind, case=CASE, size=None):
    return Assessor(metax, run.found, run.result).answer(Question(kind, case, size))


@needs_transcripts
def test_the_documents_cross_rail_run_is_judged_by_the_cross_rail_limit(metax, client):
    run = OneRun(client, server_of(client))
    assert answered(metax, run, READ).errors == ()
    (judged,) = answered(metax, run, LIMITS, size=MIB8).judgements
    assert (judged.outcome, judged.worst, judged.floor) == (Outcome.PASSED, 392.51, 372.8)
    assert "GPU4 with mlx5_1 (PIX in 2.5)" in judged.basis
    traffic = answered(metax, run, TRAFFIC).judgements
    assert [judged.outcome for judged in traffic] == [Outcome.PASSED] * 4
    slow = client.replace("392.51", "302.51").replace("0.005849", "0.004508")
    (judged,) = answered(metax, OneRun(slow, server_of(slow)), LIMITS, size=MIB8).judgements
    assert judged.outcome is Outcome.FAILED


@needs_transcripts
@pytest.mark.parametrize(
    ("sides", "says"),
    [
        # The two NICs are swapped.
        (("mlx5_0", "mlx5_1"), ("device: asked for mlx5_1, the tool says mlx5_0",
                                "device of the server: asked for mlx5_0, the tool says mlx5_1")),
        # Both ends use the same NIC.
        (("mlx5_1", "mlx5_1"), ("device of the server: asked for mlx5_0, the tool says mlx5_1",)),
        (("mlx5_0", "mlx5_0"), ("device: asked for mlx5_1, the tool says mlx5_0",)),
        # One end uses a NIC that is neither of the two.
        (("mlx5_1", "mlx5_2"), ("device of the server: asked for mlx5_0, the tool says mlx5_2",)),
        (("mlx5_2", "mlx5_0"), ("device: asked for mlx5_1, the tool says mlx5_2",)),
    ],
)  # fmt: skip
def test_another_nic_in_the_header_of_either_end_is_an_error(metax, client, sides, says):
    run = OneRun(client.replace("mlx5_1", sides[0]), server_of(client, sides[1]))
    (error,) = answered(metax, run, READ).errors
    assert all(line in str(error) for line in says), str(error)
    assert str(error).count("device") == len(says)


@needs_transcripts
@pytest.mark.parametrize(
    ("gpu", "bus", "says"),
    [
        (4, "0x32", "GPU of the server: asked for 0, the tool says 4"),
        (0, "0x32", "PCI bus of the GPU of the server: asked for 0x08, the tool says 0x32"),
    ],
)
def test_a_server_that_uses_the_clients_gpu_number_is_an_error(metax, client, gpu, bus, says):
    (error,) = answered(metax, OneRun(client, server_of(client, gpu=gpu, bus=bus)), READ).errors
    assert says in str(error)


@needs_transcripts
def test_a_cross_rail_run_is_an_error_where_one_rail_was_planned(metax, client):
    same = replace(CASE, pairing=Pairing("mlx5_1", 4, "near"))
    (error,) = answered(metax, OneRun(client, server_of(client)), READ, same).errors
    assert "device of the server: asked for mlx5_1, the tool says mlx5_0" in str(error)


@needs_transcripts
@pytest.mark.parametrize(
    ("carried", "wrong"),
    [
        (("mlx5_0", "mlx5_0"), [("n1", "mlx5_1")]),
        (("mlx5_1", "mlx5_1"), [("n2", "mlx5_0")]),
        (("mlx5_0", "mlx5_1"), [("n1", "mlx5_1"), ("n2", "mlx5_0")]),
    ],
)
def test_counters_show_a_payload_that_used_other_nics(metax, client, carried, wrong):
    """The server prints no header here, so only the counters tell which NIC it used."""
    found = answered(metax, OneRun(client, "", carried), TRAFFIC).judgements
    failed = [judged for judged in found if judged.outcome is Outcome.FAILED]
    assert [judged.points_at for judged in failed] == [(place,) for place in wrong]


# --- judge ---


def judge(capsys, *more):
    argv = ("judge", "--root", ROOT, "--platform", "metax-c500", "--tool", "perftest", *more)
    code = main([str(word) for word in argv])
    return code, *capsys.readouterr()


@needs_transcripts
@pytest.mark.parametrize("level", thresholds.LEVELS)
def test_judge_takes_the_path_from_the_command_line(capsys, level):
    code, out, _ = judge(capsys, "--pairing", PATH, "--level", level, CROSS_RUN)
    assert code == 0
    assert out.startswith("gpu_write_bandwidth over gpu4-mlx5_1:gpu0-mlx5_0\n")
    assert "basis 000: 4.2: 95 % of the table of the cross GPU/NIC run" in out
    assert "asserted 23 values, 0 errors" in out


@needs_transcripts
@pytest.mark.parametrize("path", ["gpu0-mlx5_0:gpu4-mlx5_1", "gpu0-mlx5_0", "gpu4-mlx5_0"])
def test_judge_refuses_a_path_that_contradicts_the_output(capsys, path):
    code, out, _ = judge(capsys, "--pairing", path, CROSS_RUN)
    assert code == 10
    assert "device: asked for mlx5_0, the tool says mlx5_1" in out


@needs_transcripts
@pytest.mark.parametrize("path", ["gpu4-mlx5_1:gpu5-mlx5_0", "mlx5_0", "mlx5_1:mlx5_0", ":"])
def test_judge_lists_the_known_paths(capsys, path):
    code, out, err = judge(capsys, "--pairing", path, CROSS_RUN)
    assert (code, out) == (2, "")
    assert f"gpu_write_bandwidth has no pairing '{path}'; one of gpu0-mlx5_0, " in err


def test_judge_takes_no_path_for_a_collective(capsys):
    log = Path(TRANSCRIPTS / "metax-mccl-allreduce-2node-16gpu-healthy.txt")
    if not log.exists():
        pytest.skip("the transcripts are not here")
    argv = ("judge", "--root", ROOT, "--platform", "metax-c500", "--tool", "ccl-tests")
    code = main([str(word) for word in (*argv, "--pairing", PATH, log)])
    assert code == 2
    assert "it is not measured over a path" in capsys.readouterr().err


# --- far paths, for which the document has no figure ---


def test_floors_of_far_paths_are_derived_not_cited(metax):
    far = [limit for limit in metax.measurements["gpu_write_bandwidth"].limits
           if "far" in limit.pairings]  # fmt: skip
    assert far
    assert {limit.basis.source for limit in far} == {"derived"}
    assert {bound_at(limit.floor, MIB8) for limit in far if limit.sizes[1] == MIB8} == {200}


# --- a record that names one path and holds the case of another ---


def check_record(metax, pairing, named=PATH):
    """Checks a record whose id and part name ``named`` and whose case has ``pairing``."""
    level = plan.level(metax, cluster("n1", "n2"), "nightly")
    measurement = metax.measurements["gpu_write_bandwidth"]
    case = plan.case_at(measurement, "nightly", level.pairs[0], pairing)
    name = f"tests/gpudirect/test_gpu_rdma.py::test_gpu_write_bandwidth[n1:n2-{named}-8MiB]"
    record = item(
        name, rung=2, subject=measurement.name, pairing=str(named), size_bytes=MIB8,
        questions=(Question(READ, case), Question(LIMITS, case, MIB8)),
    )  # fmt: skip
    refuse_other_items([record], metax, level)


def test_a_record_whose_case_has_its_cross_rail_path_is_accepted(metax):
    check_record(metax, PATH)


@pytest.mark.parametrize(
    "pairing",
    [
        Pairing("mlx5_1", 4, "near"),
        Pairing("mlx5_0", 0, "cross_rail", Pairing("mlx5_1", 4, "near")),
        replace(PATH, distance="far"),  # "far" has half of the floor
        replace(PATH, peer=Pairing("mlx5_0", 1, "near")),
        replace(PATH, peer=Pairing("mlx5_0", 0, "cross_rail", Pairing("mlx5_1", 4))),
    ],
)
def test_a_record_whose_case_has_another_path_is_refused(metax, pairing):
    with pytest.raises(NotVerified, match=r"a pairing that level nightly|that it is not about"):
        check_record(metax, pairing)
