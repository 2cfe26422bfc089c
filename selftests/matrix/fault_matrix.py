"""The fault matrix: what a run reports for each fault, on a random node and device.

    python selftests/matrix/fault_matrix.py [--platform P]… [--fault F]… [--jobs N] [--page FILE]

Each fault is one run of the ladder at level smoke; one that no smoke shows is a run at a higher
level, of what shows it. All of them take half an hour on two cores. ``--page`` writes them as a
table. The exit code is 1 if a fault was not named as expected.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from expected_causes import CAUSES, TUNING, RunNeeds, needs_of
from injections import (
    NODES,
    PLATFORMS,
    Injection,
    injections,
    pairs_of,
    placed_for_matrix,
)
from lab_cluster import leaves_of
from testing import prepared
from testing.acceptance import BARE, Project, environment, make_project
from testing.fewer import measuring

TIME_LIMIT_S = 600.0
_LAB = "hostfiles/lab-{}.yaml"

Wanted = tuple[tuple[Injection, ...], int]
"""The faults of one run, and its number of nodes."""


@dataclass(frozen=True)
class Result:
    """What a run reported: verdict, causes, bad items per test, and ids of failed items."""

    injected: tuple[Injection, ...]
    verdict: str
    causes: tuple[dict[str, Any], ...]
    red: dict[str, int]
    output: str
    failed: frozenset[str] = frozenset()

    @property
    def complaint(self) -> str:
        """What is wrong with the result, or an empty string."""
        wanted = [injection for injection in self.injected if injection.cause]
        verdicts = {injection.verdict for injection in self.injected}
        worst = next(v for v in ("rejected", "incomplete", "accepted") if v in verdicts)
        if self.verdict != worst:
            return f"is {self.verdict}, must be {worst}"
        if len(self.causes) != len(wanted):
            return f"{len(self.causes)} causes: {', '.join(map(named, self.causes)) or 'none'}"
        if any(not any(s.is_named_by(cause) for cause in self.causes) for s in wanted):
            return f"names {', '.join(map(named, self.causes))}"
        wrong = [s.fault for s in wanted if len(wanted) > 1 and not self._judges_alone(s)]
        return f"has not the verdict of {', '.join(wrong)}" if wrong else ""

    def _judges_alone(self, injection: Injection) -> bool:
        """Whether the items of this fault alone give its verdict."""
        shown = (set(one["evidence"]) for one in self.causes if injection.is_named_by(one))
        return any(items & self.failed for items in shown) == (injection.verdict == "rejected")


def named(cause: dict[str, Any]) -> str:
    where = cause["where"]
    place = ":".join(part for part in (where["node"], where["peer"]) if part)
    return " ".join(part for part in (cause["cause"], place, where["device"]) if part)


ALL_AT_SMOKE = ("--level", "smoke", "--rounds", "2")
"""Every node of any cluster is measured; smoke alone would take a sample of the nodes."""


def run_with_faults(
    injected: Sequence[Injection], seed: int, folder: Path, *more: str, nodes: int | None = None
) -> Result:
    """Run the ladder against a lab with these faults, in a separate project folder.

    Without a ``--level`` in ``more`` it is the smallest run that shows them.
    """
    project = make_project(folder)
    platform = injected[0].platform
    needs = needs_of(injection.name for injection in injected)
    count = max(len(NODES[platform]) if nodes is None else nodes, needs.nodes)
    if any(injection.name == TUNING for injection in injected):
        _untune(project, platform)
    declare(project, platform, needs)
    options = [
        *("--hostfile", _LAB.format(platform), "-q"),
        *(() if "--level" in more else _smallest(project, platform, needs)),
        *("--lab-nodes", str(count), "--lab-seed", str(seed)),
        *(*BARE, "-p", "no:hypothesispytest"),  # not used here
        *(
            word
            for injection in injected
            if injection.fault
            for word in ("--lab-fault", injection.fault)
        ),
        *more,
    ]
    request = prepared.Request(options, project.folder, environment(), TIME_LIMIT_S)
    done = prepared.run(request)
    return _read(tuple(injected), project.folder / "reports" / "latest", done.stdout + done.stderr)


def _smallest(project: Project, platform: str, needs: RunNeeds) -> Sequence[str]:
    """The options of the smallest run; above smoke it makes only what shows its faults."""
    if needs.level == "smoke":
        return ALL_AT_SMOKE
    measuring(platform, *needs.measurements)(project)
    return ("--level", needs.level, "--rounds", "2")


def _untune(project: Project, platform: str) -> None:
    """Set all variables of the platform file to empty values in the hostfile."""
    path = project.folder / "thresholds" / f"{platform}.json"
    names = json.loads(path.read_text(encoding="utf-8"))["environment"]["variables"]
    _set(project, platform, {"environment": dict.fromkeys(names, "")})


def declare(project: Project, platform: str, needs: RunNeeds) -> None:
    """Write into the hostfile what the faults of a run need."""
    leaves = leaves_of(platform, needs.leaves)
    nodes = [node for members in leaves.values() for node in members]
    of_leaves = {"nodes": nodes, "groups": {name: ",".join(leaf) for name, leaf in leaves.items()}}
    _set(project, platform, {**needs.hostfile, **(of_leaves if leaves else {})})


def _set(project: Project, platform: str, keys: Mapping[str, Any]) -> None:
    """Set keys of the lab's hostfile."""
    path = project.folder / _LAB.format(platform)
    document = yaml.safe_load(path.read_text(encoding="utf-8")) | keys
    path.write_text(yaml.safe_dump(document), encoding="utf-8")


def _read(injected: tuple[Injection, ...], folder: Path, output: str) -> Result:
    if not (folder / "verdict.json").exists() or not (folder / "records.jsonl").exists():
        return Result(injected, "none", (), {}, output)
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    red: dict[str, int] = {}
    failed = set()
    for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        if item["outcome"] in ("failed", "error"):
            name, _, words = item["id"].partition("::")[2].partition("[")
            is_of_family = words.startswith(f"{item['subject']}-")
            name = f"{name}[{item['subject']}]" if is_of_family else name
            red[name] = red.get(name, 0) + 1
        if item["outcome"] == "failed":
            failed.add(item["id"])
    causes = tuple(verdict["causes"])
    return Result(injected, verdict["verdict"], causes, red, output, frozenset(failed))


def main() -> int:
    arguments = _arguments()
    wanted = [
        placed_for_matrix(injected)
        for platform in arguments.platform or PLATFORMS
        for injected in _planned(platform, arguments)
        if not arguments.fault or all(injection.name in arguments.fault for injection in injected)
    ]
    with tempfile.TemporaryDirectory(prefix="fault-matrix-") as folder:
        results = list(_all(wanted, arguments, Path(folder)))
    if arguments.page:
        arguments.page.write_text(page(results, arguments.seed), encoding="utf-8")
    wrong = sum(bool(result.complaint) for result in results)
    print(f"{len(results) - wrong} of {len(results)} as they must be")
    return 1 if wrong else 0


def _planned(platform: str, arguments: Any) -> Iterator[tuple[Injection, ...]]:
    yield from ((injection,) for injection in injections(platform, arguments.seed))
    yield from pairs_of(platform, arguments.seed, arguments.pairs)


def _all(wanted: Sequence[Wanted], arguments: Any, folder: Path) -> Iterator[Result]:
    with ThreadPoolExecutor(arguments.jobs) as pool:
        started = [
            pool.submit(
                run_with_faults,
                injected,
                arguments.seed,
                folder / str(number),
                nodes=nodes,
            )
            for number, (injected, nodes) in enumerate(wanted)
        ]
        for (injected, _), future in zip(wanted, started, strict=True):
            result = future.result()
            mark = result.complaint or ", ".join(map(named, result.causes)) or result.verdict
            sign = "WRONG" if result.complaint else "ok   "
            print(f"{sign} {injected[0].platform:<18} {_faults(injected):<40} {mark}", flush=True)
            if result.complaint and arguments.verbose:
                print(result.output[-4000:])
            yield result


def _faults(injected: Sequence[Injection]) -> str:
    return " ".join(injection.fault or injection.name for injection in injected)


def _arguments() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--platform", action="append", choices=PLATFORMS)
    parser.add_argument("--fault", action="append", choices=[*sorted(CAUSES), TUNING])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=2, help="pairs of faults a platform (2)")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--verbose", action="store_true", help="print the output of wrong runs")
    return parser.parse_args()


def page(results: Iterable[Result], seed: int) -> str:
    """The matrix as a page."""
    lines = [_HEAD.format(seed=seed)]
    platform = ""
    for result in results:
        injection = result.injected[0]
        if injection.platform != platform:
            platform = injection.platform
            lines.append(f"\n## {platform}\n\n{_COLUMNS}")
        red = ", ".join(f"{name} {count}" for name, count in sorted(result.red.items())) or "none"
        causes = "; ".join(map(named, result.causes)) or "none"
        mark = f" (**wrong**: {result.complaint})" if result.complaint else ""
        fault = f"`{_faults(result.injected)}`"
        lines.append(f"| {fault} | {red} | {result.verdict} | {causes}{mark} |")
    return "\n".join(lines) + "\n"


_HEAD = """# The fault matrix

What a run reports for each fault of the embedded lab, on a random node and device: the tests that
failed or ended in an error (with the number of items), the verdict, and the causes. Generated by
`make matrix` (seed {seed}, level smoke where that shows the fault, evidence simulated); a selftest
runs a part of it. `irq-affinity` is a fault that must not be blamed. Items that were blocked by a
lower rung are not counted."""
_COLUMNS = "| fault | red tests | verdict | cause, node, device |\n| --- | --- | --- | --- |"

if __name__ == "__main__":
    sys.exit(main())
