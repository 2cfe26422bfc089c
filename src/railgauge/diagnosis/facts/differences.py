"""Rung 0: facts in which nodes, or devices of one model, differ, and for which nothing is declared.

That most of them agree does not make them right: the one node with new firmware may be the one that
was mended. All groups are listed, and no node is blamed. There are two exceptions. Of clocks and
link rates of one model the highest is possible, so a lower one is a fault, whatever the others
have. And a GPU or NIC that differs from those of its model beside it, which have what most have, is
named.

Example: ``nic_firmware`` is 28.36 on ``mx[01-03]`` and 28.39 on ``mx04``. The result is one cause,
``firmware-mismatch`` at ``mx[01-04]``, that names both groups. With the version under ``versions``
in the hostfile the other nodes would be the ones at fault (``version-mismatch``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.config.thresholds import VERSIONS
from railgauge.core.naming import folded, listed
from railgauge.diagnosis.facts.host import by_device, cause_of, is_compared
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where, missed
from railgauge.judging.record import ItemRecord

_FIRMWARE = ("nic_firmware", "gpu_vbios")
# Of these a device can have less than its model allows, and no more.
_AT_MOST = frozenset({"gpu_clock_max", "gpu_link_rate"})
_MODELS = {"gpus": "model", "nics": "hca_type"}


@dataclass(frozen=True, slots=True)
class Compared:
    """The items of one fact that are held against each other, by the value that was found.

    ``among`` is the device that all nodes have, or the model of the devices; empty for a fact of
    the node itself.
    """

    subject: str
    among: str
    by_value: Mapping[str, Sequence[ItemRecord]]

    @property
    def red(self) -> list[ItemRecord]:
        return [r for group in self.by_value.values() for r in group if missed(r)]


def differences(context: Context) -> Iterator[Finding]:
    """One finding for each fact that differs; of clocks and rates, one for each lower part."""
    open_ = {record.id for record in context.open}
    for compared in _compared(context):
        red = [record for record in compared.red if record.id in open_]
        if not red:
            continue
        lower = [record for record in red if _is_lower(compared, record)]
        if lower:
            yield from _lower(context, compared, lower, red)
        elif odd := _odd(context, compared):
            yield from _lone(context, compared, odd, red)
        else:
            yield _differing(context, compared, red)


def _compared(context: Context) -> Iterator[Compared]:
    """The facts that an open item misses, in order."""
    wrong = [r for r in context.open if is_compared(context, r) and missed(r)]
    for subject, among in dict.fromkeys((r.subject, _among(context, r)) for r in wrong):
        values: dict[str, list[ItemRecord]] = {}
        for record in context.results.records.values():
            if record.subject == subject and record.judgements and _among(context, record) == among:
                values.setdefault(record.judgements[0].measured, []).append(record)
        yield Compared(subject, among, values)


def _among(context: Context, record: ItemRecord) -> str:
    """The device that the fact is of; for a fact that is alike in a model, the model."""
    expectation = context.results.platform.expected[record.subject]
    return _model(context, record) if expectation.value == "model" else record.pairing


def _model(context: Context, record: ItemRecord) -> str:
    facts = context.facts(record.nodes[0])
    for kind, field in _MODELS.items():
        for device in getattr(facts, kind, ()):
            name = f"gpu{device.index}" if kind == "gpus" else device.name
            if name == record.pairing:
                return getattr(device, field) or ""
    return ""


# --- of some facts less is a fault ---


def _is_lower(compared: Compared, record: ItemRecord) -> bool:
    numbers = [number for value in compared.by_value if (number := _number(value)) is not None]
    own = _number(record.judgements[0].measured)
    return compared.subject in _AT_MOST and own is not None and own < max(numbers)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _lower(
    context: Context, compared: Compared, lower: Sequence[ItemRecord], red: Sequence[ItemRecord]
) -> Iterator[Finding]:
    """A finding for each part that is lower. It also explains why the others are not all alike."""
    others = [record for record in red if record not in lower]
    for node in dict.fromkeys(record.nodes[0] for record in lower):
        parts = {r.pairing: [r] for r in lower if r.nodes == (node,)}
        for device, records in by_device(context, parts).items():
            says = f"{_groups(context, compared)}; a device of this model can have the highest"
            where = Where(node, device)
            yield Finding(cause_of(context, records[0]), where, says, (*records, *others))


# --- a device that differs from those beside it ---


def _odd(context: Context, compared: Compared) -> list[ItemRecord]:
    """The devices that differ from most of their model and, in the same node, from others of it.

    None if a whole node differs, or if less than half of them are alike.
    """
    if context.results.platform.expected[compared.subject].value != "model":
        return []
    most = max(compared.by_value.values(), key=len)
    others = [one for group in compared.by_value.values() if group is not most for one in group]
    usual = {one.nodes[0] for one in most}
    is_clear = len(most) > len(others) and all(one.nodes[0] in usual for one in others)
    return others if is_clear else []


def _lone(
    context: Context, compared: Compared, odd: Sequence[ItemRecord], red: Sequence[ItemRecord]
) -> Iterator[Finding]:
    """A finding for each of these devices. It also explains why the others are not all alike."""
    rest = [record for record in red if record not in odd]
    says = f"{_groups(context, compared)}; {_declare(compared.subject)}"
    for one in odd:
        yield Finding(_cause(compared), Where(one.nodes[0], one.pairing), says, (one, *rest))


# --- of all others nobody knows which is right ---


def _differing(context: Context, compared: Compared, red: Sequence[ItemRecord]) -> Finding:
    nodes = dict.fromkeys(r.nodes[0] for group in compared.by_value.values() for r in group)
    by_model = context.results.platform.expected[compared.subject].value == "model"
    device = compared.subject if by_model else compared.among or compared.subject
    says = f"{_groups(context, compared)}; {_declare(compared.subject)}"
    where = Where(folded(_in_order(context, nodes)), device)
    return Finding(_cause(compared), where, says, tuple(red))


def _cause(compared: Compared) -> str:
    return "firmware-mismatch" if compared.subject in _FIRMWARE else "nodes-differ"


def _declare(subject: str) -> str:
    where = "under 'versions' in the hostfile" if subject in VERSIONS else "in the platform file"
    return f"declare the one that is wanted {where}"


def _in_order(context: Context, nodes: Mapping[str, None]) -> list[str]:
    return [node.name for node in context.results.cluster.nodes if node.name in nodes] or [*nodes]


def _groups(context: Context, compared: Compared) -> str:
    """``nic_firmware, 2 versions: 28.36 on mx[01-03]; 28.39 on mx04``, the largest group first."""
    ordered = sorted(compared.by_value.items(), key=lambda group: -len(group[1]))
    shown = [f"{value} on {_places(context, compared, group)}" for value, group in ordered]
    word = "versions" if compared.subject in VERSIONS else "values"
    device = f" of {compared.among}" if compared.among else ""
    head = f"{compared.subject}{device}, {len(shown)} {word}"
    return f"{head}: {listed(shown, _MOST_VALUES, '; ')}"


_MOST_VALUES = 4


def _places(context: Context, compared: Compared, group: Sequence[ItemRecord]) -> str:
    """The nodes of a group; with the devices where only some devices of a node are in it."""
    here: dict[str, list[str]] = {}
    for record in group:
        here.setdefault(record.nodes[0], []).append(record.pairing)
    every: dict[str, int] = {}
    for record in (r for others in compared.by_value.values() for r in others):
        every[record.nodes[0]] = every.get(record.nodes[0], 0) + 1
    whole = dict.fromkeys(node for node, parts in here.items() if len(parts) == every[node])
    shown = [folded(_in_order(context, whole))] if whole else []
    shown += [f"{node} {','.join(parts)}" for node, parts in here.items() if node not in whole]
    return listed(shown, _MOST_VALUES)


RULES: tuple[CauseRule, ...] = (differences,)
