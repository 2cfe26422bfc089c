"""Hostfiles: both forms, and an error with file and line for everything that is wrong."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from testing.core_values import HOSTFILE_SCHEMA, ROOT, lines_of

from railgauge.config import hostfile
from railgauge.core.errors import BadInput, HostfileError
from railgauge.core.model import SshSettings

HEAD = "cluster: prod\nplatform: metax-c500\n"


def load(tmp_path, text, name="c.yaml", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return hostfile.load(path, schema_file=HOSTFILE_SCHEMA, **options)


def refusal(tmp_path, text, name="c.yaml", **options):
    with pytest.raises(BadInput) as caught:
        load(tmp_path, text, name, **options)
    lines = lines_of(caught.value)
    assert all(str(tmp_path / name) in line for line in lines)
    return "\n".join(lines)


def names(cluster):
    return [node.name for node in cluster.nodes]


# --- names ---

INTERNATIONAL = """nodes: ['ノード[1-2]', bücher, {name: Ünit_3, address: ünit3.example}]
groups: {a: "bücher,ノード[1-2]"}
devices: {bücher: {mlx5_0: mlx5_bond_0}}
nic_addresses: {mlx5_0: "{node}-ib"}
"""


def test_internationalized_names_are_names(tmp_path):
    """Tools on the nodes get them as DNS has them, ssh and its configuration as written."""
    cluster = load(tmp_path, HEAD + INTERNATIONAL)
    assert names(cluster) == ["ノード1", "ノード2", "bücher", "Ünit_3"]
    assert cluster.groups["a"] == ("bücher", "ノード1", "ノード2")
    assert (cluster.nodes[2].address, cluster.nodes[2].data_address) == ("bücher", "xn--bcher-kva")
    assert cluster.nodes[2].nic_addresses == {"mlx5_0": "xn--bcher-ib-65a"}
    assert cluster.nodes[3].address == "ünit3.example"
    assert cluster.nodes[3].data_address == "xn--nit3-zra.example"


def test_a_plain_list_has_internationalized_names(tmp_path):
    cluster = load(tmp_path, "root@bücher slots=8\nノード1:2222\n", "hosts", platform="h200")
    assert [node.data_address for node in cluster.nodes] == ["xn--bcher-kva", "xn--1-mguo8p"]
    assert "is not a host: it is read as 'n1' in DNS" in refusal(
        tmp_path, "ｎ1\n", "hosts", platform="h200"
    )


@pytest.mark.parametrize("text", ["nodes: straße\n", "nodes:\n  - {name: straße}\n"])
def test_a_name_that_dns_has_otherwise_is_refused_with_the_reason(tmp_path, text):
    message = refusal(tmp_path, HEAD + text)
    assert "'straße' cannot be a node's name: it is read as 'strasse' in DNS; give it a" in message


def test_more_nodes_than_a_cluster_has_are_refused_however_they_are_written(tmp_path):
    most = "and at most 20,000 are read"
    assert f"names 1,000,000 nodes, {most}" in refusal(tmp_path, f"{HEAD}nodes: a[1-1000000]\n")
    each = "".join(f"- n{i}x[1-2000]\n" for i in range(500))
    assert "are more than 20000 together" in refusal(tmp_path, f"{HEAD}nodes:\n{each}")
    plain = "".join(f"n{i}\n" for i in range(20_001))
    assert "names 20001 hosts" in refusal(tmp_path, plain, "hosts", platform="h200")


def test_a_group_of_unknown_nodes_is_reported_in_a_short_line(tmp_path):
    message = refusal(tmp_path, f"{HEAD}nodes: a[1-9]\ngroups: {{g: 'b[1-20000]'}}\n")
    assert "group g has nodes that are not under 'nodes': b1, b2" in message
    assert "and 19992 more" in message
    assert len(message) < 500


# --- how a launcher's daemons are started ---


@pytest.mark.parametrize(
    ("text", "launch"),
    [
        ("", "through-suite"),
        ("launcher: mpich\n", "through-suite"),
        ("launcher: slurm\n", ""),
        ("transport: slurm\n", ""),
        ("transport: local\n", ""),
        ("transport: lab\n", ""),
        ('transport: exec\nexec: [enter, "{node}"]\n', "through-suite"),
        ("launch: ssh\n", "ssh"),
        ("launch: through-suite\ntransport: lab\n", "through-suite"),
    ],
)
def test_daemons_are_started_through_the_suite_where_that_works(tmp_path, text, launch):
    assert load(tmp_path, f"{HEAD}nodes: mx01\n{text}").launch == launch


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("", "beside-gpu"),
        ("transport: slurm\n", "beside-gpu"),
        ('transport: exec\nexec: [enter, "{node}"]\n', "beside-gpu"),
        ("transport: lab\n", ""),
        ("ranks: launcher\n", "launcher"),
        ("transport: lab\nranks: beside-gpu\n", "beside-gpu"),
    ],
)
def test_ranks_are_placed_beside_their_gpus_by_default(tmp_path, text, ranks):
    assert load(tmp_path, f"{HEAD}nodes: mx01\n{text}").ranks == ranks
    assert load(tmp_path, "n1\nn2\n", "hosts", platform="h200").ranks == "beside-gpu"


def test_another_place_for_ranks_is_refused(tmp_path):
    assert "ranks" in refusal(tmp_path, f"{HEAD}nodes: mx01\nranks: far\n")


def test_a_plain_list_is_launched_through_the_suite(tmp_path):
    assert load(tmp_path, "n1\nn2\n", "hosts", platform="h200").launch == "through-suite"


@pytest.mark.parametrize("text", ["launcher: slurm\n", "transport: slurm\n"])
def test_slurm_starts_its_ranks_itself(tmp_path, text):
    message = refusal(tmp_path, f"{HEAD}nodes: mx01\nlaunch: ssh\n{text}")
    assert "c.yaml:4: launch: ssh: slurm starts the ranks itself; remove launch:" in message


def test_ports_and_arguments_of_the_launcher_are_read(tmp_path):
    text = f"{HEAD}nodes: mx01\nports: 20000-20099\nlauncher_args: [-mca, pml, ^ucx]\n"
    cluster = load(tmp_path, text)
    assert (cluster.ports, cluster.launcher_args) == ((20000, 20099), ("-mca", "pml", "^ucx"))
    assert hostfile.cluster_from_json(hostfile.cluster_to_json(cluster)) == cluster
    assert load(tmp_path, f"{HEAD}nodes: mx01\n").ports is None


@pytest.mark.parametrize("text", ["20099-20000", "0-99", "65500-65536", "20000-20014"])
def test_an_invalid_or_too_small_range_of_ports_is_refused(tmp_path, text):
    message = refusal(tmp_path, f"{HEAD}nodes: mx01\nports: {text}\n")
    assert f"c.yaml:4: ports: {text} is not a range of 16 TCP ports or more" in message


@pytest.mark.parametrize(("declared", "pairs"), [("all", 4), ("3", 3)])
def test_the_number_of_independent_pairs_is_read(tmp_path, declared, pairs):
    text = f"{HEAD}nodes: mx[01-09]\nindependent_pairs: {declared}\n"
    assert load(tmp_path, text).independent_pairs == pairs
    assert load(tmp_path, f"{HEAD}nodes: mx[01-09]\n").independent_pairs == 1


@pytest.mark.parametrize("declared", ["0", "-1", "many", "1.5"])
def test_an_invalid_number_of_pairs_is_refused(tmp_path, declared):
    message = refusal(tmp_path, f"{HEAD}nodes: mx01\nindependent_pairs: {declared}\n")
    assert "c.yaml:4: independent_pairs" in message


def test_a_cluster_of_an_earlier_version_has_default_launches(tmp_path):
    saved = hostfile.cluster_to_json(load(tmp_path, f"{HEAD}nodes: mx01\n"))
    del saved["launch"]
    assert hostfile.cluster_from_json(saved).launch == ""


# --- the project's own YAML ---


def test_a_whole_hostfile_is_read(tmp_path):
    cluster = load(
        tmp_path,
        HEAD + "transport: ssh\nnodes: mx[01-03]\ngroups: {leaf01: 'mx[01-02]'}\n"
        "ssh: {user: root, port: 2222}\nlauncher: slurm\nrootfs: /host\n"
        "tools: {perftest: /opt/maca/bin}\nenvironment: {MCCL_IB_HCA: 'mlx5_0', N: 3}\n",
    )
    assert names(cluster) == ["mx01", "mx02", "mx03"]
    assert cluster.node("mx02").address == cluster.node("mx02").data_address == "mx02"
    assert cluster.groups == {"leaf01": ("mx01", "mx02")}
    assert {(node.ssh.user, node.ssh.port) for node in cluster.nodes} == {("root", 2222)}
    assert (cluster.launcher, cluster.rootfs) == ("slurm", "/host")
    assert cluster.tools == {"perftest": "/opt/maca/bin"}
    assert cluster.environment == {"MCCL_IB_HCA": "mlx5_0", "N": "3"}


def test_missing_keys_have_their_defaults(tmp_path):
    cluster = load(tmp_path, HEAD + "nodes: a\n")
    assert (cluster.transport, cluster.launcher, cluster.rootfs) == ("ssh", "openmpi", "/")
    assert cluster.nodes[0].ssh == SshSettings()


def test_settings_of_a_node_override_those_of_the_cluster(tmp_path):
    text = HEAD + (
        "ssh: {user: root, port: 22, host_keys: accept-new}\n"
        "nodes:\n  - mx[01-02]\n"
        "  - {name: gw, address: 10.0.0.9, data_address: 192.168.1.9, ssh: {port: 2200}}\n"
        "  - {name: last, address: 10.0.0.8}\n"
    )
    cluster = load(tmp_path, text)
    assert names(cluster) == ["mx01", "mx02", "gw", "last"]
    gateway, last = cluster.node("gw"), cluster.node("last")
    assert (gateway.address, gateway.data_address) == ("10.0.0.9", "192.168.1.9")
    assert (gateway.ssh.user, gateway.ssh.port, gateway.ssh.host_keys) == (
        "root", 2200, "accept-new",
    )  # fmt: skip
    assert last.data_address == "10.0.0.8"
    assert last.ssh.port == 22


def test_key_files_are_relative_to_the_hostfile(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", "/home/me")
    text = HEAD + "nodes: a\nssh: {key: keys/id, config: ~/.ssh/other, known_hosts: /etc/known}\n"
    ssh = load(tmp_path, text).nodes[0].ssh
    assert ssh.key == str(tmp_path / "keys" / "id")
    assert ssh.config == "/home/me/.ssh/other"
    assert ssh.known_hosts == "/etc/known"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (HEAD + "nodes: a\ntransprot: ssh\n", 4, "unknown key 'transprot'"),
        (HEAD + "nodes: a\ntransport: carrier-pigeon\n", 4, "not one of 'ssh'"),
        (HEAD + "nodes: a\nlauncher: make\n", 4, "not one of 'openmpi'"),
        (HEAD + "nodes: a\nssh:\n  user: root\n  prot: 22\n", 6, "unknown key 'prot'"),
        (HEAD + "nodes: a\nssh: {port: 70000}\n", 4, "70000"),
        (HEAD + "nodes: a\nssh: {host_keys: 'no'}\n", 4, "not one of 'strict'"),
        (HEAD + "nodes: a\nssh: root\n", 4, "of type object"),
        (HEAD + "nodes: [a, 5]\n", 3, "5"),
        (HEAD + "nodes: []\n", 3, ""),
        (HEAD + "nodes: ''\n", 3, ""),
        (HEAD + "nodes: {a: b}\n", 3, ""),
        (HEAD + "nodes:\n  - a\n  - {address: 10.0.0.1}\n", 5, "'name' is missing"),
        (HEAD + "nodes:\n  - a\n  - {name: b, adress: x}\n", 5, "unknown key 'adress'"),
        ("cluster: 7\nplatform: p\nnodes: a\n", 1, "of type string"),
        ("cluster: a/b\nplatform: p\nnodes: a\n", 1, "characters that are not allowed"),
        ("platform: p\nnodes: a\n", 1, "'cluster' is missing"),
        (HEAD + "nodes: 'mx[01-'\n", 3, "not a set of nodes"),
        (HEAD + "nodes: '@leaf01'\n", 3, ""),
        (HEAD + "nodes: 'mx[05-01]'\n", 3, "not a set of nodes"),
        (HEAD + "nodes: 'root@mx01'\n", 3, "cannot be a node's name"),
        (HEAD + "nodes: 'mx01:22'\n", 3, "cannot be a node's name"),
        (HEAD + "nodes: '-oProxyCommand=x'\n", 3, "cannot be a node's name"),
        (HEAD + "nodes:\n  - mx01\n  - 'mx[01-02]'\n", 4, "mx01 is given twice"),
        (HEAD + "nodes:\n  - mx01\n  - {name: mx01}\n", 4, "mx01 is given twice"),
        (HEAD + 'nodes:\n  - mx01\n  - {name: "mx02\\n"}\n', 5, "cannot be a node's name"),
        (HEAD + "nodes: a\ngroups:\n  g: b\n", 5, "not under 'nodes': b"),
        (HEAD + "nodes: a\ngroups: {g: ''}\n", 4, ""),
        (HEAD + "nodes: a\nnodes: b\n", 4, "key 'nodes' is given twice"),
        (HEAD + "nodes: a\nssh: {user: x, user: y}\n", 4, "key 'user' is given twice"),
        (HEAD + "nodes: a\nenvironment: {'A B': 1}\n", 4, "A B"),
        (HEAD + "nodes: a\nenvironment: {A: [1]}\n", 4, ""),
        (HEAD + "nodes: a\nenvironment: {ON: 1}\n", 4, "put it in quotes"),
        (HEAD + "nodes: a\nenvironment: {1: x}\n", 4, "put it in quotes"),
        (HEAD + "nodes: a\n5: x\nfoo: y\n", 4, "put it in quotes"),
        (HEAD + "nodes: a\n? [a, b]\n: x\n", 4, ""),
        (HEAD + "nodes: a\nssh: {user: <changeme>}\n", 4, "<changeme> is still there"),
        (HEAD + "nodes: <CHANGE-ME>\n", 3, "put your own value"),
        (HEAD + "nodes: [a\n", 4, "not valid YAML"),
        (HEAD + "nodes: a\n\tssh: x\n", 4, "not valid YAML"),
        (HEAD + "nodes: !!python/object/apply:os.system ['true']\n", 3, "not valid YAML"),
    ],
)  # fmt: skip
def test_complaints_name_the_line(tmp_path, text, line, says):
    message = refusal(tmp_path, text)
    assert f"c.yaml:{line}: " in message
    assert says in message


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "- a\n- b\n", "just words\n", "42\n", "a: 1\n---\nb: 2\n", "\0\n",
     "cluster: 2024-99-99\n", "[" * 20_000, b"\xff\xfe\x00a", "a: &x [*x]\n"],
)  # fmt: skip
def test_files_that_are_no_hostfile_are_refused(tmp_path, text):
    refusal(tmp_path, text)


def test_a_placeholder_in_a_comment_is_no_placeholder(tmp_path):
    assert names(load(tmp_path, HEAD + "nodes: a  # was <changeme>\n")) == ["a"]


@pytest.mark.parametrize("name", ["none.yaml", "none", "."])
def test_an_unreadable_file_is_refused(tmp_path, name):
    with pytest.raises(HostfileError, match=r"cannot be read.*--hostfile"):
        hostfile.load(tmp_path / name, schema_file=HOSTFILE_SCHEMA)


def test_a_platform_option_that_contradicts_the_file_is_refused(tmp_path):
    message = refusal(tmp_path, HEAD + "nodes: a\n", platform="h200")
    assert "the file says platform metax-c500, --platform says h200" in message
    assert load(tmp_path, HEAD + "nodes: a\n", platform="metax-c500").platform == "metax-c500"


@pytest.mark.parametrize("path", sorted((ROOT / "hostfiles").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_hostfiles_of_the_project_are_sound(path):
    cluster = hostfile.load(path, schema_file=HOSTFILE_SCHEMA)
    assert (len(cluster.nodes) > 1) is (cluster.transport != "local")
    assert (ROOT / "thresholds" / f"{cluster.platform}.json").exists()


# --- plain lists ---


def test_a_plain_list_is_read(tmp_path):
    text = (
        "# compute\nmx01 slots=8\nroot@mx02:2222\n\nmx03:8  # MPICH slots\nmx04 admin\n"
        "mx05 slots=8 max-slots=8\nmx01 slots=8\n"
    )
    cluster = load(tmp_path, text, "hosts", platform="metax-c500")
    assert names(cluster) == ["mx01", "mx02", "mx03", "mx04", "mx05"]
    assert [(node.ssh.user, node.ssh.port) for node in cluster.nodes] == [
        (None, None), ("root", 2222), (None, None), ("admin", None), (None, None),
    ]  # fmt: skip
    assert (cluster.name, cluster.transport, cluster.platform) == ("hosts", "ssh", "metax-c500")


def test_a_plain_list_needs_a_platform(tmp_path):
    assert "--platform NAME" in refusal(tmp_path, "mx01\n", "hosts")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("mx01\n-oProxyCommand=x\n", 2, "is not a host"),
        ("mx01\n\n# c\nmx01:abc\n", 4, "is not a host"),
        ("mx01\nmx02:99999\n", 2, "99999"),
        ("a b@c\nhost@\n", 2, "is not a host"),
        ("mx01\n;rm -rf /\n", 2, "is not a host"),
    ],
)
def test_complaints_about_plain_lists_name_the_line(tmp_path, text, line, says):
    message = refusal(tmp_path, text, "hosts", platform="p")
    assert f"hosts:{line}: " in message
    assert says in message


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_plain_list_without_a_host_is_refused(tmp_path, text):
    assert "names no host" in refusal(tmp_path, text, "hosts", platform="p")


# --- whatever is in the file ---

keys = st.sampled_from(["cluster", "platform", "nodes", "ssh", "groups", "environment", "x", "1"])
scalars = st.sampled_from(["a", "mx[01-03]", "1", "on", "~", "'@x'", "1:2", "2001-01-01", "{}"])
yamls = st.dictionaries(keys, scalars).map(
    lambda entries: "".join(f"{key}: {value}\n" for key, value in entries.items())
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.one_of(st.text(max_size=60), yamls), st.sampled_from(["c.yaml", "hosts"]))
def test_any_text_is_a_cluster_or_a_complaint(tmp_path, text, name):
    try:
        cluster = load(tmp_path, text.encode("utf-8", "surrogatepass"), name, platform="p")
    except BadInput as error:
        lines = lines_of(error)
    else:
        lines = [cluster.source]
        assert cluster.nodes
    assert all(line.startswith(str(Path(tmp_path, name))) for line in lines)
