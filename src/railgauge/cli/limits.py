"""``railgauge limits``: the limits of platform files as Markdown tables."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from railgauge.cli import text
from railgauge.config import thresholds
from railgauge.config.thresholds import Expectation, Measurement, Platform, loose
from railgauge.config.thresholds.model import CARRIES, FabricLimits
from railgauge.config.thresholds.physics import nic_ceiling_gbps
from railgauge.core.limits import Bound, Curve, Limit
from railgauge.core.units import format_size, format_sweep
from railgauge.run import inputs

# The whole of a floor that is a share, by its ``Limit.of``.
_WHOLE = {
    "gpu_slot": "what the gpu slot can carry",
    "ideal": "the ideal",
    "link": "what the link carries",
}
HELP = "print the limits of a platform, each with its basis, as Markdown"
EXAMPLE = "example: railgauge limits h200"
_HEAD = """\
# Limits

Every limit of the platform files, with its basis. [calibration.md](calibration.md) explains how
they were derived.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("platform", nargs="*", metavar="P", help="default: every platform")


def run(options: argparse.Namespace) -> int:
    names = options.platform or thresholds.available(options.root / "thresholds")
    platforms = [inputs.platform(name, options.root) for name in names]
    if options.json:
        text.print_json({p.name: [asdict(limit) for limit in _limits(p)] for p in platforms})
    else:
        print("\n".join(line for platform in platforms for line in _tables(platform)))
    return 0


def page(root: Path) -> str:
    """The page ``limits``: the tables of every platform of a site."""
    names = thresholds.available(root / "thresholds")
    platforms = [inputs.platform(name, root) for name in names]
    return "\n".join((_HEAD, *(line for one in platforms for line in _tables(one)), ""))


def _limits(platform: Platform) -> Iterator[Limit]:
    for measurement in platform.measurements.values():
        yield from measurement.limits


def _tables(platform: Platform) -> Iterator[str]:
    yield f"## {platform.name}: {platform.title}\n"
    yield "| NIC | link | ceiling of min(link, PCIe) |\n|---|---|---|"
    for nic in platform.fabric_nics:
        link = f"{nic.rate_gbps:g} Gb/s {nic.link_layer}"
        yield f"| {nic.name} | {link} | {nic_ceiling_gbps(nic):g} Gb/s |"
    yield "\n### Hosts\n\n| expectation | must be | basis |\n|---|---|---|"
    for name, expected in platform.expected.items():
        yield f"| {name} | {_expected(expected)} | {expected.basis} |"
    for measurement in sorted(platform.measurements.values(), key=lambda m: (m.rung, m.name)):
        yield from _measurement(measurement)
    yield from _about_limits(platform)
    yield "\n### Not applicable\n\n| test | why |\n|---|---|"
    yield from (f"| {name} | {why} |" for name, why in sorted(platform.not_applicable.items()))
    yield ""


def _about_limits(platform: Platform) -> Iterator[str]:
    """Yield which limits are loose, and which could not be compared with the hardware."""
    if platform.loose:
        yield "\n### Loose limits\n\n| limit | how | why | who |\n|---|---|---|---|"
    says = {one.pointer: one.says for one in loose.loose(platform)}
    for one in platform.loose:
        yield f"| {one.pointer} | {says.get(one.pointer, '')} | {one.reason} | {one.who} |"
    if unheld := [f"{one.metric} ({one.pointer})" for one in loose.unheld(platform)]:
        yield "\n### Not compared with what the hardware reaches, which is not known\n"
        yield f"{', '.join(unheld)}."


def _expected(expectation: Expectation) -> str:
    rule, value = expectation.rule.replace("_", " "), expectation.value
    if expectation.rule in ("as_declared", CARRIES):
        return rule
    shown = ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
    known = f"; measured with {expectation.measured_with[0]}" if expectation.measured_with else ""
    return shown if expectation.rule == "equals" else f"{rule} {shown}{known}"


def _measurement(measurement: Measurement) -> Iterator[str]:
    yield f"\n### Rung {measurement.rung}: {measurement.name} (`{measurement.command}`)\n"
    sizes = "; ".join(f"{level}: {_extent(measurement, level)}" for level in measurement.extents)
    yield f"Made on every {measurement.scope}. {sizes}.\n"
    yield "| metric | where | limit | basis |\n|---|---|---|---|"
    for limit in measurement.limits:
        yield f"| {limit.metric} | {_where(limit)} | {_bounds(limit)} | {limit.basis} |"
    if measurement.fabric is not None:
        yield from _subnet(measurement.fabric)
    if measurement.results is not None:
        named, basis = ", ".join(measurement.results.tests), measurement.results.basis
        yield f"| every named test | {named} | printed for every GPU, and passed | {basis} |"


def _subnet(limits: FabricLimits) -> Iterator[str]:
    rows = {name: f"at most {most:g}" for name, most in limits.most.items()}
    if limits.bit_error_rate is not None:
        rows["bit_error_rate"] = f"at most {limits.bit_error_rate:g}"
    for name, bound in (rows or {"the subnet": "as declared"}).items():
        yield f"| {name} | everywhere | {bound} | {limits.basis} |"


def _extent(measurement: Measurement, level: str) -> str:
    if not measurement.made_at(level):
        return "not made"
    extent = measurement.extents[level]
    count = len(extent.sizes)
    shown = [format_size(size) for size in extent.sizes]
    sizes = ", ".join(shown) if count < 5 else f"{count} sizes, {shown[0]} to {shown[-1]}"  # noqa: PLR2004
    return f"{sizes or 'one run'}{f' x {extent.repeats}' if extent.repeats > 1 else ''}"


def _where(limit: Limit) -> str:
    span = f"{format_size(limit.sizes[0])} to {format_size(limit.sizes[1])}" if limit.sizes else ""
    over = f"over {format_sweep(limit.over)}" if limit.over else ""
    return " ".join(filter(None, (", ".join(limit.pairings), span, over))) or "everywhere"


def _bounds(limit: Limit) -> str:
    parts = []
    if limit.floor is not None:
        parts.append(f"at least {_bound(limit.floor, limit)}")
    if limit.ceiling is not None:
        parts.append(f"at most {_bound(limit.ceiling, limit)}")
    if limit.dispersion.cv_max is not None:
        parts.append(f"varies by at most {limit.dispersion.cv_max:.0%}")
    if limit.dispersion.groups_apart_max is not None:
        apart = limit.dispersion.groups_apart_max
        parts.append(f"no two groups that lie {apart:.0%} or more apart")
    return "; ".join(parts) or "record only"


def _bound(bound: Bound, limit: Limit) -> str:
    if isinstance(bound, Curve):
        points = [
            point
            for point in bound.points
            if limit.sizes is None or limit.sizes[0] <= point[0] <= limit.sizes[1]
        ]
        shown = ", ".join(f"{value:g} at {format_size(size)}" for size, value in points)
        return f"{shown} {limit.unit}"
    if limit.of:
        return f"{bound:.0%} of {_WHOLE[limit.of]}"
    return f"{bound:g} {limit.unit}"
