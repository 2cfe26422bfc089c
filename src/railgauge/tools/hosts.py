"""Comparison of the hosts on which ranks ran with the planned nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from railgauge.facts import NodeFacts
from railgauge.tools.claims import Claim, ToolRequest


def claims_of_ranks(
    asked: ToolRequest, each: object, said: Mapping[str, object], by_host: object, what: str
) -> Iterator[Claim]:
    """Yield claims about the number of ranks and about their hosts.

    ``each`` is how many ranks a node should have, ``said`` the summary (``nranks``), ``by_host``
    the number of ranks by host, if the output lists all. A job over fewer GPUs prints a complete
    table too, and may even be faster.
    """
    found, nodes = said.get("nranks"), asked.case.nodes
    if not isinstance(each, int):
        return
    wanted = each * len(nodes)
    spread = dict(by_host) if isinstance(by_host, Mapping) else None
    fits = found == wanted and (spread is None or list(spread.values()) == [each] * len(nodes))
    where = (
        f" ({', '.join(f'{count} on {host}' for host, count in spread.items())})" if spread else ""
    )
    yield Claim(
        "ranks",
        f"{wanted} {what} ({each} on each of {len(nodes)} nodes)",
        f"{found} {what}{where}" if isinstance(found, int) else None,
        fits or not isinstance(found, int),
    )
    yield claim_of_hosts("hosts of the ranks", asked, spread or ())


def claim_of_hosts(item: str, asked: ToolRequest, hosts: Iterable[str]) -> Claim:
    """Claim that the host names in a tool's output are those that the survey found.

    Names are compared up to the first dot, because some tools cut them there.
    """
    known = [facts.hostname for node in asked.case.nodes if (facts := asked.facts(node))]
    names = {short(name) for name in known if name}
    said = {short(host) for host in hosts}
    asked_for = ", ".join(sorted(names) or asked.case.nodes)
    if len(names) < len(asked.case.nodes) or not said:
        return Claim(item, asked_for, None)
    return Claim(item, asked_for, ", ".join(sorted(said)), said == names)


def by_hostname(asked: ToolRequest) -> dict[str, NodeFacts]:
    """Return the facts of the case's nodes by their short host names, of which ranks tell."""
    known = (asked.facts(node) for node in asked.case.nodes)
    return {short(facts.hostname): facts for facts in known if facts and facts.hostname}


def short(host: str) -> str:
    """Return a host name up to its first dot, in lower case."""
    return host.partition(".")[0].lower()
