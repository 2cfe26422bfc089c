"""What TransferBench says of its run, beside what was asked for."""

from __future__ import annotations

from railgauge.tools.claims import Asked, Claim, Heard, equal


def claims(asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:
    """Preset, bytes per transfer, compute units for a transfer, how many GPUs."""
    said = heard[0].parsed.summary
    preset = asked.option("preset", "a2a")
    units = asked.option("subexecutors", 8 if preset == "a2a" else None)
    found = [equal("preset", preset, _one(said.get("presets")))]
    if asked.case.sizes:
        size = asked.case.sizes[0]
        found.append(equal("bytes per transfer", size, said.get("bytes_per_transfer")))
    if units is not None:
        found.append(equal("compute units", units, _one(said.get("subexecutors"))))
    if asked.platform.gpus:
        found.append(equal("GPUs", asked.platform.gpus.count, said.get("gpus")))
    return tuple(found)


def _one(said: object) -> str | None:
    """What is said in several places is said once; ``None`` where it is not said at all."""
    return ", ".join(map(str, dict.fromkeys(said))) if isinstance(said, tuple) and said else None
