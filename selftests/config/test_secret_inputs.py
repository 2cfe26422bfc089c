"""Secrets in what the user gives: names and commands cannot hold one, descriptions are masked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from testing.core_values import long_form
from testing.places import ROOT

from railgauge.config import deviations, hostfile, thresholds
from railgauge.config.thresholds import masked
from railgauge.core.errors import BadInput
from railgauge.core.masking import Mask
from railgauge.core.secret_forms import MASK

TOKEN = "glpat-a1b2c3d4e5f6g7h8i9j0"
SCHEMA = ROOT / "hostfiles/schema.json"


@pytest.fixture(autouse=True)
def mask(monkeypatch: pytest.MonkeyPatch) -> Mask:
    made = Mask()
    for module in (hostfile, deviations, masked):
        monkeypatch.setattr(module, "MASK_OF_PROCESS", made)
    return made


def load(folder: Path, more: str, nodes: str = "[n1, n2]", name: str = "mine"):
    path = folder / f"{name}.yaml"
    path.write_text(f"cluster: c\nplatform: h200\ntransport: ssh\nnodes: {nodes}\n{more}\n")
    return hostfile.load(path, schema_file=SCHEMA)


def test_secrets_in_a_hostfile_are_known(tmp_path: Path, mask: Mask):
    load(tmp_path, 'setup: ["curl -su bmc:Pa55word https://b.example"]')
    load(tmp_path, "environment: {HF_TOKEN: Abc12-3}")
    assert mask.text("Pa55word and Abc12-3") == f"{MASK} and {MASK}"


@pytest.mark.parametrize(
    ("nodes", "name", "more"),
    [
        (f"[n1, {TOKEN}]", "mine", ""),
        ("[n1, n2-blue-7]", "mine", "environment: {LAB_PASSWORD: n2-blue-7}"),
        ("[n1, n2]", TOKEN, ""),
    ],
)
def test_a_name_that_is_a_secret_is_bad_input(tmp_path: Path, nodes: str, name: str, more: str):
    """Files and test items have the name; a masked name could not be found."""
    with pytest.raises(BadInput, match="holds a secret"):
        load(tmp_path, more, nodes, name)


def test_usual_names_of_sites_are_no_secrets(tmp_path: Path, mask: Mask):
    mask.know({"USER_PASSWORD": "gpu", "SSH_KEY": "/root/.ssh/id", "A_SECRET": "required"})
    load(tmp_path, "", "[gpu001, 'gpu-node-[10-12]', token-ring-1, key01, required]")


def test_reason_and_name_of_a_deviation_are_masked(tmp_path: Path):
    path = tmp_path / "deviations.yaml"
    entry = {"subject": "n1", "cause": "link-down", "reason": f"RMA, login {TOKEN}"}
    path.write_text(json.dumps([{**entry, "who": "ana password=q7Zq7Z", "until": "2199-01-31"}]))
    (one,) = deviations.load(path)
    assert (one.reason, one.who) == (f"RMA, login {MASK}", f"ana password={MASK}")


def platform(folder: Path, change) -> thresholds.Platform:
    document = long_form("h200")
    change(document)
    (folder / "schema.json").write_bytes((ROOT / "thresholds/schema.json").read_bytes())
    (folder / "h200.json").write_text(json.dumps(document))
    return thresholds.load("h200", folder)


def test_descriptions_of_a_platform_file_are_masked_in_the_judged_and_stored_file(tmp_path: Path):
    def change(document):
        document["title"] += f" {TOKEN}"
        document["not_applicable"]["acs"] += f" {TOKEN}"
        document["documents"]["900"] = f"see https://me:{TOKEN}@docs.example"

    made = platform(tmp_path, change)
    assert made.title.endswith(MASK)
    assert made.not_applicable["acs"].endswith(MASK)
    assert TOKEN not in made.text
    assert thresholds.load_file(tmp_path / "h200.json", made.text) == made


def test_a_secret_that_a_command_would_need_is_bad_input(tmp_path: Path):
    def change(document):
        document["environment"]["variables"]["HF_TOKEN"] = "hunT3rq7Z"

    with pytest.raises(BadInput, match="a secret is in a variable or an option") as caught:
        platform(tmp_path, change)
    assert "hunT3r" not in str(caught.value)


def test_a_description_that_is_nothing_but_a_secret_is_refused_before_a_node_is_touched(
    tmp_path: Path,
):
    with pytest.raises(BadInput, match="too short"):
        platform(tmp_path, lambda document: document["documents"].update({"900": TOKEN}))
