"""Which algorithm a measurement asks the library for, and which one its log shows.

A measurement asks by the variables of its ``environment``: ``NCCL_ALGO`` (MCCL: ``MCCL_ALGO``) for
one or several algorithms, ``NCCL_NVLS_ENABLE`` and ``NCCL_COLLNET_ENABLE`` for reductions in the
switches of NVLink or of the network (SHARP). Another setting of the site, or a library that ignores
the variable, would give the bandwidth of another algorithm.

NCCL and RCCL name the algorithm of each call from 2.22 on, as a number before 2.24 (the order of
``nccl_common.h``); rccl-tests has a column. Of a version that names none, nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from railgauge.tools.output_checks import OutputCheck, ToolRequest

_ALGORITHM = re.compile(r"[NM]CCL_ALGO")
_SWITCH = re.compile(r"[NM]CCL_(NVLS|COLLNET)_ENABLE")
_BY_NUMBER = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")
_NAMED_SINCE = (2, 22)
_REMEDY = (
    "remove the variable from 'environment' in the hostfile, and look for a tuner plugin and for "
    "nccl.conf on the nodes; the library's INFO log says what it has set"
)


def subsystems(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the parts of the library's log that show what these variables ask for."""
    asks = {
        "INIT": any(map(_SWITCH.fullmatch, environment)),
        "TUNING": any(map(_ALGORITHM.fullmatch, environment)),
    }
    return tuple(name for name, is_asked in asks.items() if is_asked)


def name_of(printed: str) -> str:
    """Return the name of an algorithm that a log names or numbers: ``NVLS_TREE`` for ``5``."""
    if printed.isdecimal():
        number = int(printed)
        return _BY_NUMBER[number] if number < len(_BY_NUMBER) else f"algorithm {number}"
    return printed.upper()


def checks_of_algorithm(asked: ToolRequest, summary: Mapping[str, object]) -> Iterator[OutputCheck]:
    """Check the algorithm of every call, and the channels of reductions in switches."""
    for variable, value in asked.measurement.environment.items():
        if _ALGORITHM.fullmatch(variable):
            yield _algorithm(value, summary)
        elif switch := _SWITCH.fullmatch(variable):
            yield from _in_switches(switch[1], value, summary)


def _algorithm(wanted: str, summary: Mapping[str, object]) -> OutputCheck:
    printed = _printed(summary)
    if not printed and _names_it(summary):
        what = "nothing, although this version names it"
        return OutputCheck("algorithm", wanted, what, False, remedy=_REMEDY)
    if not printed or ":" in wanted:  # NCCL also takes one for each collective
        return OutputCheck("algorithm", wanted, None)
    names = {_bare(name) for name in wanted.lstrip("^").split(",")}
    fits = all((_bare(name) in names) != wanted.startswith("^") for name in printed)
    return OutputCheck("algorithm", wanted, ", ".join(printed), fits, remedy=_REMEDY)


def _printed(summary: Mapping[str, object]) -> tuple[str, ...]:
    """The algorithms that the log names, and those of the table's own column."""
    logged, choices = summary.get("algorithms"), summary.get("choices")
    rows = choices.values() if isinstance(choices, Mapping) else ()
    column = [str(row["algo"]) for row in rows if isinstance(row, Mapping) and row.get("algo")]
    return tuple(dict.fromkeys((*(logged if isinstance(logged, tuple) else ()), *column)))


def _names_it(summary: Mapping[str, object]) -> bool:
    version = _VERSION.match(str(summary.get("library_version", "")))
    if version is None or summary.get("library") not in ("NCCL", "RCCL"):
        return False
    return (int(version[1]), int(version[2])) >= _NAMED_SINCE


def _bare(name: str) -> str:
    """``NVLS_TREE`` and ``NVLSTree`` are one."""
    return name.strip().replace("_", "").upper()


def _in_switches(kind: str, value: str, summary: Mapping[str, object]) -> Iterator[OutputCheck]:
    if value not in ("0", "1"):  # the library decides
        return
    offloads = summary.get("offloads")
    counts = offloads.get(kind.lower()) if isinstance(offloads, Mapping) else None
    item, wanted = f"{kind} channels", "1 or more" if value == "1" else "none"
    if counts is None:
        yield OutputCheck(item, wanted, None)
    else:
        fits = min(counts) > 0 if value == "1" else max(counts) == 0
        yield OutputCheck(item, wanted, ", ".join(map(str, sorted(counts))), fits, remedy=_REMEDY)
