"""Command line options of a run."""

from __future__ import annotations

import math

import pytest

from railgauge.acceptance.request import LAB_SEED, LEVEL, operator_name
from railgauge.config.thresholds import LEVELS
from railgauge.core import arguments
from railgauge.core.units import format_size
from railgauge.planning.sub_items import MOST_ITEMS
from railgauge.run import disk_quota


def add(parser: pytest.Parser) -> None:
    group = parser.getgroup("railgauge", "railgauge: acceptance of a GPU cluster")
    group.addoption(
        "--hostfile",
        metavar="FILE",
        help="cluster to accept: a YAML hostfile, or a plain MPI/pssh list with --platform "
        "(default: the embedded lab)",
    )
    group.addoption("--platform", metavar="NAME", help="platform file for a plain hostfile")
    group.addoption(
        "--level",
        choices=LEVELS,
        help="extent of the run: pairs, pairings, sizes and repeats to measure "
        f"(default: {LEVEL}; in a replay the recorded run's level)",
    )
    group.addoption(
        "--rounds",
        type=arguments.count,
        metavar="K",
        help="tournament rounds; each node meets at least K partners (default: the level's)",
    )
    group.addoption(
        "--replay",
        metavar="BUNDLE",
        help="judge the transcripts of a bundle instead of measuring, with its own limits or those "
        "of --platform; no node is contacted",
    )
    group.addoption(
        "--replay-unverified",
        action="store_true",
        help="with --replay: judge a bundle that railgauge verify refuses all the same; every "
        "report says NOT VERIFIED, and nothing is accepted",
    )
    group.addoption(
        "--resume",
        metavar="RUN",
        help="carry on an interrupted run: a folder of reports/, or latest; its measurements are "
        "judged again, the rest is measured now; omitted options keep their earlier values",
    )
    group.addoption(
        "--shard",
        metavar="I/N",
        help="measure one of N parts of the level, from 1: node by node, leaf by leaf, and the "
        "pairs between them; railgauge merge makes one run of all N",
    )
    group.addoption(
        "--only",
        metavar="NODES",
        help="qualify these nodes (mx07, mx[07-09]): measure what is about them, with partners "
        "that are known to be good; the verdict is of these nodes alone",
    )
    group.addoption(
        "--partners", metavar="NODES", help="with --only: the partners; each of NODES meets each"
    )
    group.addoption(
        "--partners-from",
        metavar="RUN",
        help="with --only: the partners are all nodes that RUN shows to be good, a folder of "
        "reports/ or a bundle; railgauge merge RUN then completes that run",
    )
    group.addoption(
        "--merged",
        metavar="FOLDER",
        help="write the reports of a run that railgauge merge has made",
    )
    group.addoption(
        "--run-id-file",
        metavar="FILE",
        help="write the id of this run, the name of its folder in reports/, to FILE, which is "
        "emptied before: a script reads it, because reports/latest may be another run",
    )
    group.addoption(
        "--share",
        action="store_true",
        help="let other users read the run's folder as the umask says (default: only its owner)",
    )
    group.addoption(
        "--confirm",
        action="store_true",
        help="after the last item, measure suspects again with partners that were good; this "
        "confirms causes or puts them in doubt, and never improves the verdict",
    )
    group.addoption(
        "--prepare",
        action="store_true",
        help="apply the platform's preparations (governor, clocks, ...) to every node; "
        "changes are recorded, and undone at the end of the run",
    )
    group.addoption(
        "--deviations",
        metavar="FILE",
        help="accepted deviations, a YAML list of subject, cause or item, reason, who and until: "
        "what misses its limit because of them no longer rejects the run",
    )
    group.addoption(
        "--soak",
        metavar="TIME",
        help="after the last item, measure rounds of the level again and again, with partners "
        "drawn anew, until all was under load for TIME (24h, 90m, 3m), or there are N of them "
        "(5rounds)",
    )
    group.addoption(
        "--soak-below",
        metavar="RATE",
        help="report the confidence with which events are rarer than RATE, per hour of a node "
        "under load (1/1000h)",
    )
    group.addoption(
        "--soak-seed",
        type=int,
        metavar="S",
        help="seed from which the rounds of a soak are drawn (default: a new one)",
    )
    group.addoption(
        "--operator",
        type=operator_name,
        metavar="NAME",
        help="who runs it, for the certificate (default: the login name; in a replay that of the "
        "recorded run)",
    )
    group.addoption(
        "--at-once",
        type=arguments.count,
        metavar="K",
        help="number of measurements to make at once, never two on one node (default: the pairs "
        "that the hostfile says to be independent, else 1); the workers of -n W only judge",
    )
    group.addoption(
        "--most-items",
        type=int,
        default=MOST_ITEMS,
        metavar="N",
        help="beyond so many items, pytest collects one for each test and node, and reports have "
        "a line for each test at one place; what is measured, judged and recorded stays the same "
        "(default: %(default)s)",
    )
    group.addoption(
        "--wait",
        type=arguments.number(0, math.inf, "seconds"),
        default=0.0,
        metavar="SECONDS",
        help="how long to wait for nodes that another run holds (default: do not wait)",
    )
    group.addoption(
        "--no-gates",
        action="store_true",
        help="measure upper rungs even on nodes where a lower rung failed",
    )
    _add_lab(parser.getgroup("railgauge lab", "railgauge: the embedded lab (simulated)"))


def _add_lab(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--lab-nodes", type=arguments.count, metavar="N", help="number of simulated nodes"
    )
    group.addoption(
        "--lab-seed",
        type=int,
        metavar="S",
        help=f"seed of the noise; 0 for no noise (default: {LAB_SEED})",
    )
    group.addoption(
        disk_quota.OPTION,
        type=arguments.size,
        default=disk_quota.MOST_BYTES,
        metavar="SIZE",
        help="what the folder of a run may take, such as 500GiB; a run that reaches it ends, and "
        f"--resume carries it on (default: {format_size(disk_quota.MOST_BYTES)})",
    )
    group.addoption(
        "--lab-fault",
        action="append",
        default=[],
        metavar="NAME[@NODE[:DEVICE]][=SEVERITY][,p=P][,after=TIME]",
        help="inject a fault into the lab; may be repeated; 'list' prints all names. SEVERITY: the "
        "share that is lost (4%%); P: the probability that it affects a measurement; TIME: when it "
        "begins, from the start of the lab (60s, 5m)",
    )
