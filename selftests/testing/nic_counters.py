"""Counters of NICs as the probe prints them, before and after a measurement, and what is judged."""

from __future__ import annotations

from railgauge.config.thresholds.model import Traffic
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.core.terms import Role
from railgauge.judging.traffic import judge_traffic, moved
from testing.core_values import transcript

GB = 10**9
HCA = "sys/class/infiniband/{}/ports/1/counters/{}:{}\n"
PORT_ERRORS = ("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors")
NETDEV_ERRORS = ("rx_dropped", "tx_dropped", "rx_errors", "tx_errors")
NET = "sys/class/net/{}/statistics/{}:{}\n"


def spec(least=0.9, most=1.3, spread=None):
    return Traffic((least, most), spread, Basis("derived", "made up for a test"))


def hca(name="mlx5_0", **counters):
    """Counters of an HCA in the kernel's unit: words of four bytes."""
    plain = dict.fromkeys(("port_xmit_data", "port_rcv_data", *PORT_ERRORS), 0)
    return "".join(HCA.format(name, key, value) for key, value in (plain | counters).items())


def netdev(name="eth1", **counters):
    plain = dict.fromkeys(("tx_bytes", "rx_bytes", *NETDEV_ERRORS), 0)
    return "".join(NET.format(name, key, value) for key, value in (plain | counters).items())


def run(before, after, node="n1"):
    return [
        transcript(node),
        transcript(node, role=Role.COUNTERS_BEFORE, stdout=before),
        transcript(node, role=Role.COUNTERS_AFTER, stdout=after),
    ]


def carried(**sent_gb):
    """A run in which each NIC sent this many gigabytes."""
    words = {name: int(gb * GB / 4) for name, gb in sent_gb.items()}
    before = "".join(hca(name, port_xmit_data=7) for name in words)
    after = "".join(hca(name, port_xmit_data=7 + count) for name, count in words.items())
    return moved(run(before, after), "n1", tuple(words))


def judgements(*asked):
    return list(judge_traffic(*asked))


def outcomes(judgements):
    return {judged.metric: judged.outcome for judged in judgements}


def reason(judgements, metric="traffic"):
    (judged,) = [one for one in judgements if one.metric == metric]
    assert judged.outcome is Outcome.FAILED
    return judged.reason
