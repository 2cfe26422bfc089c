"""A tool's report about its run compared with the command: each way in which they can differ."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing.tool_setting import NODES

from railgauge.core.errors import FactMissing
from railgauge.core.model import Case
from railgauge.facts import NodeFacts
from railgauge.facts.model import GpuFacts
from railgauge.facts.parts import InventoryPart, PartKind
from railgauge.tools.hosts import check_of_hosts, checks_of_ranks
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    checks_nothing,
    checks_of_gpus,
    equal,
    long_enough,
    same_models,
)

PAIR = tuple(node.name for node in NODES)
HERE = {"n1": NodeFacts("n1", hostname="Host1.site.org"), "n2": NodeFacts("n2", hostname="host2")}
EACH = {"host1": 8, "host2": 8}


def asked(*nodes, found=HERE, model="H200", expected=("gpu_model",), **options):
    platform = SimpleNamespace(
        gpus=SimpleNamespace(model=model) if model else None, expected=dict.fromkeys(expected)
    )
    measurement = SimpleNamespace(options=options)
    return ToolRequest(Case("measured", nodes or PAIR, None, ()), measurement, platform, found)


def ranks(count, by_host, each=8, of=None):
    return list(checks_of_ranks(of or asked(), each, {"nranks": count}, by_host, "GPUs"))


# --- ranks and hosts ---


def test_all_ranks_on_all_hosts_agree():
    count, hosts = ranks(16, EACH)
    assert (count.item, count.asked, count.shown, count.agrees) == (
        "ranks", "16 GPUs (8 on each of 2 nodes)", "16 GPUs (8 on host1, 8 on host2)", True,
    )  # fmt: skip
    assert (hosts.item, hosts.shown, hosts.agrees) == ("hosts of the ranks", "host1, host2", True)


@pytest.mark.parametrize(
    ("count", "by_host"),
    [
        (8, {"host1": 8}),
        (15, {"host1": 8, "host2": 7}),
        (17, {"host1": 8, "host2": 9}),
        (16, {"host1": 9, "host2": 7}),
        (16, {"host1": 16}),
        (16, {"host1": 8, "host2": 4, "host3": 4}),
        (16, {"host1": 8, "host2": 8, "host3": 8}),
        (16, {}),
        (0, None),
        (8, None),
        (32, None),
        (8, EACH),
    ],
)
def test_ranks_that_are_too_few_too_many_or_elsewhere_are_denied(count, by_host):
    assert not ranks(count, by_host)[0].agrees


def test_a_count_alone_is_compared_and_hosts_are_not_shown():
    count, hosts = ranks(16, None)
    assert (count.shown, count.agrees) == ("16 GPUs", True)
    assert (hosts.shown, hosts.agrees) == (None, True)


def test_an_output_that_counts_no_ranks_shows_none():
    count, _ = ranks(None, None)
    assert (count.shown, count.agrees) == (None, True)


def test_without_a_requested_number_of_ranks_there_is_no_check():
    assert ranks(16, EACH, each=None) == []
    assert ranks(16, EACH, each="8") == []


def test_hosts_are_compared_by_their_short_names_whatever_the_case():
    check = check_of_hosts("hosts", asked(), ["HOST1", "host2.site.org"])
    assert (check.asked, check.shown, check.agrees) == ("host1, host2", "host1, host2", True)


@pytest.mark.parametrize(
    "hosts", [["host1"], ["host1", "host1"], ["host1", "host2", "host3"], ["host1", "host3"]]
)
def test_other_hosts_are_denied(hosts):
    check = check_of_hosts("hosts", asked(), hosts)
    assert (check.shown, check.agrees) == (", ".join(sorted(set(hosts))), False)


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"n1": HERE["n1"]},
        {**HERE, "n2": NodeFacts("n2")},
        {**HERE, "n2": FactMissing("no answer", where="n2")},
    ],
)
def test_hosts_are_not_shown_where_the_survey_does_not_know_all(found):
    check = check_of_hosts("hosts", asked(found=found), ["host1", "host2"])
    assert (check.shown, check.agrees) == (None, True)
    assert check.asked == ("n1, n2" if not found else "host1")


def test_an_output_without_hosts_shows_none():
    check = check_of_hosts("hosts", asked(), [])
    assert (check.asked, check.shown, check.agrees) == ("host1, host2", None, True)


def test_one_node_is_enough_for_a_case_of_one():
    assert check_of_hosts("hosts", asked("n1"), ["host1"]).agrees
    assert not check_of_hosts("hosts", asked("n1"), ["host2"]).agrees


def test_hundreds_of_nodes_are_counted_as_two_are():
    names = tuple(f"n{number}" for number in range(320))
    many = asked(*names, found={name: NodeFacts(name, hostname=name) for name in names})
    count, hosts = ranks(2560, dict.fromkeys(names, 8), of=many)
    assert (count.agrees, hosts.agrees, bool(hosts.shown)) == (True, True, True)


# --- words and models ---


@pytest.mark.parametrize(
    ("wanted", "shown", "agrees"),
    [("RC", "rc", True), ("rc", "RC", True), (1, "1", True), (1, 2, False), (True, False, False)],
)
def test_both_sides_read_alike_or_are_denied(wanted, shown, agrees):
    check = equal("item", wanted, shown)
    assert (check.asked, check.shown, check.agrees) == (str(wanted), str(shown), agrees)


def test_what_is_not_shown_is_not_denied():
    assert equal("item", 1, None) == OutputCheck("item", "1", None, True)


@pytest.mark.parametrize(
    ("wanted", "printed", "agrees"),
    [
        (["H200"], ["NVIDIA H200"], True),
        (["NVIDIA H200"], ["h200", "H200"], True),
        (["Tesla V100", "H200"], ["NVIDIA H200", "V100"], True),
        (["H200"], ["NVIDIA H100"], False),
        (["H200"], ["H200", "H100"], False),
        (["MI300X"], ["AMD MI300X OAM"], True),
        (["MetaX C500"], ["C500"], True),
    ],
)
def test_another_model_is_denied_whatever_the_vendor_writes_around_it(wanted, printed, agrees):
    assert same_models("GPUs", wanted, printed).agrees is agrees


def test_the_strange_model_is_named_and_no_model_is_not_shown():
    check = same_models("GPUs", ["H200", "B200"], ["H200", "H100", "H100"])
    assert (check.item, check.asked, check.shown) == ("GPUs", "B200 or H200", "H100")
    assert same_models("GPUs", ["H200"], ["H200"]).shown == "H200"
    assert same_models("GPUs", ["H200"], ["", "H200"]) == OutputCheck("GPUs", "H200", "H200")
    assert same_models("GPUs", ["H200"], []) == OutputCheck("GPUs", "H200", None)
    assert same_models("GPUs", [], ["H200"]) is None


def test_models_are_those_declared_and_those_seen_on_the_nodes_asked_for():
    b200 = GpuFacts(0, "B200", "0000:1a:00.0", None)
    found = {"n1": replace(HERE["n1"], gpus=(b200,)), "n2": FactMissing("none", where="n2")}
    assert asked(found=found).models(["n1", "n2"]) == {"H200", "B200"}
    assert asked(found=found).models(["n2"]) == {"H200"}
    assert asked(found=found, expected=()).models(["n1"]) == {"B200"}
    assert asked(found=found, model=None).models(["n1"]) == {"B200"}
    assert asked(found={}).models(PAIR) == {"H200"}


@pytest.mark.parametrize(
    ("measured", "models", "shown"),
    [
        (("gpu0", "gpu1"), ("NVIDIA H200",), [("gpu0, gpu1", True), ("NVIDIA H200", True)]),
        (("gpu0", "gpu1"), ("H200", "H100"), [("gpu0, gpu1", True), ("H100", False)]),
        (("gpu0",), ("H200",), [("gpu0", False), ("H200", True)]),
        (("gpu1", "gpu0"), ("H200",), [("gpu1, gpu0", False), ("H200", True)]),
        (("gpu0", "gpu1", "gpu2"), (), [("gpu0, gpu1, gpu2", False), (None, True)]),
        ((), (), [(None, True), (None, True)]),
        (None, None, [(None, True), (None, True)]),
        (2, "H100", [(None, True), (None, True)]),
    ],
)
def test_exactly_the_declared_gpus_are_measured_and_are_of_their_model(measured, models, shown):
    platform = SimpleNamespace(gpus=SimpleNamespace(model="H200", count=2), expected=["gpu_model"])
    request = replace(asked(), platform=platform)
    gpus, model = checks_of_gpus(request, {"measured": measured, "models": models})
    assert [(gpus.item, gpus.asked), (model.item, model.asked)] == [
        ("GPUs", "gpu0, gpu1"), ("GPU model", "H200"),
    ]  # fmt: skip
    assert [(one.shown, one.agrees) for one in (gpus, model)] == shown


ONE_GPU = {"measured": ("gpu0",), "models": ("H100",)}


def test_gpus_or_models_that_are_not_declared_are_not_checked():
    assert list(checks_of_gpus(asked(model=None), ONE_GPU)) == []
    gpus = SimpleNamespace(model="H200", count=1)
    request = replace(asked(), platform=SimpleNamespace(gpus=gpus, expected=()))
    (only,) = checks_of_gpus(request, ONE_GPU)
    assert (only.item, only.agrees) == ("GPUs", True)


UUID, OTHER = (f"GPU-5d0a11c2-0f3e-4a7b-9c1d-00000000000{n}" for n in (1, 2))


def of_a_node(vendor="nvidia", uuid=UUID, bus="0000:1b:00.0"):
    """A request for one GPU, which the survey has found with this UUID and address."""
    part = InventoryPart(PartKind.GPU, "gpu0", uuid=uuid)
    gpu = GpuFacts(0, "H200", bus, None)
    platform = SimpleNamespace(
        gpus=SimpleNamespace(model="H200", count=1, vendor=vendor), expected=()
    )
    found = {"n1": NodeFacts("n1", gpus=(gpu,), parts=(part,))}
    return replace(asked("n1", found=found), platform=platform)


@pytest.mark.parametrize(
    ("changed", "agrees"),
    [
        ({"uuids": (UUID,)}, {"UUIDs of the GPUs": True}),
        ({"uuids": (UUID.removeprefix("GPU-").upper(),)}, {"UUIDs of the GPUs": True}),
        ({"uuids": (OTHER,)}, {"UUIDs of the GPUs": False}),
        ({"uuids": (UUID, OTHER)}, {"UUIDs of the GPUs": False}),
        ({"uuids": ("-", "")}, {}),
        ({"buses": ("00000000:1B:00",)}, {"PCI addresses of the GPUs": True}),
        ({"buses": ("0000:1b:00.0",)}, {"PCI addresses of the GPUs": True}),
        ({"buses": ("0000:1c:00.0",)}, {"PCI addresses of the GPUs": False}),
        ({"buses": ("?",)}, {}),
    ],
)
def test_gpus_that_are_not_the_nodes_are_denied(changed, agrees):
    checks = checks_of_gpus(of_a_node(), {**ONE_GPU, **changed})
    of_all = ("GPUs", "GPU model")
    assert {one.item: one.agrees for one in checks if one.item not in of_all} == agrees


def test_gpus_unknown_to_the_survey_and_other_kinds_of_uuids_give_no_check():
    summary = {**ONE_GPU, "uuids": (OTHER,), "buses": ("0000:1c:00.0",)}
    unknown = of_a_node(uuid=None, bus=None)
    no_gpu = replace(unknown, found={"n1": NodeFacts("n1")})  # whose smi tool is not there
    other = (of_a_node(vendor="amd", bus=None), replace(unknown, found={}), no_gpu)
    for request in (unknown, *other):
        items = [one.item for one in checks_of_gpus(request, summary)]
        assert not {"UUIDs of the GPUs", "PCI addresses of the GPUs"} & {*items}


def test_a_command_that_ended_before_its_output_could_be_is_denied():
    def of(lasted_s, least_s=60.0):
        side = SideOutput("n1", "client", None, lasted_s=lasted_s)
        return [one.agrees for one in long_enough(side, least_s, "of burning")]

    assert (of(60.5), of(59.9), of(58.0), of(0.4)) == ([True], [True], [False], [False])
    assert of(None) == of(1.0, 0.0) == of(1.0, float("inf")) == of(1.0, float("nan")) == []
    (denied,) = long_enough(SideOutput("n1", "client", None, lasted_s=0.4), 60.0, "of burning")
    assert str(denied) == (
        "time: what the tool says takes at least 60.00 s of burning, its command took 0.40 s"
    )


def test_an_option_has_its_default_where_the_platform_file_names_none():
    assert (asked(qps=4).option("qps", 1), asked().option("qps", 1)) == (4, 1)


def test_a_check_names_both_sides_and_is_of_the_reporting_command_s_node():
    check = equal("qps", 4, 1)
    assert str(check) == "qps: asked for 4, the tool says 1"
    assert check.node == ""


def test_facts_are_those_of_a_node_that_was_surveyed():
    assert asked().facts("n1") == HERE["n1"]
    assert asked().facts("n3") is None
    assert ToolRequest(asked().case, None, None).facts("n1") is None


def test_a_run_is_the_suite_s_own_by_default():
    assert ToolRequest(asked().case, None, None).is_planned


def test_a_tool_that_shows_nothing_has_no_checks():
    assert checks_nothing(asked(), (SideOutput("n1", "client", None),)) == ()
