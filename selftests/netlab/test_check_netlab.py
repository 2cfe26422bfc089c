"""``railgauge check`` on real nodes: names that only the control host knows, and a firewall."""

from __future__ import annotations

import sys

from testing.netlab_bench import visit
from testing.places import ROOT

SCRIPT = f"""
CHECK = [{sys.executable!r}, "-c", "import sys; from railgauge.cli import main; sys.exit(main())",
         "check", "--root", {str(ROOT)!r}, "--json"]

def check(name, *options):
    done = subprocess.run([*CHECK, str(FOLDER / name), *options], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    return {{"code": done.returncode, "err": done.stderr, **json.loads(done.stdout or "{{}}")}}

own = json.loads(HOSTFILE.read_text())
config = FOLDER / "ssh_config"
config.write_text("".join(f"Host gpu{{n}}\\n  HostName 10.77.0.{{n}}\\n" for n in (1, 2, 3)))
hosts = dict(own, nodes="gpu[1-3]", ssh=dict(own["ssh"], config=str(config)))
del hosts["ssh"]["host_keys"], hosts["platform"]
(FOLDER / "mine.yaml").write_text(json.dumps(hosts))
FOUND["first"] = check("mine.yaml", "--write", str(FOLDER / "new.yaml"))
FOUND["second"] = check("new.yaml")
on("tcp03", "nft add table inet f;"
            " nft 'add chain inet f i {{ type filter hook input priority 0; }}';"
            " nft add rule inet f i tcp dport 18000-32767 reject with tcp reset")
FOUND["shut"] = check("new.yaml")
FOUND["left"] = on("tcp02", "ls -A /run/lock; grep -c ' 0A ' /proc/net/tcp")["out"]
"""


def cells(found: dict, check: str) -> dict[str, tuple[str, str]]:
    return {
        node: (row[check]["state"], row[check]["found"]) for node, row in found["nodes"].items()
    }


def test_names_of_the_control_host_get_addresses_and_a_firewall_is_seen(tmp_path):
    found = visit(SCRIPT, tmp_path, "--nodes", "3")
    first, second, shut = found["first"], found["second"], found["shut"]
    assert first["code"] == 1, first["err"]
    assert {state for state, _ in cells(first, "name").values()} == {"mend"}
    assert "gpu1 is not resolved on gpu[2-3]" in cells(first, "name")["gpu1"][1]
    assert first["write"]["nodes"] == [
        {"name": f"gpu{n}", "data_address": f"10.77.0.{n}"} for n in (1, 2, 3)
    ]
    assert (second["code"], second["ready"]) == (0, True), second
    assert cells(second, "ports")["gpu3"] == ("ok", "TCP from other nodes arrives")
    # A reset of a firewall looks like a port on which nobody listens, and somebody did.
    assert cells(shut, "ports")["gpu3"][0] == "mend"
    assert "Connection refused" in cells(shut, "ports")["gpu3"][1]
    assert cells(shut, "ports")["gpu1"][0] == "ok"
    assert found["left"] == "1\n"  # its sshd listens
