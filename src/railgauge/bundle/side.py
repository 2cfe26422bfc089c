"""Reads one side of ``railgauge compare``: the folder of a finished run, or a bundle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from railgauge.bundle import archive, check
from railgauge.bundle.archive import BundledRun
from railgauge.bundle.redact import HOSTS
from railgauge.config.thresholds import Measurement, Platform
from railgauge.core.codec import to_plain
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.core.run_files import CLUSTER, MANIFEST, MEASUREMENTS, PLATFORM, VERDICT
from railgauge.planning.soak import is_of_soak
from railgauge.run import untrusted
from railgauge.run.run_folder import RunFolder
from railgauge.run.unchanged import refuse_changed
from railgauge.run.untrusted import naming
from railgauge.trend import lines
from railgauge.trend.compared import RunSide
from railgauge.trend.read import CALIBRATED_FROM
from railgauge.trend.values import Fleet, SeriesKey
from railgauge.verdict import counts, decision
from railgauge.verdict.decision import RunPlan

_NEEDED = (MANIFEST, decision.FILE, VERDICT, PLATFORM, CLUSTER, MEASUREMENTS)
# What decides how a measurement is made; limits, repeats and time limits do not.
_WAY = ("tool", "command", "memory", "scope", "options", "environment")
_SETTING = ("launcher", "launcher_args", "environment", "perftest", "runtime", "mpi_network")
_MOST_BYTES = 256 * 2**20


def read(path: Path) -> RunSide:
    """Read a run's folder or a bundle. Raises ``BadInput``.

    Files of a folder must be as the run left them; a bundle must verify.
    """
    with naming(path):
        return _folder(path) if path.is_dir() else _bundle(path)


def _folder(path: Path) -> RunSide:
    folder = path.resolve()
    for name in _NEEDED:
        file = folder / name
        if file.is_symlink() or not file.is_file():
            remedy = "name the folder of a run that has ended, or a bundle"
            raise BadInput(f"has no {name}", where=str(path), remedy=remedy)
        if file.stat().st_size > _MOST_BYTES:
            raise BadInput(f"is larger than {_MOST_BYTES // 2**20} MiB", where=str(path / name))
    refuse_changed(folder, _NEEDED)
    return _side(path, RunFolder(folder))


def _bundle(path: Path) -> RunSide:
    with archive.opened(path) as held:
        report = check.verify(held)
        signed = report.signature.fingerprint
        who = f"signed by {signed}, a key that is not checked here" if signed else "UNSIGNED"
        is_named = HOSTS not in report.statement.about.redacted.on_request
        return _side(path, BundledRun(held), names_nodes=is_named, remarks=(f"a bundle, {who}",))


def _side(
    path: Path, contents: RunFolder, *, names_nodes: bool = True, remarks: Sequence[str] = ()
) -> RunSide:
    run, cluster, platform = contents.plan(), contents.cluster(), contents.platform()
    verdict = untrusted.versioned(
        untrusted.loads(contents.bytes(VERDICT), VERDICT), counts.SCHEMA_VERSION, VERDICT
    )
    series, left_out = _series(contents, run.evidence)
    return RunSide(
        named=str(path),
        run_id=run.run_id,
        fleet=Fleet(cluster.name, _family(contents, platform), run.evidence),
        verdict=str(verdict.get("verdict")),
        series=series,
        names_nodes=names_nodes,
        ways=dict(_ways(platform, run.level)),
        setting=_setting(run, cluster),
        remarks=(*remarks, *left_out),
    )


def _family(contents: RunFolder, platform: Platform) -> str:
    """The platform from which that of the run was calibrated, or the run's own."""
    found = untrusted.loads(contents.bytes(PLATFORM), PLATFORM).get(CALIBRATED_FROM)
    return found if isinstance(found, str) else platform.name


def _series(
    contents: RunFolder, evidence: str
) -> tuple[dict[SeriesKey, tuple[float, ...]], list[str]]:
    found: dict[SeriesKey, tuple[float, ...]] = {}
    left_out = Counter[str]()
    for item, of_item in contents.measurements().items():
        for line in () if is_of_soak(item) else of_item:
            made = lines.samples(line, evidence)
            if isinstance(made, str):
                left_out[made] += 1
            elif made is not None and made.values:
                found[made.key] = (*found.get(made.key, ()), *made.values)
    return found, [f"{n} lines of {MEASUREMENTS} {why}: left out" for why, n in left_out.items()]


def _ways(platform: Platform, level: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    for name, made in platform.measurements.items():
        yield name, {**{word: _text(getattr(made, word)) for word in _WAY}, **_sizes(made, level)}


def _sizes(made: Measurement, level: str) -> dict[str, str]:
    extent = made.extents.get(level)
    return {"sizes": _text(extent.sizes)} if extent and extent.sizes else {}


def _setting(run: RunPlan, cluster: Cluster) -> dict[str, str]:
    found = {word: _text(getattr(cluster, word)) for word in _SETTING}
    return {"level": run.level, "railgauge": run.software, **found}


def _text(value: object) -> str:
    plain = to_plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True)
