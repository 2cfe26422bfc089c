"""Where the ranks of a collective ran, beside where they were asked to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from railgauge.tools.claims import Asked, Claim


def claims_of_ranks(
    asked: Asked, each: object, said: Mapping[str, object], by_host: object, what: str
) -> Iterator[Claim]:
    """How many ranks there were, and on which hosts.

    ``each`` is how many a node should have, ``said`` the summary (``nranks``), ``by_host`` how many
    each host had, if all are listed. A job over fewer GPUs prints a whole table all the same, and
    may well be the faster for it.
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


def claim_of_hosts(item: str, asked: Asked, hosts: Iterable[str]) -> Claim:
    """The names that a tool gives the hosts it ran on, against those that the survey found.

    Only up to the first dot: some tools cut them there.
    """
    known = [facts.hostname for node in asked.case.nodes if (facts := asked.facts(node))]
    names = {_short(name) for name in known if name}
    said = {_short(host) for host in hosts}
    asked_for = ", ".join(sorted(names) or asked.case.nodes)
    if len(names) < len(asked.case.nodes) or not said:
        return Claim(item, asked_for, None)
    return Claim(item, asked_for, ", ".join(sorted(said)), said == names)


def _short(host: str) -> str:
    return host.partition(".")[0].lower()
