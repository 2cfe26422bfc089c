"""NVIDIA's Xid codes: what each means, whether the hardware is at fault, and what to do.

A code is a ``NOTE`` if the catalogue attributes it to the program that ran, or to another code.
Codes that the catalogue lists as unused are left out: such a number is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.core.terms import Term

BASIS = (
    "standard: NVIDIA, Xid Errors: Analyzing Xid Errors with the Xid Catalog"
    " (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html)"
)


class Gravity(Term):
    """The gravity of a line of the kernel's log: a fault, or a note, which fails nothing."""

    NOTE = "note"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Xid:
    means: str
    gravity: Gravity
    action: str


UNKNOWN = Xid(
    "a code that this version of railgauge does not know",
    Gravity.FAULT,
    "look the code up in NVIDIA's Xid catalogue",
)

_RESET = (
    "reset the GPU (nvidia-smi --gpu-reset) or reboot the node; have it replaced if it comes again"
)
_BOOT = "power-cycle the node, then check seating, power and slot of the GPU; have it replaced"
_LINKS = (
    "run nvidia-smi nvlink -e and --status on the GPU, check Fabric Manager's log; reset the GPU,"
    " then have GPU or baseboard checked"
)
_MEMORY = (
    "drain the node and reset the GPU; nvidia-smi -q -d ROW_REMAPPER says whether spare rows are"
    " left"
)
_SUPPORT = "collect nvidia-bug-report.sh and ask NVIDIA's support"
_PROGRAM = "look at the program that ran; if a program known to be good does it, test the GPU"
_OTHER = "look at the Xid before it"

_FAULTS: Mapping[int | range, tuple[str, str]] = {
    8: ("the GPU stopped processing", _SUPPORT),
    range(39, 42): ("a copy engine raised an exception", _SUPPORT),
    46: ("the GPU stopped processing", _RESET),
    48: ("a double bit ECC error in the GPU's memory", _MEMORY),
    54: ("auxiliary power is not connected to the board", "check the power cables of the GPU"),
    62: ("the power management controller of the GPU halted", _RESET),
    64: ("a row or page of the GPU's memory could not be retired", _MEMORY),
    range(70, 73): ("a copy engine raised an exception", _SUPPORT),
    74: ("an error of an NVLink", _LINKS),
    range(75, 78): ("a copy engine raised an exception", _SUPPORT),
    78: ("a vGPU did not start", _SUPPORT),
    79: ("the GPU has fallen off the bus", _BOOT),
    80: ("data that were sent to the GPU arrived corrupted", _BOOT),
    85: ("a copy engine raised an exception", _SUPPORT),
    92: ("a high rate of single bit ECC errors", _MEMORY),
    94: ("a memory error, contained to the program that met it", _MEMORY),
    95: ("a memory error that was not contained", _MEMORY),
    109: ("a context switch timed out", _RESET),
    110: ("a security fault", _RESET),
    119: ("the GPU's system processor (GSP) did not answer in time", _RESET),
    120: ("the GPU's system processor (GSP) had an error", _RESET),
    121: ("an error of the chip-to-chip link (C2C)", _SUPPORT),
    range(126, 136): ("a copy engine raised an exception", _SUPPORT),
    136: ("the training of an NVLink failed", _LINKS),
    140: ("an ECC error that was not recovered", _MEMORY),
    143: ("the GPU was not initialised", _RESET),
    144: ("an error of an NVLink (SAW)", _LINKS),
    145: ("an error of an NVLink (RLW)", _LINKS),
    146: ("an error of an NVLink (TLW)", _LINKS),
    147: ("an error of an NVLink (TREX)", _LINKS),
    148: ("an error of an NVLink (NVLPW_CTRL)", _LINKS),
    149: ("an error of an NVLink (NETIR)", _LINKS),
    150: ("an error of an NVLink (MSE)", _LINKS),
    151: ("the rotation of a key failed", _SUPPORT),
    155: ("an error of an NVLink that software defines", _LINKS),
    156: ("a part of the GPU was retired", _RESET),
    157: ("a part of the GPU could not be retired", _SUPPORT),
    158: ("a timeout that is fatal for the GPU", _RESET),
    159: ("an error of the coherent link (CHI)", _SUPPORT),
    161: ("a channel could not be retired", _SUPPORT),
    165: ("the power smoothing circuit is worn out", _SUPPORT),
    167: ("a timeout of PCIe that is fatal", _BOOT),
    168: ("errors in protected memory reduced the GPU's memory", _MEMORY),
    169: ("the security controller of the GPU halted", _RESET),
    171: ("an uncorrectable error in the GPU's DRAM", _MEMORY),
    172: ("an uncorrectable error in the GPU's SRAM", _MEMORY),
}
_NOTES: Mapping[int | range, tuple[str, str]] = {
    11: ("an invalid or corrupted stream of commands", _PROGRAM),
    13: ("an exception of the graphics engine, as programs with a wrong index cause it", _PROGRAM),
    25: ("an invalid stream of commands", _PROGRAM),
    31: ("a page fault in the GPU's memory, as programs with a wrong address cause it", _PROGRAM),
    32: ("an invalid or corrupted stream of commands", _PROGRAM),
    37: ("an error of the driver's firmware", _SUPPORT),
    38: ("an error of the driver's firmware", _SUPPORT),
    43: ("the GPU stopped processing for one program; its state stays sound", _PROGRAM),
    44: ("a fault during a context switch", _SUPPORT),
    45: ("a program was removed after an earlier error, or was killed", _OTHER),
    60: ("an exception of the video processor", _PROGRAM),
    61: ("a breakpoint or warning of the power management controller", _SUPPORT),
    63: ("a row or page of the GPU's memory was marked to be replaced", _MEMORY),
    range(66, 68): ("an access by the driver that is not allowed", _SUPPORT),
    68: ("an exception of a video decoder", _PROGRAM),
    69: ("an error of the graphics engine's class", _PROGRAM),
    range(82, 85): ("an exception of a decoder of videos or images", _PROGRAM),
    86: ("an exception of the optical flow engine", _PROGRAM),
    range(88, 90): ("an exception of a video decoder", _PROGRAM),
    93: ("the InfoROM was written more often than planned", _SUPPORT),
    range(96, 106): ("an exception of a decoder of videos or images", _PROGRAM),
    range(106, 108): ("a test message of the management bus", "none"),
    137: ("an NVLink reported an access to the memory of another GPU that failed", _PROGRAM),
    139: ("an exception of the optical flow engine", _PROGRAM),
    141: ("an error of CUDA's fast path", _PROGRAM),
    142: ("an exception of a video encoder", _PROGRAM),
    range(152, 154): ("an error of the deep learning accelerator", _SUPPORT),
    154: ("the GPU asks for another recovery action than before", _OTHER),
    160: ("a channel was retired", _OTHER),
    range(162, 165): ("a message of the power smoothing circuit", _SUPPORT),
    166: ("traffic before a link was set up for encryption", _SUPPORT),
    170: ("an interrupt in confidential computing mode", _SUPPORT),
}


def _listed() -> Mapping[int, Xid]:
    found: dict[int, Xid] = {}
    for gravity, table in ((Gravity.FAULT, _FAULTS), (Gravity.NOTE, _NOTES)):
        for codes, (means, action) in table.items():
            for code in codes if isinstance(codes, range) else (codes,):
                found[code] = Xid(means, gravity, action)
    return found


XIDS = _listed()
