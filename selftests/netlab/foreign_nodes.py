"""Gives the nodes of ``railgauge tcp-lab`` the manners of a foreign site, then becomes a command.

``python foreign_nodes.py COMMAND…`` runs beside four nodes with OpenSSH. Afterwards the newcomer
knows them as gpu01 to gpu04, and only by ``~/.ssh/config``:

- ``ana`` logs in, on port 2222, and becomes root by ``sudo -n``;
- the login shells are bash, zsh and fish, whose start-up files print, and sh, which prints nothing;
- gpu03 and gpu04 are reached through gpu01 alone;
- the network device is in a PCI slot and knows its rate; gpu04 calls it ens5;
- ``iperf3`` is the site's own, for who sources ``/etc/profile.d/burnin.sh``, and no other is there.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from testing.noisy_shells import START_FILES, installed, start_file
from testing.standing_sshd import sshd

from railgauge_lab.netlab.settings import LINE_RATE_MBIT

NODES = {"gpu01": "bash", "gpu02": "zsh", "gpu03": "fish", "gpu04": "sh"}
JUMP, BEHIND, RENAMED = "gpu01", ("gpu03", "gpu04"), "gpu04"
USER, UID, PORT = "ana", 1500, 2222
_KEX = "KexAlgorithms curve25519-sha256,curve25519-sha256@libssh.org"
_SITE = "/run/site"  # each node has a /run of its own

# Root's shell on a node. Its mounts are those of the node alone.
_NODE = """\
set -e
mkdir -p {site}/home {site}/none {site}/profile
cp -r {given}/. {site}
cp {site}/burnin.sh {site}/profile
chown -R {uid} {site}/home
echo '{user}:*:{uid}:{uid}::{site}/home:{shell}' >>/etc/passwd
mount --bind {site}/sudoers /etc/sudoers
mount --bind {site}/none /etc/sudoers.d
mount --bind {site}/profile /etc/profile.d
for hidden in $(which -a iperf3); do mount --bind {site}/sudoers "$hidden"; done
{opened}
{renamed}
mount -t tmpfs tmpfs /sys/class/net
for name in lo {nic}; do
  mkdir /sys/class/net/$name
  ln -s /sys/devices/virtual/net/$name/* /sys/class/net/$name
done
cd /sys/class/net/{nic}
mkdir device
printf 'DRIVER=ice\\nPCI_SLOT_NAME=0000:3b:00.0\\n' >device/uevent
echo 0 >device/numa_node
rm speed
echo {rate} >speed
{sshd} -f {site}/sshd_config
"""
_RENAMED = """\
ip -b - <<END
link set eth0 down
link set eth0 name ens5
link set ens5 up
END"""
_SUDOERS = f"Defaults env_reset\nroot ALL=(ALL) ALL\n{USER} ALL=(root) NOPASSWD: ALL\n"
_SSHD = f"""\
Port {PORT}
HostKey {_SITE}/host_key
HostCertificate {_SITE}/host_key-cert.pub
AuthorizedKeysFile {_SITE}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
AllowUsers {USER}
{_KEX}
"""
_CONFIG = f"""\
Host {" ".join(BEHIND)}
  ProxyJump {JUMP}
Host gpu*
  User {USER}
  Port {PORT}
  {_KEX}
"""


def main(command: list[str]) -> None:
    lab = Path(os.environ["RAILGAUGE_HOSTFILE"]).parent
    lab.chmod(0o755)  # or no other user would get to what the nodes run
    _write_program(lab)
    home = lab / "newcomer"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    _key(home / ".ssh" / "id_ed25519")
    _key(lab / "authority")
    known = [_furnish(lab, home, node, at) for node, at in _addresses().items()]
    (home / ".ssh" / "known_hosts").write_text("".join(known))
    (home / ".ssh" / "authority").write_text(
        f"@cert-authority 10.77.* {(lab / 'authority.pub').read_text()}"
    )
    hosts = "".join(f"Host {node}\n  HostName {at}\n" for node, at in _addresses().items())
    (home / ".ssh" / "config").write_text(hosts + _CONFIG)
    _be_at_home(home)
    for node in BEHIND:
        _call("ip", "route", "add", "unreachable", _addresses()[node])
    os.environ["HOME"] = str(home)
    os.execvp(command[0], command)


def _write_program(lab: Path) -> None:
    folder = lab / "burnin"
    folder.mkdir()
    text = Path(__file__).with_name("site_iperf.py").read_text()
    (folder / "iperf3").write_text(f"#!{sys.executable}\n{text}")
    (folder / "iperf3").chmod(0o755)


def _addresses() -> dict[str, str]:
    return {node: f"10.77.0.{number}" for number, node in enumerate(NODES, 1)}


def _furnish(lab: Path, home: Path, node: str, address: str) -> str:
    """Make one node foreign; return its line of known_hosts."""
    given = lab / f"given-{node}"
    (given / "home").mkdir(parents=True)
    _key(given / "host_key")
    sign = ("ssh-keygen", "-q", "-s", str(lab / "authority"), "-h", "-I", node, "-n", address)
    _call(*sign, str(given / "host_key.pub"))
    (given / "authorized_keys").write_text((home / ".ssh" / "id_ed25519.pub").read_text())
    (given / "sudoers").write_text(_SUDOERS)
    (given / "sudoers").chmod(0o440)
    (given / "sshd_config").write_text(_SSHD)
    (given / "burnin.sh").write_text(f"export PATH={lab}/burnin:$PATH\n")
    shell = NODES[node]
    if shell in START_FILES:
        start = given / "home" / START_FILES[shell]
        start.parent.mkdir(parents=True, exist_ok=True)
        text, banner = start_file(_SITE)
        start.write_text(text)
        (given / "banner").write_text(banner)
    nic, renamed = ("ens5", _RENAMED) if node == RENAMED else ("eth0", "")
    values = {"site": _SITE, "given": given, "uid": UID, "user": USER, "sshd": sshd()}
    values |= {"nic": nic, "renamed": renamed, "rate": f"{LINE_RATE_MBIT:.0f}"}
    script = _NODE.format(shell=installed(shell), opened=_opened(_needed()), **values)
    _as_root(lab, address, script)
    public = (given / "host_key.pub").read_text()
    return f"[{address}]:{PORT} {public}"


def _needed() -> list[Path]:
    """What programs of the nodes need of this project."""
    return [Path(sys.base_prefix), Path(sys.prefix), Path(__file__).parents[2] / "src"]


def _opened(paths: Iterable[Path]) -> str:
    """The lines that let every user of a node get to these paths, where only root may."""
    closed: dict[Path, list[Path]] = {}
    for path in paths:
        above = [one for one in reversed(path.parents) if not one.stat().st_mode & 0o001]
        if above:
            closed.setdefault(above[0], []).append(path)
    lines = []
    for number, (outer, inner) in enumerate(closed.items()):
        kept = [f"/run/kept/{number}-{at}" for at in range(len(inner))]
        pairs = [
            tuple(map(shlex.quote, (str(path), at))) for path, at in zip(inner, kept, strict=True)
        ]
        lines += [f"mkdir -p {at}; mount --rbind {path} {at}" for path, at in pairs]
        lines += [f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(outer))}"]
        lines += [f"mkdir -p {path}; mount --rbind {at} {path}" for path, at in pairs]
    return "\n".join(lines)


def _be_at_home(home: Path) -> None:
    """Make it the home of this user: ssh asks the list of users, not HOME."""
    users = Path("/etc/passwd").read_text().splitlines()
    others = [line for line in users if not line.startswith("root:")]
    (home / "passwd").write_text("\n".join([f"root:x:0:0:root:{home}:/bin/sh", *others, ""]))
    _call("mount", "--bind", str(home / "passwd"), "/etc/passwd")


def _key(path: Path) -> None:
    _call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path))


def _as_root(lab: Path, address: str, script: str) -> None:
    known = f"UserKnownHostsFile={lab}/known_hosts"
    login = [
        "ssh",
        "-F",
        "/dev/null",
        "-i",
        f"{lab}/id_ed25519",
        "-o",
        "BatchMode=yes",
        "-o",
        known,
    ]
    _call(*login, "-o", _KEX.replace(" ", "="), f"root@{address}", "sh -s", given=script)


def _call(*argv: str, given: str = "") -> None:
    done = subprocess.run(argv, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(
            f"foreign_nodes: {shlex.join(argv[:8])} ended with {done.returncode}: {done.stderr}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
