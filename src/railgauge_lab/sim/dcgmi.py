"""``dcgmi diag -r LEVEL``, in the layout of DCGM 3.3, and ``dcgmi discovery -l``."""

from __future__ import annotations

import sys

from . import stored
from .nvidia_query import bus_id, settings, uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Results = list[tuple[str, list[tuple[str, str]]]]

_RULE = f"+{'-' * 27}+{'-' * 48}+"
_BAR = f"+{'=' * 27}+{'=' * 48}+"
# As DCGM prints them. The parser has its own list, because the lab shares no code with parsers.
_DEPLOYMENT = (
    "Denylist", "NVML Library", "CUDA Main Library", "Permissions and OS Blocks",
    "Persistence Mode", "Environment Variables", "Page Retirement/Row Remap",
    "Graphics Processes", "Inforom",
)  # fmt: skip
_BY_LEVEL = {
    1: (),
    2: (
        ("Integration", ("PCIe",)),
        ("Hardware", ("GPU Memory",)),
        ("Stress", ("Memory Bandwidth",)),
    ),
    3: (
        ("Integration", ("PCIe",)),
        ("Hardware", ("GPU Memory", "Diagnostic")),
        ("Stress", ("Memory Bandwidth", "Targeted Stress", "Targeted Power")),
    ),
    4: (
        ("Integration", ("PCIe",)),
        ("Hardware", ("GPU Memory", "Diagnostic", "Pulse Test", "EUD Test", "Memtest")),
        ("Stress", ("Memory Bandwidth", "Targeted Stress", "Targeted Power")),
    ),
}  # fmt: skip
_FAILED = 226


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, 226 if a test failed, or 1 for a command that is not simulated."""
    if arguments[:2] == ["discovery", "-l"]:
        print("\n".join(_found(node)))
        return 0
    if not arguments or arguments[0] != "diag":
        sys.stderr.write("dcgmi: PARSE ERROR: only diag and discovery are known here\n")
        return 1
    level = _level(arguments)
    if level == "eud":
        lines = _eud(node)
        print("\n".join(lines))
        return _FAILED if any("Fail" in line for line in lines) else 0
    if not level.isdecimal() or int(level) not in _BY_LEVEL:
        sys.stderr.write(f"Error: requested test \"{level}\" was not found among possible test"
                         " choices.\n")  # fmt: skip
        return 1
    results = _results(int(level), node)
    print(_as_json(results, node) if "-j" in arguments else "\n".join(_table(results, node)))
    failed = any("Fail" in status for _, tests in results for _, status in tests)
    return _FAILED if failed else 0


def _level(arguments: list[str]) -> str:
    for flag, value in zip(arguments, arguments[1:]):  # noqa: B905, RUF007 - adjacent words
        if flag in ("-r", "--run"):
            return value
    return next((w.partition("=")[2] for w in arguments if w.startswith(("-r=", "--run="))), "1")


def _row(name: str, value: str) -> str:
    return f"| {name:<25} | {value:<46} |"


def _identity(node: Node) -> list[str]:
    smi = node["smi"]
    ids = ",".join([smi["pci_device_ids"]] * len(node["gpus"]))
    return [
        _row("DCGM Version", smi["dcgm"]),
        _row("Driver Version Detected", smi["driver"]),
        # This cell is one space wider than its column, as in document 001.
        f"| {'GPU Device IDs Detected':<25} | {ids:<47} |",
    ]


def _eud(node: Node) -> list[str]:
    return [
        _RULE,
        _row("Diagnostic", "Result"),
        _BAR,
        *_identity(node),
        _row("EUD Test Version", node["smi"]["eud"]),
        *_rows("EUD Test", _memory(node, "Pass - All")),
        _RULE,
    ]


def _results(level: int, node: Node) -> Results:
    deployment = [(name, "Pass") for name in _DEPLOYMENT]
    deployment[6] = ("Page Retirement/Row Remap", _remap(node))
    found: Results = [("Deployment", deployment)]
    for category, names in _BY_LEVEL[level]:
        found.append((category, [(name, _memory(node, "Pass - All", name)) for name in names]))
    return found


def _remap(node: Node) -> str:
    pending = any(gpu["remapped"]["pending"] for gpu in node["gpus"])
    return "Fail" if pending else "Pass"


_OF_MEMORY = ("GPU Memory", "Memtest", "EUD Test")


def _memory(node: Node, good: str, name: str = "EUD Test") -> str:
    """Return ``good``, or a line for the GPUs that passed and a line for those that failed."""
    bad = [i for i, gpu in enumerate(node["gpus"]) if _is_bad(gpu)]
    if not bad or name not in _OF_MEMORY:
        return good
    fine = [i for i in range(len(node["gpus"])) if i not in bad]
    return "\n".join(
        f"{status} - GPU{'s' if len(those) > 1 else ''}: {', '.join(map(str, those))}"
        for status, those in (("Pass", fine), ("Fail", bad))
        if those
    )


def _is_bad(gpu: dict[str, Any]) -> bool:
    return bool(gpu["ecc"]["dram_uncorrectable"] or gpu.get("fails_diagnostics"))


def _rows(name: str, value: str) -> list[str]:
    """Return a row for each line of ``value``; only the first row has the name."""
    first, *more = value.split("\n")
    return [_row(name, first), *(_row("", line) for line in more)]


def _table(results: Results, node: Node) -> list[str]:
    lines = ["Successfully ran diagnostic for group.", _RULE, _row("Diagnostic", "Result"), _BAR]
    lines += [_section("Metadata"), *_identity(node)]
    for category, tests in results:
        lines.append(_section(category))
        lines += [line for name, status in tests for line in _rows(name, status)]
    if not settings(node)["persistence"]:
        lines.append(_row("Info", "Persistence mode is disabled."))
    return [*lines, _RULE]


def _section(name: str) -> str:
    return f"|-----  {name}  {'-' * (18 - len(name))}+{'-' * 48}|"


def _as_json(results: Results, node: Node) -> str:
    everyone = ",".join(str(i) for i in range(len(node["gpus"])))
    categories = [
        {
            "category": category,
            "tests": [
                {
                    "name": name,
                    "results": [_json_result(line, everyone) for line in status.split("\n")],
                }
                for name, status in tests
            ],
        }
        for category, tests in results
    ]
    return stored.as_json({"DCGM GPU Diagnostic": {"test_categories": categories}}, indent=2)


def _json_result(printed: str, everyone: str) -> dict[str, str]:
    status, _, gpus = printed.partition(" - ")
    those = gpus.partition(": ")[2].replace(" ", "")
    return {"gpu_ids": those or everyone, "status": status}


def _found(node: Node) -> list[str]:
    rule = f"+{'-' * 8}+{'-' * 70}+"
    lines = [
        f"{len(node['gpus'])} GPUs found.",
        rule,
        f"| {'GPU ID':<6} | {'Device Information':<68} |",
    ]
    for index, gpu in enumerate(node["gpus"]):
        for number, text in enumerate(
            (f"Name: {gpu['model']}", f"PCI Bus ID: {bus_id(gpu)}", f"Device UUID: {uuid(gpu)}")
        ):
            lines.append(f"| {index if number == 0 else '':<6} | {text:<68} |")
        lines.append(rule)
    return lines
