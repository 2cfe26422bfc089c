"""All that reads a foreign text, each with what it may raise and the texts to begin with.

The parsers of tools and those of packages are found, not listed: a new one is a target by itself.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from railgauge import tools
from railgauge.bundle import signers, signing, statement
from railgauge.config import deviations, hostfile, strict_yaml, thresholds
from railgauge.core import nodeset, units
from railgauge.core.errors import BadBundle, BadInput, NotVerified
from railgauge.facts import NodeFacts, control_host, counters, identity, parse, probe, steal
from railgauge.launchers import beside_gpu, failures
from railgauge.leases import holder
from railgauge.report.triage import reading as triage
from railgauge.run import untrusted
from railgauge.run.case_files import case_file
from railgauge.run.invocation import Invocation, write
from railgauge.run.resume import Earlier
from railgauge.run.store import Store, kept_of
from railgauge.stacks import stack, vendors
from railgauge.stacks.sampling import TelemetryUnread, parse_samples
from railgauge.subnet import declared
from railgauge.transport import known_hosts, relay, ssh_config
from railgauge.transport.capture import Capture
from testing.core_values import HOSTFILE_SCHEMA, case
from testing.corpus_owners import OF_FACTS, OF_TOOLS
from testing.fuzz_checks import Read, Target, numbers
from testing.places import ROOT, SHARED

NONCE = "ab12"
_PACKAGES = ("facts", "stacks", "subnet", "transport", "judging")
_BAD_BUNDLE = (BadBundle, NotVerified)
_BIGGEST = 2**63
_STARTED = Invocation(1, "h", "", "", None, "smoke", None, None, None, (), False, False, "", "")


@cache
def targets() -> dict[str, Target]:
    return {one.name: one for one in (*_of_tools(), *_found(), *_parsers(), *_loaders())}


def _of_tools() -> Iterator[Target]:
    for name in tools.NAMES:
        owned = (begin for begin, owner in OF_TOOLS.items() if owner == name)
        yield Target(f"tool.{name}", tools.tool(name).parse, more=_shared(*owned), is_whole=True)


def _found() -> Iterator[Target]:
    """The public functions ``parse_*`` of one text."""
    for package in _PACKAGES:
        above = importlib.import_module(f"railgauge.{package}")
        for module in pkgutil.walk_packages(above.__path__, f"{above.__name__}."):
            for name, one in vars(importlib.import_module(module.name)).items():
                if name.startswith("parse_") and _is_of_one_text(one, module.name):
                    owned = (begin for begin, reader in OF_FACTS.items() if reader is one)
                    named = f"{module.name.removeprefix('railgauge.')}.{name}"
                    yield Target(named, one, more=_shared(*owned))


def _is_of_one_text(one: object, module: str) -> bool:
    if not inspect.isfunction(one) or one.__module__ != module:
        return False
    needed = [p for p in inspect.signature(one).parameters.values() if p.default is p.empty]
    return [p.annotation for p in needed] == ["str"]


def _parsers() -> Iterator[Target]:
    for vendor in vendors():
        yield Target(f"probe.{vendor}", partial(_facts, vendor=vendor), is_whole=True)
        yield Target(
            f"samples.{vendor}", partial(_sampled, vendor=vendor), (TelemetryUnread,), is_whole=True
        )
        reading = partial(counters.parse_reading, stack=stack(vendor))
        yield Target(f"counters.{vendor}", reading, is_whole=True)
    yield Target("probe.sections", partial(probe.split_sections, nonce=NONCE))
    yield Target("identity", partial(identity.parse_identity, "n1"))
    yield Target("control-host", partial(control_host.parse, lasted_s=2.0))
    yield Target("steal", lambda text: steal.parse(*_halves(text)))
    yield Target("launch-failures", failures.find_failures)
    yield Target("beside-gpu", beside_gpu.read)
    yield Target("lease-answer", holder.answer)
    yield Target("daemon-request", relay.request)
    yield Target("markers", _streamed)
    yield Target("ssh-config", _ssh_config, (BadInput,))
    yield Target("known-hosts", partial(_of_bytes, known_hosts.parsed), (ValueError,))
    yield Target("node-set", partial(nodeset.expanded, most=20_000), (BadInput,))
    yield Target("size", units.parse_size, (BadInput,))


def _loaders() -> Iterator[Target]:
    bad = (BadInput,)
    yield _file("hosts.yaml", _hosts, *sorted(ROOT.glob("hostfiles/*.yaml")))
    yield _file("hosts", _hosts)
    yield _file("platform.json", _platform, *sorted(ROOT.glob("thresholds/*.json")))
    yield _file("deviations.yaml", deviations.load)
    yield _file("fabric.topo", declared.read_topology, *_shared("corpus/ib-tools/007-"))
    yield _file(case_file(case("n1")), _stored)
    yield _file("run/invocation.json", lambda path: Earlier(path.parent).invocation)
    for name in ("environment.json", "run.json", "prepared.json", "reboots.jsonl", "cluster.json"):
        yield _file(f"earlier/{name}", _carried_on)
    yield _file("run/verdict.json", triage.read)
    yield Target("cluster", _cluster, (*bad, ValueError, RecursionError))
    yield Target("yaml", strict_yaml.loads, (strict_yaml.BadYaml,))
    yield Target("transcripts", _kept, (*bad, ValueError, RecursionError))
    yield Target("bundle.json", partial(_of_bytes, partial(untrusted.loads, name="x")), _BAD_BUNDLE)
    yield Target("bundle.statement", partial(_of_bytes, statement.read), _BAD_BUNDLE)
    yield Target("bundle.keys", partial(_of_bytes, lambda data: [*signing.public_keys(data)]))
    given = partial(_of_bytes, lambda data: [*signers.signers(data, 1.8e9)])
    yield Target("bundle.signers", given, bad)


# --- readers ---


def _file(name: str, load: Callable[[Path], Any], *more: Path) -> Target:
    return Target(f"file.{Path(name).name}", partial(_loaded, load, name), (BadInput,), more)


def _loaded(load: Callable[[Path], Any], name: str, text: str) -> Any:
    path = Path(_folder().name, name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return load(path)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="railgauge-fuzz-")


def _hosts(path: Path) -> Any:
    platform = None if path.suffix else "h200"
    return hostfile.load(path, schema_file=HOSTFILE_SCHEMA, platform=platform)


def _platform(path: Path) -> Any:
    found = thresholds.load_file(path, path.read_text(encoding="utf-8"), ROOT / "thresholds")
    list(thresholds.uncovered(found))
    assert all(abs(n) < _BIGGEST for n in numbers(found)), "a number that no machine counts to"
    return found


def _carried_on(path: Path) -> Any:
    """All that a run which carries on reads of this file of the earlier one."""
    write(Store(path.parent), _STARTED)
    facts = {"n1": NodeFacts("n1")}
    try:
        earlier = Earlier(path.parent)
        for found in (earlier.kernel_marks(), earlier.surveys(), earlier.clusters()):
            list(found)
        list(earlier.reboots(facts))
        list(earlier.facts_changed(facts))
        earlier.refuse_unfinished()
        earlier.refuse_other_items([])
    finally:
        path.unlink()  # the next target reads a file of another name


def _stored(path: Path) -> Any:
    store = Store(path.parents[1])
    list(store.lines(str(path.relative_to(path.parents[1]))))  # plain values, whose readers check
    return store.load(case("n1"))


def _ssh_config(text: str) -> Any:
    return ssh_config.parsed(text.replace("\0", ""), "n1")  # no program's lines hold a NUL


def _cluster(text: str) -> Any:
    return hostfile.cluster_from_json(json.loads(text))


def _kept(text: str) -> Any:
    return kept_of(json.loads(text))


def _sampled(text: str, vendor: str) -> Any:
    return [parse_samples(text, sampler) for sampler in stack(vendor).samplers]


def _facts(text: str, vendor: str) -> Any:
    return parse.parse_probe("n1", text, NONCE, stack(vendor))


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _of_bytes(read: Read, text: str) -> Any:
    return read(text.encode("utf-8", "surrogatepass"))


def _captured(text: str, sizes: tuple[int, ...] = (1 << 20,)) -> Capture:
    """The output of a command that arrived in chunks of these sizes, again and again."""
    kept, data, at, turn = Capture(NONCE), text.encode("utf-8", "surrogatepass"), 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        kept.take_stdout(data[at : at + size])
        kept.take_stderr(data[at : at + size])
        at, turn = at + size, turn + 1
    kept._end(None)
    return kept


def _streamed(text: str) -> None:
    """However a stream is cut into chunks, it says the same."""
    whole, parts = _captured(text), _captured(text, (1, 7, 30, 2))
    for what in ("pid", "ready", "in_use", "setup_at", "refused", "exit_code"):
        assert getattr(whole, what) == getattr(parts, what), what
    assert whole.text() == parts.text()


def _shared(*begins: str) -> tuple[Path, ...]:
    found = (path for begin in begins for path in SHARED.glob(f"{begin}*"))
    return tuple(sorted(path for path in found if path.is_file()))
