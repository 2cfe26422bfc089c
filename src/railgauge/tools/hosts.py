"""Comparison of the hosts on which ranks ran with the planned nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from railgauge.facts import NodeFacts
from railgauge.tools.output_checks import OutputCheck, ToolRequest


def checks_of_ranks(
    asked: ToolRequest, each: object, summary: Mapping[str, object], by_host: object, what: str
) -> Iterator[OutputCheck]:
    """Yield the checks of the number of ranks and of their hosts.

    ``each`` is the number of ranks that a node should have, ``summary`` has ``nranks``, and
    ``by_host`` is the number of ranks by host, if the output lists all. A job over fewer GPUs
    prints a complete table too, and may even be faster.
    """
    found, nodes = summary.get("nranks"), asked.case.nodes
    if not isinstance(each, int):
        return
    wanted = each * len(nodes)
    spread = dict(by_host) if isinstance(by_host, Mapping) else None
    fits = found == wanted and (spread is None or list(spread.values()) == [each] * len(nodes))
    where = (
        f" ({', '.join(f'{count} on {host}' for host, count in spread.items())})" if spread else ""
    )
    yield OutputCheck(
        "ranks",
        f"{wanted} {what} ({each} on each of {len(nodes)} nodes)",
        f"{found} {what}{where}" if isinstance(found, int) else None,
        fits or not isinstance(found, int),
    )
    yield check_of_hosts("hosts of the ranks", asked, spread or ())


def check_of_hosts(item: str, asked: ToolRequest, hosts: Iterable[str]) -> OutputCheck:
    """Check that the host names in a tool's output are those that the survey found.

    Names are compared up to the first dot, because some tools cut them there.
    """
    known = [facts.hostname for node in asked.case.nodes if (facts := asked.facts(node))]
    names = {short(name) for name in known if name}
    shown = {short(host) for host in hosts}
    asked_for = ", ".join(sorted(names) or asked.case.nodes)
    if len(names) < len(asked.case.nodes) or not shown:
        return OutputCheck(item, asked_for, None)
    return OutputCheck(item, asked_for, ", ".join(sorted(shown)), shown == names)


def by_hostname(asked: ToolRequest) -> dict[str, NodeFacts]:
    """Return the facts of the case's nodes by their short host names, which ranks print."""
    known = (asked.facts(node) for node in asked.case.nodes)
    return {short(facts.hostname): facts for facts in known if facts and facts.hostname}


def short(host: str) -> str:
    """Return a host name up to its first dot, in lower case."""
    return host.partition(".")[0].lower()
