"""iperf3: its JSON, text that is not its JSON, and the two commands."""

import copy
import json
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing.tool_setting import kinds, setting, values

from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Pairing
from railgauge.tools import run_identity
from railgauge.tools.iperf3 import commands, output_checks, parse
from railgauge.tools.output_checks import SideOutput, ToolRequest

RATE = 94_123_456_789.5


def total(rate=RATE, seconds=10.0, **more):
    return {"start": 0, "end": seconds, "seconds": seconds, "bytes": rate * seconds / 8,
            "bits_per_second": rate, **more}  # fmt: skip


SOUND = {
    "start": {
        "version": "iperf 3.16",
        "test_start": {
            "protocol": "TCP", "num_streams": 2, "blksize": 131072, "duration": 10, "reverse": 0,
        },
    },
    "intervals": [
        {"sum": total(9e10, 1.0, omitted=True)},
        {"sum": total(9.3e10, 1.0, omitted=False)},
        {"sum": total(9.5e10, 1.0, omitted=False)},
    ],
    "end": {
        "streams": [{"sender": {}}, {"sender": {}}],
        "sum_sent": total(retransmits=17),
        "sum_received": total(94e9),
        "cpu_utilization_percent": {"host_total": 31.5, "remote_total": 40.25},
        "sender_tcp_congestion": "cubic",
    },
}  # fmt: skip


def changed(*path, to=None):
    """The valid document as text, with the value at ``path`` replaced, or removed for ``None``."""
    document = copy.deepcopy(SOUND)
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    inner.pop(path[-1])
    if to is not None:
        inner[path[-1]] = to
    return json.dumps(document)


def test_a_sound_run_is_read():
    parsed = parse(json.dumps(SOUND, indent="\t"))
    assert parsed.problems == ()
    assert parsed.tool_version == "3.16"
    assert [(s.metric, s.value, s.unit, s.iteration) for s in parsed.samples] == [
        ("bw_sent", RATE / 1e9, "Gb/s", 0),
        ("bw_received", 94.0, "Gb/s", 0),
        ("retransmits", 17, "count", 0),
        ("bw_interval", 93.0, "Gb/s", 0),
        ("bw_interval", 95.0, "Gb/s", 1),
    ]
    assert {s.size_bytes for s in parsed.samples} == {131072}
    assert parsed.summary == {
        "protocol": "TCP",
        "streams": 2,
        "reverse": False,
        "duration_s": 10.0,
        "write_bytes": 131072,
        "seconds": 10.0,
        "congestion": "cubic",
        "cpu_host_percent": 31.5,
        "cpu_remote_percent": 40.25,
    }


def test_both_directions_of_a_run_are_read():
    end = {**SOUND["end"], "sum_sent_bidir_reverse": total(5e10, retransmits=0)}
    found = values(parse(json.dumps({**SOUND, "intervals": [], "end": end})))
    assert found["bw_sent_reverse", None] == 50.0
    assert found["retransmits_reverse", None] == 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "no-output"),
        ("words", "no-table"),
        ("{}", "no-table"),
        ('{"end": {}, "start": {}}', "truncated"),
        (changed("end"), "truncated"),
        (changed("end", "sum_sent", "bits_per_second"), "metric-missing"),
        (changed("end", "sum_sent", "bits_per_second", to=0), "zero-value"),
        (changed("end", "sum_sent", "bits_per_second", to=-1), "not-a-number"),
        (changed("end", "sum_sent", "bits_per_second", to=float("nan")), "not-a-number"),
        (changed("end", "sum_sent", "bits_per_second", to="fast"), "metric-missing"),
        (changed("end", "sum_sent", "bytes", to=1000), "inconsistent"),
        (changed("end", "sum_sent", to=total(seconds=4.0)), "truncated"),
        (changed("end", "streams", to=[{}]), "inconsistent"),
        (json.dumps(SOUND) + json.dumps(SOUND), "several-tables"),
        (json.dumps({**SOUND, "error": "control socket has closed unexpectedly"}), "peer-gone"),
        ('{"error": "unable to connect to server: Connection refused"}', "connection-refused"),
        ('{"error": "the server is busy running a test. try again later"}', "server-busy"),
        ('{"end": {}, "error": "something else"}', "tool-failed"),
        ("iperf3: error - unable to start listener: Address already in use", "port-in-use"),
        ("bash: iperf3: command not found", "tool-missing"),
        ("[ ID] Interval\n[  5] 0.00-10.00 sec 10 GBytes 9.4 Gbits/sec sender\n", "truncated"),
        ("Server listening on 5201\n[ ID] Interval\n", "no-table"),
        ("{ nonsense }", "unparsable"),
    ],
)  # fmt: skip
def test_broken_output_is_an_error(text, kind):
    assert kind in kinds(parse(text))


def test_json_that_is_cut_anywhere_gives_no_value():
    text = json.dumps(SOUND)
    for end in range(len(text)):
        parsed = parse(text[:end])
        assert (parsed.samples, bool(parsed.errors)) == ((), True)
    assert kinds(parse(text[:-40])) == ["truncated"]
    assert kinds(parse(text[: text.index("}") + 1])) == ["truncated"]


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["end", "start", "sum_sent", "bits_per_second", "intervals", "sum"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_read_without_an_exception(content):
    parse(json.dumps({"end": content, "start": content, "intervals": content}))


@pytest.mark.parametrize("piece", ["x", "{", "[", '{"a":', "iperf3: error - ", "iperf3", " ", "\n"])
def test_a_quarter_of_a_megabyte_of_anything_is_read_in_time(piece):
    """At this limit, time quadratic in the input would be 40 s for a megabyte."""
    started = time.process_time()
    parse(piece * (250_000 // len(piece)))
    assert time.process_time() - started < 2.5


PAIR = ("n1", "n2")


def test_server_first_then_client():
    server, client = commands(setting("iperf3", nodes=PAIR, environment={"A": "b"}), 5202)
    assert (server.node, server.listens_on) == ("n2", 5202)
    assert server.argv == ("iperf3", "-s", "-1", "-p", "5202")
    assert (client.node, client.listens_on) == ("n1", None)
    assert client.argv == ("iperf3", "-c", "10.0.0.2", "-p", "5202", "-J", "-t", "10", "-P", "1")
    assert server.environment == client.environment == {"A": "b"}


def test_options_become_flags():
    options = {"duration_s": 30, "streams": 8, "reverse": True, "omit_s": 2, "bind_device": True}
    given = setting("iperf3", nodes=PAIR, options=options, sizes=(2**17,), pairing=Pairing("eth1"))
    server, client = commands(given, 5202)
    assert server.argv[-2:] == ("--bind-dev", "eth1")
    flags = ["--bind-dev", "eth1", "-t", "30", "-P", "8", "-O", "2", "-l", "131072", "-R"]
    assert list(client.argv[6:]) == flags


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": ("n1",)},
        {"options": {"streams": 129}},
        {"options": {"streams": 0}},
        {"options": {"duration": 3}},
        {"options": {"bind_device": True}},
        {"sizes": (1, 2)},
    ],
)
def test_cases_that_cannot_be_run_are_refused(wrong):
    with pytest.raises(BadInput):
        commands(setting("iperf3", **{"nodes": PAIR, **wrong}), 5202)


@pytest.mark.parametrize("port", [0, 65536])
def test_invalid_ports_are_refused(port):
    with pytest.raises(BadInput):
        commands(setting("iperf3", nodes=PAIR), port)


# --- where it connected to, and what identifies the run ---

CONNECTED = {
    "connected": [
        {"socket": 5, "local_host": "10.0.0.1", "local_port": 41852,
         "remote_host": "10.0.0.2", "remote_port": 20111},
    ],
    "connecting_to": {"host": "n2-data", "port": 20111},
    "timestamp": {"timesecs": 1760000000},
}  # fmt: skip
ARGV = ("iperf3", "-c", "n2-data", "-p", "20111", "-J", "-t", "10", "-P", "2")


def connected(**more):
    return json.dumps(SOUND | {"start": SOUND["start"] | CONNECTED | more})


def denied(text, argv=ARGV, *, is_planned=True, lasted_s=11.0):
    measurement = SimpleNamespace(options={"streams": 2})
    request = ToolRequest(Case("m", ("n1", "n2"), None, ()), measurement, None, {}, is_planned)
    side = SideOutput("n1", "client", parse(text), argv, lasted_s)
    return [one.item for one in output_checks(request, (side,)) if not one.agrees]


def test_the_server_and_the_port_are_those_of_the_command():
    assert denied(connected()) == []
    assert denied(json.dumps(SOUND)) == []  # not shown
    other = {"connecting_to": {"host": "n3-data", "port": 20111}}
    assert denied(connected(**other)) == ["server"]
    assert denied(connected(), (*ARGV[:4], "20112")) == ["TCP port"]
    assert denied(connected(**other), is_planned=False) == []


def test_it_sends_as_long_as_its_command_ran():
    assert denied(connected(), lasted_s=0.3) == ["time"]
    assert denied(connected(), lasted_s=None) == []


def test_a_run_is_known_by_the_ends_of_its_first_connection_and_its_second():
    shown = run_identity("iperf3", connected())
    assert shown == "from 10.0.0.1 port 41852 to 10.0.0.2 port 20111 at 1760000000"
    assert run_identity("iperf3", connected(timestamp={"timesecs": 1760000001})) != shown
    for text in (json.dumps(SOUND), connected(connected=[]), connected(timestamp={}), "", "{"):
        assert run_identity("iperf3", text) == ""
