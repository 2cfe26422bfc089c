"""``lspci`` and ``cpupower``: the part of their output that checks of a GPU host read."""

from __future__ import annotations

import sys

from .options import UsageError, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Function = dict[str, Any]

_FLAGS = "SrcValid TransBlk ReqRedir CmpltRedir UpstreamFwd EgressCtrl DirectTrans".split()  # noqa: SIM905
_BEHIND_BRIDGE = r"\[([0-9a-f]{2})\]----00\.0  .*"


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, or 1 for a command line that the tool refuses."""
    return _cpupower(arguments, node) if tool == "cpupower" else _lspci(arguments, node)


def _cpupower(arguments: list[str], node: Node) -> int:
    if "frequency-info" not in arguments:
        sys.stderr.write("Usage:\tcpupower [-d|--debug] [-c|--cpu cpulist ] <command> [<args>]\n")
        return 1
    host = node["host"]
    text = "\n".join(node["cpupower"]).replace("{governor}", host["governor"])
    print(text.replace("{boost}", "yes" if host.get("boost", True) else "no"))
    return 0


def _lspci(arguments: list[str], node: Node) -> int:
    short = {**dict.fromkeys("vtDnkmq", "plain"), "s": "slot", "d": "ids"}
    given = "".join(word[1:] for word in arguments if word.startswith("-"))
    try:
        options, _ = parse(arguments, short, {}, frozenset({"slot", "ids"}))
    except UsageError as error:
        sys.stderr.write(f"lspci: {error}\n")
        return 1
    if "t" in given:
        print("\n".join(_tree(node)))
        return 0
    functions = [one for one in node["pci"] if _matches(one, options)]
    blocks = [_block(one, given) for one in functions]
    sys.stdout.write(("\n" if "v" in given else "").join(blocks))
    return 0


def _matches(function: Function, options: dict[str, str]) -> bool:
    slot = options.get("slot", "")
    vendor, _, device = options.get("ids", ":").partition(":")
    return (
        (not slot or function["address"].endswith(slot))
        and vendor in ("", function["vendor"])
        and device in ("", function["device"])
    )


def _block(function: Function, given: str) -> str:
    where = function["address"] if "D" in given else function["address"].split(":", 1)[1]
    ids = f"{function['vendor']}:{function['device']}"
    if "nn" in given:
        kind = f"{function['kind']} [{function['class']}]"
        line = f"{where} {kind}: {function['name']} [{ids}]"
    elif "n" in given:
        line = f"{where} {function['class']}: {ids}"
    else:
        line = f"{where} {function['kind']}: {function['name']}"
    details = _details(function) if "v" in given else []
    return "\n".join([line, *details]) + "\n"


def _details(function: Function) -> list[str]:
    lines = [f"\tNUMA node: {function['numa']}"]
    if "link" in function:
        lines.insert(0, f"\tPhysical Slot: {int(function['address'].split(':')[1], 16)}")
        speed, width, most_speed, most_width = function["link"]
        slower = " (downgraded)" if speed != most_speed else ""
        narrower = " (downgraded)" if width != most_width else ""
        lines += [
            "\tCapabilities: [60] Express (v2) Endpoint, MSI 00",
            f"\t\tLnkCap:\tPort #0, Speed {most_speed}, Width x{most_width}, ASPM not supported",
            f"\t\tLnkSta:\tSpeed {speed}{slower}, Width x{width}{narrower}",
            "\t\t\tTrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-",
        ]
    if "product" in function:
        name, part, serial = function["product"]
        lines += [
            "\tCapabilities: [48] Vital Product Data",
            f"\t\tProduct Name: {name}",
            "\t\tRead-only fields:",
            f"\t\t\t[PN] Part number: {part}",
            f"\t\t\t[SN] Serial number: {serial}",
            "\t\tEnd",
        ]
    if "acs" in function:
        lines += [
            "\tCapabilities: [148 v1] Access Control Services",
            f"\t\tACSCap:\t{' '.join(f'{flag}+' for flag in _FLAGS)}",
            f"\t\tACSCtl:\t{' '.join(flag + _sign(flag in function['acs']) for flag in _FLAGS)}",
        ]
    return lines


def _sign(on: bool) -> str:
    return "+" if on else "-"


def _tree(node: Node) -> list[str]:
    """Return the PCI tree of the healthy machine, with empty slots for missing devices."""
    import re  # noqa: PLC0415 - lspci starts faster without it

    present = {function["address"].split(":")[1] for function in node["pci"]}

    def emptied(match: re.Match[str]) -> str:
        bus = match[1]
        return match[0] if bus in present else f"[{bus}]--"

    return [re.sub(_BEHIND_BRIDGE, emptied, line) for line in node["pci_tree"]]
