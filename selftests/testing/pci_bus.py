"""A made-up PCI bus, to be mounted over that of this machine in a namespace of its own."""

from __future__ import annotations

from pathlib import Path

NVIDIA, VISIBLE = "0x10de", "CUDA_VISIBLE_DEVICES"
PLACE = Path("/sys/bus/pci/devices")
# A display, two GPUs, and a sound device of the same vendor, which is no GPU.
BUS = {
    "0000:01:00.0": ("0x1a03", "0x030000", "0-1"),
    "0000:1b:00.0": (NVIDIA, "0x030200", "0"),
    "0000:1b:00.1": (NVIDIA, "0x040300", "0"),
    "0000:5d:00.0": (NVIDIA, "0x030200", "1"),
}


def write(folder: Path) -> Path:
    """Write the devices into ``folder``, and return it."""
    for address, values in BUS.items():
        (folder / address).mkdir()
        for name, value in zip(("vendor", "class", "local_cpulist"), values, strict=True):
            (folder / address / name).write_text(f"{value}\n", encoding="ascii")
    return folder


def on(bus: Path, *argv: str) -> tuple[str, ...]:
    """The command ``argv`` in a namespace with that bus."""
    mount = f'mount --bind {bus} {PLACE} && exec "$@"'
    return ("unshare", "-m", "sh", "-c", mount, "sh", *argv)
