"""What the suite says of limits that find no fault, of a platform file in its long form."""

import json
from pathlib import Path

from railgauge.config import thresholds
from railgauge.planning import plan


def platform_of(doc):
    return thresholds.load_file(Path("mine.json"), json.dumps(doc))


def complaints(doc):
    return list(plan.complaints(platform_of(doc)))


def limits_of(doc):
    """The limits of a file, each with its JSON pointer."""
    return {
        f"/measurements/{name}/limits/{number}": limit
        for name, one in doc["measurements"].items()
        for number, limit in enumerate(one.get("limits", ()))
    }
