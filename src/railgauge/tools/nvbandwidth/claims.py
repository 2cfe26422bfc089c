"""Which test cases nvbandwidth ran, and on which GPUs, beside what was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from railgauge.tools.claims import Asked, Claim, Heard, equal, same_models
from railgauge.tools.hosts import claim_of_hosts

_DEVICE = re.compile(r"[0-9]{1,4}: (.{1,80}?) \([0-9a-fA-F:.]{4,20}\)(?:: \(([^()\s]{1,255})\))?")


def claims(asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:
    """Test cases, how many GPUs, their host and model. Buffers and samples are never printed."""
    said = heard[0].parsed.summary
    wanted = asked.option("testcases", ())
    found = [_testcases(wanted, said.get("testcases"))] if wanted else []
    found += _devices(asked, said.get("devices"))
    unprinted = {"buffer_mib": "buffer size", "samples": "samples"}
    for option, item in unprinted.items():
        if asked.option(option) is not None:
            found.append(equal(item, asked.option(option), None))
    return tuple(found)


def _testcases(wanted: object, said: object) -> Claim:
    """A case that was waived is missing; one that nobody asked for is of another command."""
    names = [
        sorted(map(str, one)) if isinstance(one, list | tuple) else [] for one in (wanted, said)
    ]
    return equal("test cases", ", ".join(names[0]), ", ".join(names[1]) or None)


def _devices(asked: Asked, said: object) -> Iterator[Claim]:
    if asked.platform.gpus is None:
        return
    devices = said if isinstance(said, tuple) else ()
    yield equal("GPUs", asked.platform.gpus.count, len(devices) or None)
    named = [match for device in devices if (match := _DEVICE.match(str(device)))]
    yield claim_of_hosts("host", asked, [match[2] for match in named if match[2]])
    wanted = asked.models(asked.case.nodes)
    models = same_models("GPU model", wanted, (match[1] for match in named))
    if models:
        yield models
