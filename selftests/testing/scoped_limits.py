"""A platform with one collective, and limits of it, that the tests of scopes change."""

from railgauge.config import thresholds
from railgauge.core.model import Pairing
from railgauge.planning import plan
from testing.core_values import document, limit_of, measurement_of, put, with_gpus

MIB = 2**20
PATH = Pairing("mlx5_0")


def load(tmp_path, doc):
    return thresholds.load("bench", put(tmp_path / "thresholds", doc))


def collective(asserts, limits, scope="node", **changes):
    """A platform with two linked GPUs and one collective."""
    doc = with_gpus(document())
    doc["hardware"]["gpus"]["link"] = {"gb_per_s": 64, "basis": doc["hardware"]["nics"][0]["basis"]}
    found = measurement_of(doc)
    del found["memory"]
    basis = limit_of(doc)["basis"]
    made = {
        "tool": "ccl-tests", "command": "all_reduce_perf", "scope": scope, "asserts": asserts,
        "limits": [{"basis": basis, **one} for one in limits],
    }  # fmt: skip
    found.update({**made, **changes})
    return doc


AVERAGE = {"metric": "avg_busbw", "per": "run"}
NIGHTLY = {"from": "64KiB", "to": "8MiB", "factor": 128}


def average(**changes):
    """A limit of the average over the two sizes that the level nightly measures."""
    return {"metric": "avg_busbw", "unit": "GB/s", "floor": 8, "over": NIGHTLY, **changes}


def bus(**changes):
    return {"metric": "busbw", "unit": "GB/s", "floor": 30, **changes}


def measurement(tmp_path, doc):
    return load(tmp_path, doc).measurements["host_write_bandwidth"]


def complaints(tmp_path, doc):
    return list(plan.complaints(load(tmp_path, doc)))
