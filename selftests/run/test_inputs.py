"""``plan``, ``judge`` and a run share one check of hostfile and platform file."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from testing.core_values import ROOT, document, lines_of, long_form, measurement_of, put

from railgauge import tools
from railgauge.cli import main
from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Node, Pair
from railgauge.planning import plan
from railgauge.planning.marks import MarkedTest, marked_tests
from railgauge.run import inputs

HOSTFILE = "cluster: bench\nplatform: bench\nnodes: node[01-03]\n"
TESTS = """
import pytest


@pytest.mark.expects("memlock")
def test_memlock(node, expect):
    expect(node, "memlock")


@pytest.mark.measures("host_write_bandwidth")
def test_write(pair, pairing, size, measure, check):
    check(measure(pair, pairing), size)
"""
MORE = """
import pytest


class TestMore:
    @pytest.mark.expects("teleporter")
    def test_teleporter(self, node, expect):
        expect(node, "teleporter")


@pytest.mark.measures("warp")
def test_warp(pair, measure, check):
    check(measure(pair))


@pytest.mark.measures("fabric_links")
def test_links(switch, measure, check):
    check(measure(switch))
"""


@pytest.fixture
def root(tmp_path):
    put(tmp_path / "thresholds", document())
    (tmp_path / "hostfiles").mkdir()
    shutil.copy(ROOT / "hostfiles" / "schema.json", tmp_path / "hostfiles")
    (tmp_path / "hostfiles" / "bench.yaml").write_text(HOSTFILE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_ladder.py").write_text(TESTS)
    return tmp_path


def site(root):
    return inputs.site(root / "hostfiles" / "bench.yaml", root)


def refused(act):
    with pytest.raises(BadInput) as caught:
        act()
    return lines_of(caught.value)


def test_valid_input_is_returned(root):
    cluster, platform = site(root)
    assert [node.name for node in cluster.nodes] == ["node01", "node02", "node03"]
    assert platform == inputs.platform("bench", root)


def spoilt(root):
    """Four mistakes in the hostfile and one in the platform file are all reported together."""
    text = "cluster: bench\nplatform: bench\nnodes: []\nnods: x\nssh: {prot: 22}\nlauncher: pvm\n"
    (root / "hostfiles" / "bench.yaml").write_text(text)
    doc = document()
    doc["surprise"] = 1
    measurement_of(doc)["limits"][0]["floor"] = "300"
    put(root / "thresholds", doc)


def test_all_complaints_of_both_files_come_at_once(root):
    spoilt(root)
    lines = refused(lambda: site(root))
    for word in ("nodes: ", "'nods'", "'prot'", "'pvm'", "'surprise'", "/limits/0/floor"):
        assert len([line for line in lines if word in line]) == 1, word
    assert len(lines) == 6


def test_several_wrong_nodes_and_groups_are_reported_together(root):
    text = "cluster: b\nplatform: bench\nnodes: ['a[', 'b', '-c']\n"
    (root / "hostfiles" / "bench.yaml").write_text(text)
    assert len(refused(lambda: site(root))) == 2
    text = "cluster: b\nplatform: bench\nnodes: [a, b]\ngroups: {x: c, y: d}\n"
    (root / "hostfiles" / "bench.yaml").write_text(text)
    assert ["group x" in line for line in refused(lambda: site(root))] == [True, False]


def test_a_new_test_costs_a_platform_file_nothing(root, capsys):
    (root / "tests" / "test_more.py").write_text(MORE)
    assert site(root)[1] == inputs.platform("bench", root)
    words = ["plan", "--root", str(root), "--hostfile", str(root / "hostfiles" / "bench.yaml")]
    assert main(words) == 0
    out = capsys.readouterr().out
    (line,) = [one for one in out.splitlines() if one.startswith("can be measured here, no limit")]
    assert {"kernel_log", "teleporter", "warp"} <= set(re.findall(r"[\w/]+", line))
    assert main([*words, "--json"]) == 0
    left = json.loads(capsys.readouterr().out)["not_limited"]
    assert {"kernel_log", "teleporter", "warp"} <= set(left)


def test_a_need_that_nobody_knows_is_bad_input(root):
    mark = '@pytest.mark.expects("teleporter")'
    text = MORE.replace(mark, f'{mark}\n    @pytest.mark.needs("ufo")')
    (root / "tests" / "test_more.py").write_text(text)
    for act in (lambda: site(root), lambda: inputs.platform("bench", root)):
        (line,) = refused(act)
        assert "test_teleporter: needs 'ufo', which is unknown" in line
        assert "known: gpus, linked gpus, " in line


def test_a_test_without_a_mark_is_refused(root):
    text = (
        "def test_of_nothing():\n    assert True\n\n\n@mine\ndef test_of_something():\n    pass\n"
    )
    (root / "tests" / "test_more.py").write_text(text)
    (line,) = refused(lambda: site(root))
    assert line.startswith("tests/test_more.py::test_of_nothing: needs one mark")


def test_a_measurement_that_is_not_applicable_needs_no_limit(root):
    (root / "tests" / "test_more.py").write_text(MORE)
    doc = document()
    doc["not_applicable"] = dict.fromkeys(("warp", "teleporter"), "nobody has one here")
    put(root / "thresholds", doc)
    site(root)


def test_tests_are_read_from_their_source(root):
    (root / "tests" / "deep").mkdir()
    (root / "tests" / "deep" / "test_more.py").write_text(MORE)
    found = marked_tests(root)
    assert (
        MarkedTest("tests/test_ladder.py::test_memlock", "expects", "memlock", ("fact",)) in found
    )
    assert MarkedTest("tests/deep/test_more.py::test_warp", "measures", "warp", ("run",)) in found
    assert len(found) == 5
    assert marked_tests(root / "nowhere") == ()
    (root / "tests" / "test_broken.py").write_text("def test_(:\n")
    assert "test_broken.py" in refused(lambda: marked_tests(root))[0]


@pytest.mark.parametrize(
    ("options", "says"),
    [({"use_cuda_dmabuf": True}, "use_cuda_dmabuf"), ({"qps": "four"}, "qps"), ({"qsp": 4}, "qsp")],
)
def test_options_that_the_tool_does_not_take_are_refused(root, options, says):
    doc = document()
    measurement_of(doc)["options"] = options
    put(root / "thresholds", doc)
    for act in (lambda: site(root), lambda: inputs.platform("bench", root)):
        (line,) = refused(act)
        assert says in line


def test_unknown_tools_and_options_are_reported_once_for_several_measurements(root):
    doc = document()
    one = measurement_of(doc)
    doc["measurements"]["second"] = {**one, "options": {"qsp": 4}}
    doc["measurements"]["third"] = {**one, "tool": "abacus"}
    put(root / "thresholds", doc)
    lines = refused(lambda: inputs.platform("bench", root))
    assert any("abacus" in line for line in lines)
    assert any("qsp" in line for line in lines)


@pytest.mark.parametrize("platform", ["h200", "mi300x", "metax-c500"])
def test_addresses_that_a_launcher_does_not_take_are_refused(platform):
    found = thresholds.with_model(inputs.platform(platform, ROOT), "some-model")
    nodes = tuple(Node(n, a, a) for n, a in (("a", "10.0.0.1"), ("b", "fd00::2"), ("c", "fd00::3")))
    cluster = Cluster("x", platform, "ssh", nodes, "x.yaml")
    lines = refused(lambda: inputs.check(found, ROOT, cluster))
    assert len(lines) == 2
    assert ["fd00::2" in line for line in lines] == [True, False]
    assert all(line.startswith("x.yaml: ") for line in lines)


@pytest.mark.parametrize("platform", ["metax-c500", "h200", "mi300x", "h100-tcpx"])
def test_the_served_model_is_the_hostfiles(tmp_path, platform):
    """Without one nothing is served, and a plain list of hosts stays a hostfile."""
    path = tmp_path / "mine.yaml"
    text = f"cluster: mine\nplatform: {platform}\nnodes: [a, b]\n"
    path.write_text(text)
    assert not {"node_serving", "pair_serving"} & inputs.site(path, ROOT)[1].measurements.keys()
    path.write_text(f"{text}model: /models/mine\n")
    cluster, platform = inputs.site(path, ROOT)
    for name in ("node_serving", "pair_serving"):
        case = Case(name, ("a", "b")[: 1 + (name == "pair_serving")], None, ())
        *servers, client = plan.commands(case, platform, cluster, 18600)
        assert client.argv[4] == "/models/mine"
        assert {server.argv[2] for server in servers} == {"/models/mine"}


def test_the_network_of_the_launcher_is_the_hostfiles(tmp_path):
    path = tmp_path / "mine.yaml"
    text = "cluster: mine\nplatform: h200\nnodes: [a, b]\nmpi_network: 10.2.122.0/24\n"
    path.write_text(text)
    cluster, platform = inputs.site(path, ROOT)
    each = plan.case_at(platform.measurements["pair_all_reduce"], "smoke", Pair("a", "b"))
    (one,) = plan.commands(each, platform, cluster, 18600)
    assert "-mca oob_tcp_if_include 10.2.122.0/24" in " ".join(one.argv)
    path.write_text(f"{text}launcher: mpich\n")
    lines = refused(lambda: inputs.site(path, ROOT))
    assert all("mpi_network 10.2.122.0/24: MPICH takes" in line for line in lines)


@pytest.mark.parametrize("platform", ["h200", "mi300x", "metax-c500"])
def test_no_platform_file_names_a_model(platform):
    assert "reference-model" not in json.dumps(long_form(platform))


@pytest.mark.parametrize("key", ["perftst", "ccl-tests", "Perftest"])
def test_the_path_of_an_unknown_tool_is_refused(root, key):
    (root / "hostfiles" / "bench.yaml").write_text(f"{HOSTFILE}tools: {{{key}: /opt}}\n")
    assert any(key in line for line in refused(lambda: site(root)))


def test_the_nearest_known_tool_is_named_for_each_unknown_one(root):
    text = f"{HOSTFILE}tools: {{nvidia_smi: /opt, mpirum: /opt, lspci: /opt}}\n"
    (root / "hostfiles" / "bench.yaml").write_text(text)
    lines = refused(lambda: site(root))
    assert any("'nvidia_smi'" in line and "did you mean nvidia-smi?" in line for line in lines)
    assert any("'mpirum'" in line and "did you mean mpirun?" in line for line in lines)
    assert not any("'lspci' is" in line for line in lines)


@pytest.mark.parametrize("name", ["nvidia-smi", "ibv_devinfo", "mpirun", "ib_write_bw"])
def test_single_programs_may_lie_where_the_hostfile_says(root, name):
    (root / "hostfiles" / "bench.yaml").write_text(f"{HOSTFILE}tools: {{{name}: /opt/{name}}}\n")
    cluster, _ = site(root)
    assert cluster.tools == {name: f"/opt/{name}"}


@pytest.mark.parametrize("name", tools.PLANNABLE)
def test_every_tool_may_lie_where_the_hostfile_says(root, name):
    keys = ", ".join(f"{key}: /opt" for key in tools.keys(name))
    (root / "hostfiles" / "bench.yaml").write_text(f"{HOSTFILE}tools: {{{keys}}}\n")
    cluster, _ = site(root)
    assert set(cluster.tools) == set(tools.keys(name))


def test_addresses_of_a_nic_that_is_not_declared_are_refused(root):
    text = f'{HOSTFILE}nic_addresses: {{mlx5_0: "{{node}}-a", mlx5_7: "{{node}}-b"}}\n'
    (root / "hostfiles" / "bench.yaml").write_text(text)
    (line,) = refused(lambda: site(root))
    assert "declares no NIC mlx5_7" in line


def test_no_object_of_a_schema_takes_unknown_keys():
    """The tool checks a measurement's options; every other object has a closed schema."""
    for path in (ROOT / "hostfiles" / "schema.json", ROOT / "thresholds" / "schema.json"):
        found = set(_open(json.loads(path.read_text(encoding="utf-8")), ""))
        assert found <= {"/$defs/measurement/properties/options"}, path


def _open(schema, path):
    """Objects with declared properties, or of type object, that allow other properties."""
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if not isinstance(schema, dict):
        return
    # ``required`` of a complete file applies to objects that are closed elsewhere.
    conditional = any(f"/{word}" in path for word in ("if", "then", "anyOf", "$defs/complete"))
    is_closed = {"additionalProperties", "then"} & set(schema)  # what follows "then" is looked at
    takes_any = "object" in str(schema.get("type")) and not is_closed
    if takes_any and not conditional:
        yield path
    for name, inner in schema.items():
        yield from _open(inner, f"{path}/{name}")


def test_plan_judge_and_the_run_say_the_same(root):
    """All three commands print the same lines, and none continues."""
    spoilt(root)
    for name in ("conftest.py", "tox.ini"):
        shutil.copy(ROOT / name, root)
    (root / "hostfiles" / "bench.yaml").write_text(HOSTFILE)
    (root / "log").write_text("")
    program = "import sys; from railgauge.cli import main; sys.exit(main())"
    railgauge = [sys.executable, "-c", program]
    commands = {
        "plan": [*railgauge, "plan", "--hostfile", "hostfiles/bench.yaml"],
        "judge": [*railgauge, "judge", "--platform", "bench", "--tool", "perftest", "log"],
        "limits": [*railgauge, "limits", "bench"],
        "pytest": [sys.executable, "-m", "pytest", "--hostfile", "hostfiles/bench.yaml"],
    }
    lines = {name: _complaints(command, root) for name, command in commands.items()}
    assert lines["plan"] == lines["judge"] == lines["limits"] == lines["pytest"]
    assert len(lines["plan"]) == 2


def _complaints(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == (4 if "pytest" in command else 2), done.stderr
    lines = done.stderr.replace(f"{folder}/", "").splitlines()
    return [line.strip() for line in lines if "thresholds/bench.json" in line]


def test_every_platform_of_the_suite_passes_the_checks():
    for name in thresholds.available(ROOT / "thresholds"):
        inputs.platform(name, ROOT)


def test_a_command_is_tried_on_one_node_of_each_kind():
    """And on a second one, for a pair; thousands that differ only by name cost nothing."""
    plain = [Node(f"n{i}", f"n{i}", f"n{i}") for i in range(9)]
    own = Node("own", "own", "own", nic_addresses={"mlx5_0": "own-ib"})
    colon, other = Node("six", "six", "fe80::1"), Node("seven", "seven", "fe80::2")
    cluster = Cluster(
        "c", "p", "ssh", (*plain, own, colon, other), "c.yaml", devices={"n7": {"a": "b"}}
    )
    assert inputs.one_of_each_kind(cluster) == ("n0", "n1", "n7", "own", "six", "seven")
    assert inputs.one_of_each_kind(replace(cluster, nodes=(plain[0],))) == ("n0",)
