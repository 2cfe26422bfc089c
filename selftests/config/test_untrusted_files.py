"""Untrusted files: one line within a second, whatever numbers, aliases and sets they hold.

CPU time and memory are limited: these texts once took hours and all of the memory.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from testing.core_values import HOSTFILE_SCHEMA, lines_of
from testing.places import ROOT

from railgauge.config import deviations, hostfile, strict_yaml, thresholds
from railgauge.core.errors import BadInput, Gathered
from railgauge.core.model import Cluster, Node
from railgauge.planning import part

MOST_S = 1.0
ROOM_BYTES = 2 << 30
MOST_CHARACTERS = 1000

HEAD = "cluster: c\nplatform: h200\n"
TWENTY = "9" * 20
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{one}: &{one} [{','.join([f'*{before}'] * 9)}]\n"
    for before, one in zip("abcdefghijkl", "bcdefghijklm", strict=True)
)
ENDLESS = {
    "a set of many": "n[1-99999999]",
    "a set of twenty digits": f"n[1-{TWENTY}]",
    "a number of twenty digits and a set": f"n[{TWENTY}-{TWENTY}9]",
    "a set of sets": "n[1-9999][1-9999]",
    "sets": ",".join(f"n{i}x[1-9999]" for i in range(9)),
    "a set with steps": "n[0-99999999999/99999999999]x[1-99999999]",
    "digits": f"n[1-{'9' * 5000}]",
}


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """A text that takes more fails its test, and not the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def refused(read: Callable[[], object]) -> str:
    """The line by which a text is refused, within the time. A text may break two rules at once."""
    begun = time.process_time()
    with pytest.raises(BadInput) as caught:
        read()
    took_s = time.process_time() - begun
    assert took_s < MOST_S, f"{took_s:.2f} s of CPU"
    lines = lines_of(caught.value)
    assert len(lines) <= 2, lines
    assert len("".join(lines)) < MOST_CHARACTERS, lines
    return " ".join(lines)


def of_hostfile(tmp_path: Path, text: str, name: str = "c.yaml") -> str:
    path = tmp_path / name
    path.write_text(text)
    assert hostfile.named_platform(path) in ("", "h200")
    return refused(lambda: hostfile.load(path, schema_file=HOSTFILE_SCHEMA, platform="h200"))


@pytest.fixture(autouse=True, scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Modules that are imported on first use take no time of a test."""
    of_hostfile(tmp_path_factory.mktemp("first"), f"{HEAD}nodes: 'n[1-2'\n")


# --- hostfiles ---


@pytest.mark.parametrize("nodes", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("key", ["nodes", "groups"])
def test_an_endless_set_is_refused(tmp_path: Path, nodes: str, key: str) -> None:
    body = f'nodes: "{nodes}"\n' if key == "nodes" else f'nodes: n1\ngroups: {{g: "{nodes}"}}\n'
    assert "c.yaml:" in of_hostfile(tmp_path, HEAD + body)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{HEAD}nodes: &a [*a]\n", "refers to a value that contains it"),
        (f"{HEAD}nodes: n1\ngroups: &g {{g: *g}}\n", "refers to a value that contains it"),
        ("&top\ncluster: c\nplatform: h200\nnodes: n1\nenvironment: *top\n", "contains it"),
        (f"{HEAD}{BOMB}nodes: *m\n", "aliases repeat values"),
        (f"{HEAD}nodes: n1\nsetup: [{BOMB.splitlines()[0][3:]}]\n", "setup"),
        (f"{HEAD}nodes: n1\n" + "".join(
            f"{b}: &{b} {{<<: [*{a}, *{a}]}}\n" for a, b in zip("abcdefghijklmnopqrstuvwx",
            "bcdefghijklmnopqrstuvwxy", strict=True)).replace("<<: [*a, *a]", "x: 1"), "aliases"),
        (f"{HEAD}nodes: n1\nssh: &s {{port: 22}}\nslurm: {{<<: *s}}\n", "merge"),
        (f"{HEAD}nodes: n1\nports: {'[' * 2000}\n", "nest"),
        (f"{HEAD}nodes: {'[' * 30}n1{']' * 30}\n", "nodes"),
        (f"{HEAD}nodes: n1\nssh: {{patience_s: .inf}}\n", ".inf is not a number"),
        (f"{HEAD}nodes: n1\nssh: {{patience_s: .nan}}\n", ".nan is not a number"),
        (f"{HEAD}nodes: n1\nssh: {{patience_s: -.inf}}\n", "-.inf is not a number"),
        (f"{HEAD}nodes: n1\nssh: {{patience_s: 1.0e+999}}\n", "1.0e+999 is not a number"),
        (f"{HEAD}nodes: n1\nssh: {{patience_s: 1.0e+99}}\n", "patience_s"),
        (f"{HEAD}nodes: n1\nssh: {{connect_timeout_s: {TWENTY}}}\n", "is not a number"),
        (f"{HEAD}nodes: n1\nssh: {{connect_timeout_s: 99999999999}}\n", "connect_timeout_s"),
        (f"{HEAD}nodes: n1\nssh: {{port: {TWENTY}}}\n", "is not a number"),
        (f"{HEAD}nodes: n1\nssh: {{port: {'9' * 5000}}}\n", "is not a number"),
        (f"{HEAD}nodes: n1\nssh: {{port: 0x{'f' * 5000}}}\n", "is not a number"),
        (f"{HEAD}nodes: n1\nports: 20000-{TWENTY}\n", "ports"),
        (f"{HEAD}nodes: n1\nports: 20000-{'9' * 5000}\n", "ports"),
        (f"{HEAD}nodes: n1\ntransport: slurm\nslurm: {{wait_s: .inf}}\n", ".inf"),
        (f"{HEAD}nodes: n1\ntransport: slurm\nslurm: {{wait_s: 1.0e+99}}\n", "wait_s"),
        (f"{HEAD}nodes: n1\ntransport: slurm\nslurm: {{time_limit_min: 99999999999}}\n", "time_l"),
        (f"{HEAD}nodes: n1\nenvironment: {{A: {TWENTY}}}\n", "is not a number"),
        (f"{HEAD}nodes: n1\nenvironment: {{A: 2001-99-99}}\n", "not valid YAML"),
        (f"{HEAD}nodes: !!timestamp x\n", "does not fit its tag"),
        (f"{HEAD}nodes: !!bool x\n", "does not fit its tag"),
        (f"{HEAD}nodes: n[1-2000]\ngroups: {{"
         + ", ".join(f"g{i}: 'n[1-2000]'" for i in range(2000)) + "}\n", "members together"),
        (f"{HEAD}nodes: n1\nenvironment: {{A: !!python/object/apply:os.system [id]}}\n", "python"),
        ("x" * (5 << 20), "is larger than 4 MiB"),
    ],
)  # fmt: skip
def test_an_untrusted_hostfile_is_refused_in_time(tmp_path: Path, text: str, says: str) -> None:
    assert says in of_hostfile(tmp_path, text)


MANY = 100_000
MANY_VALUES = {
    "names": "nodes: [" + ",".join(f"n{i}" for i in range(MANY)) + "]\n",
    "numbers": "nodes:\n" + "- 1\n" * MANY,
    "nodes": "nodes:\n" + "".join(f"- {{name: '!{i}', x: 1}}\n" for i in range(MANY // 5)),
    "fewer names": "nodes: [" + ",".join(f"n{i}" for i in range(50_000)) + "]\n",
    "fewer numbers": "nodes:\n" + "- 1\n" * 50_000,
    "variables": "nodes: n1\nenvironment:\n" + "".join(f"  K{i}: 1\n" for i in range(MANY // 2)),
    "keys": "nodes: n1\n" + "".join(f"k{i}: 1\n" for i in range(MANY // 2)),
}


@pytest.mark.parametrize("body", MANY_VALUES.values(), ids=MANY_VALUES)
def test_a_hostfile_of_many_values_is_refused(tmp_path: Path, body: str) -> None:
    message = of_hostfile(tmp_path, HEAD + body)
    assert "more than 50000 values" in message or "more than 20000 entries" in message


def test_deviations_of_many_values_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "deviations.yaml"
    path.write_text("- {cause: x}\n" * (MANY // 3))
    assert "more than 50000 values" in refused(lambda: deviations.load(path))


def test_a_file_with_endless_mistakes_names_some_of_them(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(HEAD + "nodes:\n" + "- 1\n" * 19_000)
    begun = time.process_time()
    with pytest.raises(BadInput, match="50 complaints"):
        hostfile.load(path, schema_file=HOSTFILE_SCHEMA)
    assert time.process_time() - begun < MOST_S


def test_the_hostfile_of_a_large_site_is_read(tmp_path: Path) -> None:
    """Two thousand nodes, each with all settings of its own."""
    ssh = "{user: root, port: 22, key: ~/k, connect_timeout_s: 9, patience_s: 9, agent: true}"
    nodes = "".join(
        f"- {{name: n{i}, address: 10.1.{i // 250}.{i % 250}, data_address: n{i}-d, ssh: {ssh}}}\n"
        for i in range(2000)
    )
    path = tmp_path / "c.yaml"
    path.write_text(f"{HEAD}nodes:\n{nodes}")
    assert len(hostfile.load(path, schema_file=HOSTFILE_SCHEMA).nodes) == 2000


def test_without_libyaml_the_same_is_refused() -> None:
    for text in (f"nodes: {'[' * 2000}\n", MANY_VALUES["numbers"]):
        with pytest.raises(yaml.YAMLError, match=r"nested too deeply|more than 50000 values"):
            yaml.compose(text, Loader=strict_yaml.bounded(yaml.SafeLoader))


def test_a_list_of_too_many_nodes_is_refused(tmp_path: Path) -> None:
    """Reading it takes seconds; its names once took minutes."""
    path = tmp_path / "c.yaml"
    path.write_text(HEAD + "nodes:\n" + "- n[1-999]\n" * 20_001)
    with pytest.raises(BadInput, match="more than 20000 entries"):
        hostfile.load(path, schema_file=HOSTFILE_SCHEMA)


def test_many_complaints_take_no_time() -> None:
    """Eight thousand devices that a platform does not have took 15 seconds."""
    gathered, begun = Gathered(), time.process_time()
    for number in range(20_000):
        gathered.add(BadInput(f"no device {number}"))
        gathered.add(BadInput(f"no device {number}"))
    assert len(gathered.complaints) == 20_000
    assert time.process_time() - begun < MOST_S


def test_usual_aliases_are_read(tmp_path: Path) -> None:
    """They hold common settings of several nodes; a large file may have many of them."""
    nodes = "".join(f"  - {{name: n{i}, ssh: *how}}\n" for i in range(2, 400))
    path = tmp_path / "c.yaml"
    path.write_text(f"{HEAD}nodes:\n  - {{name: n1, ssh: &how {{user: root, port: 22}}}}\n{nodes}")
    assert len(hostfile.load(path, schema_file=HOSTFILE_SCHEMA).nodes) == 399


def test_a_large_cluster_is_read(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"{HEAD}nodes: 'n[00001-16384]'\n")
    assert len(hostfile.load(path, schema_file=HOSTFILE_SCHEMA).nodes) == 16384


@pytest.mark.parametrize(
    "text",
    [f"n1:{TWENTY}\n", f"n1:{'9' * 5000}\n", "n1:70000\n", "n[1-99999999]\n", "\0" * 100],
)  # fmt: skip
def test_an_untrusted_plain_list_is_refused_in_time(tmp_path: Path, text: str) -> None:
    of_hostfile(tmp_path, text, "hosts")


def test_an_endless_file_is_refused() -> None:
    line = refused(
        lambda: hostfile.load(Path("/dev/zero"), schema_file=HOSTFILE_SCHEMA, platform="h200")
    )
    assert "is no plain file" in line


# --- limits ---


def of_limits(tmp_path: Path, change: Callable[[dict], object]) -> str:
    document = json.loads((ROOT / "thresholds" / "connectx4-homelab.json").read_text())
    change(document)
    return of_text(tmp_path, json.dumps(document))


def of_text(tmp_path: Path, text: str) -> str:
    path = tmp_path / "p.json"
    return refused(lambda: thresholds.load_file(path, text, ROOT / "thresholds"))


def diamonds(document: dict) -> None:
    """Each template extends the next one twice: 2**60 merges, written out."""
    made = {f"t{i}": {"extends": [f"t{i + 1}", f"t{i + 1}"]} for i in range(60)}
    document["templates"] = {"measurements": {**made, "t60": {"rung": 1}}}
    document["measurements"] = {"own": {"extends": "t0"}}


def first_measurement(document: dict) -> dict:
    return next(iter(document["measurements"].values()))


@pytest.mark.parametrize(
    "change",
    [
        diamonds,
        lambda d: d.update(templates={"measurements": {"a": {"extends": "a"}}},
                           measurements={"own": {"extends": "a"}}),
        lambda d: d["hardware"].update(nics={"mlx5_[0-99999999]": {}}),
        lambda d: d["hardware"].update(nics={f"mlx5_[0-{TWENTY}]": {}}),
        lambda d: d.update(levels={"smoke": {"scheme": "tournament", "rounds": int(TWENTY)}}),
        lambda d: first_measurement(d).update(time_limit_s=1e300),
        lambda d: first_measurement(d).update(time_limit_s=int(TWENTY)),
        lambda d: first_measurement(d).update(
            levels={"smoke,nightly,signoff": {"sizes": ["8MiB"], "repeats": int(TWENTY)}}),
        lambda d: first_measurement(d).update(
            levels={"smoke,nightly,signoff": {"sizes": [f"{TWENTY}B"]}}),
        lambda d: first_measurement(d).update(
            levels={"smoke,nightly,signoff": {"sizes": ["999999GiB"]}}),
        lambda d: d["hardware"].update(gpus={"count": int(TWENTY)}),
    ],
)  # fmt: skip
def test_untrusted_limits_are_refused_in_time(
    tmp_path: Path, change: Callable[[dict], object]
) -> None:
    of_limits(tmp_path, change)


@pytest.mark.parametrize(
    "text",
    ['{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}', f'{{"a": {"9" * 5000}}}', "[" * 100_000,
     '{"a":' * 400 + "1" + "}" * 400, '{"a": 1, "a": 2}', "\0"],
)  # fmt: skip
def test_text_that_is_no_platform_file_is_refused(tmp_path: Path, text: str) -> None:
    of_text(tmp_path, text)


# --- deviations ---


@pytest.mark.parametrize("subject", ENDLESS.values(), ids=ENDLESS)
def test_a_deviation_of_an_endless_set_is_refused(tmp_path: Path, subject: str) -> None:
    one = {"subject": subject, "cause": "c", "reason": "r", "who": "w", "until": "2027-01-31"}
    of_deviations(tmp_path, json.dumps([one]))


@pytest.mark.parametrize(
    "text",
    ["&a [*a]", f"{BOMB}", "- &a {subject: *a}", "[.inf]", "[.nan]", f"[{TWENTY}]", "[" * 2000,
     "- {subject: mx1, cause: c, reason: r, who: w, until: .inf}",
     "- {subject: mx1, cause: c, reason: r, who: w, until: 99999-01-01}"],
)  # fmt: skip
def test_untrusted_deviations_are_refused_in_time(tmp_path: Path, text: str) -> None:
    of_deviations(tmp_path, text)


def of_deviations(tmp_path: Path, text: str) -> None:
    path = tmp_path / "accepted.yaml"
    path.write_text(text)
    assert "accepted.yaml" in refused(lambda: deviations.load(path))


# --- options ---


@pytest.mark.parametrize(
    "text",
    [f"1/{TWENTY}", f"{TWENTY}/{TWENTY}", f"1/{'9' * 5000}", "1/99999", "0/1", "-1/2", ".inf/2",
     "1/nan", "\u0661/\u0662", "1/2/3", "/", ""],
)  # fmt: skip
def test_an_invalid_shard_is_refused(text: str) -> None:
    cluster = Cluster("c", "h200", "ssh", (Node("n1", "n1", "n1"),), "c.yaml")
    assert "shard" in refused(lambda: part.shard(text, cluster))
