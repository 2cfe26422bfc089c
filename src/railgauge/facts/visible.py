"""GPUs that an environment variable hides from the programs of a node.

``nvidia-smi`` and ``rocm-smi`` list all GPUs of the node, but the measuring programs see fewer: of
8 GPUs, ``CUDA_VISIBLE_DEVICES=0,1`` hides 6.
"""

from __future__ import annotations

import re

VISIBLE = re.compile(r"(?:CUDA|HIP|ROCR|MACA)_VISIBLE_DEVICES")
HIDES = "GPUs from every program"
_ENTRY = re.compile(r"[0-9]{1,4}|GPU-[0-9A-Za-z-]{1,64}")
_MIG = "MIG-"
_LONGEST = 100


def hidden(text: str, gpus: int) -> str:
    """Return which variable hides how many of ``gpus``; empty if all are visible.

    ``text`` has a line ``NAME=VALUE`` for each variable that is set. A runtime ignores everything
    from the first entry that names no GPU on, and sees none if one is named twice.
    """
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and VISIBLE.fullmatch(name) and (shown := _shown(value.strip(), gpus)) < gpus:
            setting = f"{name}={value.strip()[:_LONGEST]}"
            if value.startswith(_MIG):
                return f"{setting} names a MIG instance: it hides the {gpus} whole {HIDES}"
            return f"{setting} hides {gpus - shown} of {gpus} {HIDES}"
    return ""


def _shown(value: str, gpus: int) -> int:
    entries: list[str] = []
    for entry in map(str.strip, value.split(",")):
        if not _ENTRY.fullmatch(entry) or (entry.isdecimal() and int(entry) >= gpus):
            break
        entries.append(entry)
    return len(entries) if len(set(entries)) == len(entries) else 0
