"""A stand-in for a container engine on the PATH of a node: it really enters namespaces.

As ``docker`` it leaves the container to a process of its own session, as Docker's daemon does, so
that killing the client ends nothing. As ``apptainer`` and ``enroot`` it becomes the container.
"""

from __future__ import annotations

import sys
from pathlib import Path

_DOCKER = """#!{python}
import json, os, signal, subprocess, sys, time
from pathlib import Path
state, words = Path({state!r}), sys.argv[1:]
ENTER = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]

def boxes(key, value):
    for file in state.glob("*.json"):
        data = json.loads(file.read_text())
        if value in data[key]:
            yield data, file

def remove(name):
    for data, file in boxes("names", name):
        try:
            os.kill(data["pid"], signal.SIGKILL)
        except ProcessLookupError:
            pass
        file.unlink(missing_ok=True)

if words[0] == "rm":
    for name in words[1:]:
        remove(name)
elif words[0] == "ps":
    label = words[-1].removeprefix("label=")
    for data, _ in boxes("labels", label):
        print(data["names"][0])
else:
    options, rest = [], words[1:]
    while rest[0].startswith("-"):
        options.append(rest.pop(0))
    (state / "asked").write_text(json.dumps(words))
    given = lambda key: [o.partition("=")[2] for o in options if o.startswith(key + "=")]
    (name,), (entry,) = given("--name"), given("--entrypoint")
    argv = [*ENTER, "env", "IMAGE=" + rest[0], entry, *rest[1:]]
    file = state / (name + ".json")
    box = subprocess.Popen(argv, start_new_session=True, stdin=subprocess.DEVNULL)
    data = {{"names": [name], "labels": given("--label"), "pid": box.pid}}
    file.write_text(json.dumps(data))
    if os.fork() == 0:  # the daemon: it outlives the client, and removes the container at its end
        os.setsid()
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        while Path("/proc", str(box.pid), "stat").exists() and file.exists():
            if Path("/proc", str(box.pid), "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                break
            time.sleep(0.05)
        file.unlink(missing_ok=True)
        os._exit(0)
    signal.signal(signal.SIGTERM, lambda *_: None)
    code = box.wait()
    file.unlink(missing_ok=True)
    sys.exit(128 - code if code < 0 else code)
"""

_APPTAINER = """#!/bin/sh
echo "$*" >{state}/asked
[ "$1" = exec ] || exit 2
shift
while case $1 in -*) ;; *) false ;; esac; do shift; done
IMAGE=$1; export IMAGE
shift
for name in $(env | grep -o '^APPTAINERENV_[A-Za-z0-9_]*'); do
  eval "export ${{name#APPTAINERENV_}}=\\"\\$$name\\""
done
exec unshare --user --map-root-user --mount --uts "$@"
"""

_ENROOT = _APPTAINER.replace("exec ] ||", "start ] ||")


def install(name: str, folder: Path) -> Path:
    """Write the engine ``name`` into ``folder``; return the folder of its state."""
    state = folder / "state"
    state.mkdir()
    text = {"docker": _DOCKER, "apptainer": _APPTAINER, "enroot": _ENROOT}[name]
    program = folder / name
    program.write_text(text.format(python=sys.executable, state=str(state)))
    program.chmod(0o755)
    return state
