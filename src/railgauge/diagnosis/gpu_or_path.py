"""Tell a slow GPU from its slow path to one NIC, by measurements beside the plan. Pure.

Where a level measures each GPU over its nearest NIC only, a slow GPU and a slow path look alike.
Three measurements decide: the slow pairing again, the same GPU over another NIC, and that pairing
between two good nodes. The limit of a far pairing is too low to show a slow GPU; the good nodes are
what it is compared with. Host memory over the NIC is measured again in both directions: if it is
slow now, the NIC became slow during the run.

Example: gpu3 reaches 317 of 390 Gb/s over mlx5_3. Over mlx5_0 it reaches 230 Gb/s, and a good node
reaches 284 Gb/s over that pairing. The GPU is slow, because both lack the same share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railgauge.config.thresholds import limit_for
from railgauge.config.thresholds.model import Platform
from railgauge.core import naming
from railgauge.core.errors import Uncovered
from railgauge.core.model import Judgement, Outcome, Pairing
from railgauge.core.question import Question
from railgauge.core.units import format_value
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.model import AGAIN, LIKELY, OPEN, Cause, Confirmation
from railgauge.diagnosis.remeasured import line
from railgauge.judging.confirmation import Confirmed
from railgauge.planning.pairing import CLOSENESS

_NIC = "slow-nic"
_MOST_SHARE = 0.97  # of its limit: a pairing that is less behind says little of how slow it is
_CLEAR, _SAME = 0.97, 0.995  # of what good nodes reach: clearly less, and the same
_TOO_FAST = 1.05  # of what good nodes reach: the path between them is slow


def suspected_path(cause: Cause) -> str:
    """Return ``gpu3-mlx5_3`` if the suspects are gpu3 and this path of it; else nothing."""
    gpu, _, path = cause.where.device.partition(",")
    is_pair = gpu.startswith("gpu") and path.startswith(f"{gpu}-") and "," not in path
    return path if is_pair and cause.confidence == OPEN else ""


def elsewhere(platform: Platform, question: Question) -> Question | None:
    """The question about the same GPU over its next NIC that has a limit; ``None`` without one."""
    case = question.case
    if case is None or case.pairing is None or case.pairing.peer or case.pairing.gpu is None:
        return None
    gpu, own = case.pairing.gpu, case.pairing.nic
    others = [p for p in platform.pairings("gpu") if p.gpu == gpu and p.nic != own]
    for pairing in sorted(others, key=lambda p: CLOSENESS.index(platform.affinity[gpu][p.nic])):
        if _has_limit(platform, question, pairing):
            return replace(question, case=replace(case, pairing=pairing))
    return None


def _has_limit(platform: Platform, question: Question, pairing: Pairing) -> bool:
    case = question.case
    assert case is not None
    measurement = platform.measurements[case.measurement]
    try:
        for asserted in measurement.asserts:
            limit_for(measurement, asserted.metric, pairing, question.size_bytes)
    except Uncovered:
        return False
    return True


# --- the result ---


def decided(cause: Cause, results: Sequence[Confirmed]) -> Cause | None:
    """The cause at the GPU or at its path; ``None`` if the results do not tell."""
    path = suspected_path(cause)
    mine = [r for r in results if r.asked.suspects]
    again = [r for r in mine if _pairing(r) == path]
    others = [r for r in mine if _pairing(r) != path and _pairing(r).startswith("gpu")]
    host = [r for r in mine if is_host_memory(r)]
    good = [r for r in results if not r.asked.suspects]
    if path and any(result.missed for result in host):
        share = _share(others[0], good[0]) if others and good else None
        if share is not None and share < _CLEAR:  # over another NIC it is slow as well
            return at_the_node(cause, host)
        found = at_the_nic(cause, path.rpartition("-")[2], host)
        return _both_ways(found) if _is_back(cause.where.node, again, host) else found
    if not path or not (again and others and good):
        return None
    slow, other, peer = again[0], others[0], good[0]
    reached, share = _of_limit(slow), _share(other, peer)
    if reached is None or share is None or share > _TOO_FAST:
        return None
    if reached > _MOST_SHARE and _CLEAR < share < _SAME:
        return None
    is_gpu = share < min((1 + reached) / 2, _CLEAR if reached > _MOST_SHARE else 1.0)
    name, device = ("slow-gpu", path.partition("-")[0]) if is_gpu else ("slow-pcie-path", path)
    seen = tuple(_lines(slow, other, peer, share))
    return replace(
        cause,
        cause=name,
        where=replace(cause.where, device=device),
        says=f"{cause.headline}; {_story(other, share, is_gpu=is_gpu)}",
        confidence=LIKELY,
        would_decide="",
        remedy=CATALOGUE[name].remedy,
        basis=CATALOGUE[name].basis,
        confirmation=Confirmation("confirmed", seen),
    )


def carried(cause: Cause, results: Sequence[Confirmed]) -> list[Confirmed]:
    """The results of the suspected path and its NIC, as if they had been asked for this cause.

    The run asked for them to find the path among others, and does not measure them twice.
    """
    path = suspected_path(cause)
    fit = [r for r in results if path and _pairing(r) in (path, path.rpartition("-")[2])]
    return [replace(r, asked=replace(r.asked, device=cause.where.device)) for r in fit]


def is_host_memory(result: Confirmed) -> bool:
    """Whether a remeasurement is between nodes over a NIC alone, without a GPU."""
    case = result.asked.question.case
    return case is not None and len(case.nodes) > 1 and not _pairing(result).startswith("gpu")


def at_the_nic(cause: Cause, nic: str, host: Sequence[Confirmed]) -> Cause:
    """The cause at the NIC, or at one of its directions, which was fine earlier in the run."""
    slow = [result for result in host if result.missed]
    fine = [result for result in host if not result.missed and not result.error]
    name = "slow-direction" if fine else "slow-nic"
    seen = tuple(line(result) for result in host)
    return replace(
        cause,
        cause=name,
        where=replace(cause.where, device=nic),
        says=f"{cause.headline}; host memory over {nic} was fine before, and is slow now",
        confidence=LIKELY if len(slow) + len(fine) > 1 else OPEN,
        would_decide="",
        remedy=CATALOGUE[name].remedy,
        basis=CATALOGUE[name].basis,
        confirmation=Confirmation("confirmed", seen),
    )


def at_the_node(cause: Cause, host: Sequence[Confirmed]) -> Cause:
    """The cause at the node, undecided: its partner here may have a slow path to it."""
    kind = CATALOGUE["slow-node"]
    return replace(
        cause,
        cause="slow-node",
        where=replace(cause.where, device=""),
        says=f"{cause.headline}; measured again, host memory and another NIC are slow too",
        confidence=OPEN,
        would_decide=AGAIN.format(cause.where.node),
        remedy=kind.remedy,
        basis=kind.basis,
        confirmation=Confirmation("confirmed", tuple(map(line, host))),
    )


def _is_back(node: str, again: Sequence[Confirmed], host: Sequence[Confirmed]) -> bool:
    """Whether a slow measurement of host memory went the other way than that of the GPU did.

    So both directions of the NIC were slow, at one time or another.
    """
    sent, now = (
        {case.nodes[0] == node for r in some if (case := r.asked.question.case)}
        for some in (again, [result for result in host if result.missed])
    )
    return len(sent) == 1 and bool(now - sent)


def _both_ways(cause: Cause) -> Cause:
    kind = CATALOGUE[_NIC]
    return replace(cause, cause=_NIC, remedy=kind.remedy, basis=kind.basis)


def _pairing(result: Confirmed) -> str:
    case = result.asked.question.case
    return str(case.pairing) if case else ""


def _judged(result: Confirmed) -> Judgement | None:
    """The judgement with the smallest value for its limit; ``None`` if nothing was measured."""
    fit = [j for j in result.judgements if j.worst is not None and j.floor]
    return min(fit, key=lambda j: (j.worst or 0.0) / (j.floor or 1.0), default=None)


def _of_limit(result: Confirmed) -> float | None:
    judged = _judged(result)
    if judged is None or judged.outcome is not Outcome.FAILED or not judged.floor:
        return None
    return (judged.worst or 0.0) / judged.floor


def _share(one: Confirmed, other: Confirmed) -> float | None:
    mine, theirs = _judged(one), _judged(other)
    if mine is None or theirs is None or mine.metric != theirs.metric or not theirs.worst:
        return None
    return (mine.worst or 0.0) / theirs.worst


def _story(other: Confirmed, share: float, *, is_gpu: bool) -> str:
    case = other.asked.question.case
    assert case is not None
    nic = case.pairing.nic if case.pairing else ""
    word = "slow too" if is_gpu else "fine"
    return f"over {nic} it is {word}: {100 * share:.0f} % of what good nodes reach"


def _lines(slow: Confirmed, other: Confirmed, peer: Confirmed, share: float) -> Iterator[str]:
    words = {
        id(slow): "slow again",
        id(other): f"{100 * share:.0f} % of what good nodes reach",
        id(peer): "the good nodes",
    }
    for result in (slow, other, peer):
        case, judged = result.asked.question.case, _judged(result)
        assert case is not None
        assert judged is not None
        at = f"{naming.place(case.nodes)} {case.pairing}"
        value = format_value(judged.worst or 0.0, judged.unit)
        yield f"{case.measurement} {at}: {judged.metric} {value}: {words[id(result)]}"
