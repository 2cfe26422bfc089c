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

from railgauge.tools.claims import Claim, ToolRequest

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


def claims_of_algorithm(asked: ToolRequest, said: Mapping[str, object]) -> Iterator[Claim]:
    """Claim the algorithm of every call, and the channels of reductions in switches."""
    for variable, value in asked.measurement.environment.items():
        if _ALGORITHM.fullmatch(variable):
            yield _algorithm(value, said)
        elif switch := _SWITCH.fullmatch(variable):
            yield from _in_switches(switch[1], value, said)


def _algorithm(wanted: str, said: Mapping[str, object]) -> Claim:
    told = _told(said)
    if not told and _names_it(said):
        what = "nothing, although this version names it"
        return Claim("algorithm", wanted, what, False, remedy=_REMEDY)
    if not told or ":" in wanted:  # NCCL also takes one for each collective
        return Claim("algorithm", wanted, None)
    names = {_bare(name) for name in wanted.lstrip("^").split(",")}
    fits = all((_bare(name) in names) != wanted.startswith("^") for name in told)
    return Claim("algorithm", wanted, ", ".join(told), fits, remedy=_REMEDY)


def _told(said: Mapping[str, object]) -> tuple[str, ...]:
    """The algorithms that the log names, and those of the table's own column."""
    logged, choices = said.get("algorithms"), said.get("choices")
    rows = choices.values() if isinstance(choices, Mapping) else ()
    column = [str(row["algo"]) for row in rows if isinstance(row, Mapping) and row.get("algo")]
    return tuple(dict.fromkeys((*(logged if isinstance(logged, tuple) else ()), *column)))


def _names_it(said: Mapping[str, object]) -> bool:
    version = _VERSION.match(str(said.get("library_version", "")))
    if version is None or said.get("library") not in ("NCCL", "RCCL"):
        return False
    return (int(version[1]), int(version[2])) >= _NAMED_SINCE


def _bare(name: str) -> str:
    """``NVLS_TREE`` and ``NVLSTree`` are one."""
    return name.strip().replace("_", "").upper()


def _in_switches(kind: str, value: str, said: Mapping[str, object]) -> Iterator[Claim]:
    if value not in ("0", "1"):  # the library decides
        return
    offloads = said.get("offloads")
    counts = offloads.get(kind.lower()) if isinstance(offloads, Mapping) else None
    item, wanted = f"{kind} channels", "1 or more" if value == "1" else "none"
    if counts is None:
        yield Claim(item, wanted, None)
    else:
        fits = min(counts) > 0 if value == "1" else max(counts) == 0
        yield Claim(item, wanted, ", ".join(map(str, sorted(counts))), fits, remedy=_REMEDY)
