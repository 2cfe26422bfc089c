"""From a case of the platform file to a perftest request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from railgauge.core.errors import BadInput
from railgauge.core.model import Command, Parsed
from railgauge.tools import Setting
from railgauge.tools.options import Options
from railgauge.tools.perftest.plan import Request, plan

_FLAGS = frozenset({"report_gbits", "disable_pcie_relaxed", "bidirectional"})
_OPTIONS = _FLAGS | {"qps", "iterations", "gid_index"}


def commands(setting: Setting, port: int) -> tuple[Command, ...]:
    """Server on the pair's target, client on its source; the payload in the pairing's memory."""
    return plan(_request(setting), port)


def _request(setting: Setting) -> Request:
    case, measurement, cluster = setting.case, setting.measurement, setting.cluster
    if case.pairing is None:
        raise BadInput(f"{measurement.name} needs a NIC to run over")
    source, target = case.nodes
    flags = _memory_flags(setting)
    return Request(
        command=measurement.command,
        source=source,
        target=target,
        target_address=cluster.node(target).data_address,
        source_device=case.pairing.nic,
        target_device=case.pairing.nic,
        sizes=case.sizes,
        directory=cluster.tools.get("perftest", ""),
        memory_flags_source=flags,
        memory_flags_target=flags,
        time_limit_s=measurement.time_limit_s,
        **_options(setting),
    )


def _memory_flags(setting: Setting) -> tuple[str, ...]:
    pairing = setting.case.pairing
    if pairing is None or pairing.gpu is None:
        return ()
    if setting.stack is None:
        raise BadInput(f"{setting.measurement.name} needs GPUs, the platform declares none")
    return setting.stack.perftest_memory_flags(pairing.gpu)


def _options(setting: Setting) -> dict[str, Any]:
    options: dict[str, Any] = {"report_gbits": False, **setting.measurement.options}
    if unknown := sorted(set(options) - _OPTIONS):
        raise BadInput(
            f"{setting.measurement.name}: unknown option {', '.join(unknown)}",
            remedy=f"perftest takes {', '.join(sorted(_OPTIONS))}",
        )
    _check_kinds(Options(setting.measurement.name, setting.measurement.options))
    return options


def _check_kinds(options: Options) -> None:
    """Raise ``BadInput`` for a value that is no number or no flag where one is needed."""
    for name in options.values:
        if name in _FLAGS:
            options.flag(name)
        else:
            options.count(name, None, least=0)


def payload_bytes(parsed: Parsed) -> float:
    """Message size times iterations, over all sizes of the run."""
    iterations = parsed.summary.get("iterations")
    if not isinstance(iterations, Mapping):
        return 0.0
    return float(sum(size * count for size, count in iterations.items()))
