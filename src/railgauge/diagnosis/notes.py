"""Notes: conspicuous facts that are not faults, listed so that they need no investigation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ClusterShell.RangeSet import RangeSet

from railgauge.core.model import Outcome
from railgauge.core.naming import folded, listed, shortened
from railgauge.core.terms import Rung
from railgauge.diagnosis.model import RunResults
from railgauge.facts import NodeFacts
from railgauge.facts.boot import once
from railgauge.judging.kernel_log import BEFORE


def notes(results: RunResults) -> tuple[str, ...]:
    """Return lines for the reports; they do not change the verdict."""
    far: dict[str, list[str]] = {}
    for node in (declared.name for declared in results.cluster.nodes):
        found = results.found.get(node)
        if isinstance(found, NodeFacts):
            for nic in _far_interrupts(found):
                far.setdefault(nic, []).append(node)
    interrupts = tuple(
        f"interrupts of {nic} on {shortened(folded(nodes))} are served on the other NUMA node: "
        f"noted, not blamed ({_beside(results, nodes) or _BASIS})"
        for nic, nodes in far.items()
    )
    return (
        *_reboots(results),
        *_faults_before(results),
        *_controller(results),
        *interrupts,
        *_not_shown(results),
    )


def _controller(results: RunResults) -> Iterator[str]:
    """One line if the nodes agree with each other and the controller's clock is the wrong one."""
    allowed = results.platform.expected.get("clock")
    known = (found for found in results.found.values() if isinstance(found, NodeFacts))
    offsets = [found.clock_offset_s for found in known if found.clock_offset_s is not None]
    if allowed is None or not isinstance(allowed.value, (int, float)) or len(offsets) < _AGREE:
        return
    middle = median(offsets)
    agree = all(abs(one - middle) <= allowed.value for one in offsets)
    if agree and abs(middle) > allowed.value:
        yield (
            f"the nodes' clocks agree with each other and are {abs(middle):g} s "
            f"{'ahead of' if middle > 0 else 'behind'} that of the machine that runs railgauge, so "
            "that the times in this report are wrong: correct the clock of that machine"
        )


_AGREE = 2


def _faults_before(results: RunResults) -> Iterator[str]:
    """One line for faults from before the run, where the level of the run only lists them."""
    logged = [
        f"{judged.measured} ({record.nodes[0]})"
        for record in results.records.values()
        for judged in record.judgements
        if judged.metric == BEFORE and judged.outcome is Outcome.MARGINAL
    ]
    if logged:
        yield (
            f"logged by the kernel before the run: {listed(logged, _MOST_NAMED)}; a sign-off asks"
            " for a log without faults since boot"
        )


_MOST_NAMED = 4


def _reboots(results: RunResults) -> Iterator[str]:
    """One line for each reboot. Earlier and later results stay valid; facts are not read again."""
    for reboot in once(results.reboots):
        if reboot.during:
            yield (
                f"{reboot.node} was rebooted during {reboot.during}: items that ran there at that "
                "moment are errors, and the facts of the node are from before the reboot"
            )
        else:
            yield f"{reboot.node} was rebooted after {reboot.after}, which this run resumes"


def _not_shown(results: RunResults) -> Iterator[str]:
    """One line for each set of requested items that a tool's output does not show."""
    items: dict[str, dict[str, None]] = {}
    for record in results.records.values():
        for judged in record.judgements:
            items.setdefault(record.subject, {}).update(dict.fromkeys(judged.not_shown))
    alike: dict[tuple[str, ...], list[str]] = {}
    for subject, missing in items.items():
        alike.setdefault(tuple(missing), []).append(subject)
    for shown, subjects in alike.items():
        if shown:
            yield f"the output of {', '.join(subjects)} does not show: {', '.join(shown)}"


_BASIS = "003: full bandwidth was measured beside it"


def _beside(results: RunResults, nodes: Sequence[str]) -> str:
    """The busbw that collectives over these nodes reached, in words; empty if none passed."""
    good = [
        (record, judged)
        for record in results.records.values()
        if record.rung == Rung.COLLECTIVE and set(nodes) <= set(record.nodes)
        for judged in record.judgements
        if judged.outcome is Outcome.PASSED
    ]
    figures = {judged.metric: (record, judged) for record, judged in good}
    beside = []
    for metric in ("avg_busbw", "busbw"):
        if metric in figures:
            record, judged = figures[metric]
            beside.append(f"{record.subject} {metric} {judged.measured}, limit {judged.limit}")
            break
    if beside and "traffic_spread" in figures:
        beside.append("traffic is spread over all NICs")
    return f"beside it {', '.join(beside)}" if beside else ""


def _far_interrupts(facts: NodeFacts) -> Iterator[str]:
    """NICs whose interrupts are all served on another NUMA node than the NIC's own."""
    homes = {netdev.name: netdev.numa_node for netdev in facts.netdevs}
    homes |= {nic.name: nic.numa_node for nic in facts.nics}
    for irq in facts.irqs:
        near = facts.numa_cpus.get(str(homes.get(irq.name)))
        if near and irq.cpus and not RangeSet(near) & RangeSet(irq.cpus):
            yield irq.name
