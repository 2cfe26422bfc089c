"""The tested set of packages, their hashes and licences, and the bill of materials of a release."""

from __future__ import annotations

import json
import re
from importlib import metadata

import bill_of_materials as bill
import pytest
from packaging.requirements import Requirement
from testing.places import ROOT

from railgauge.cli.pages import packages

CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")
PINNED = bill.pinned(CONSTRAINTS)
NEEDED = [
    one
    for one in map(Requirement, metadata.requires("railgauge") or ())
    if one.marker is None or one.marker.evaluate({"extra": ""})
]


def test_every_package_is_pinned_with_hashes() -> None:
    assert len(PINNED) > len(NEEDED)
    assert all(PINNED.values())
    assert {packages.compared(one.name) for one in NEEDED} <= {name for name, _ in PINNED}
    rows = re.findall(r"^[^\s#].*$", CONSTRAINTS, re.MULTILINE)
    assert all("==" in row for row in rows)


def test_what_is_pinned_is_within_the_bounds() -> None:
    for one in NEEDED:
        versions = [version for name, version in PINNED if name == packages.compared(one.name)]
        assert versions
        assert all(one.specifier.contains(version) for version in versions), one


def test_the_file_names_no_registry() -> None:
    assert "://" not in CONSTRAINTS
    assert "index" not in CONSTRAINTS


def test_what_is_needed_further_is_pinned_too() -> None:
    """With hashes, pip installs nothing that is not listed."""
    names = {name for name, _ in PINNED}
    assert set(packages.parts()) - {"railgauge"} <= names


def test_every_licence_is_known_and_on_the_page() -> None:
    page = packages.page(ROOT)
    for name, part in packages.parts().items():
        assert part.licence, name
        row = f"| {part.name} | {part.version} | {part.licence} |\n"
        assert (row in page) == (name != "railgauge")


@pytest.mark.parametrize(
    ("stated", "licence"),
    [
        ({"License-Expression": ["MIT"]}, "MIT"),
        ({"Classifier": ["License :: OSI Approved :: MIT License"]}, "MIT"),
        ({"License": ["Apache 2.0"]}, "Apache-2.0"),
        ({"Classifier": ["Topic :: X"], "License": ["Own licence\nlong text"]}, "Own licence"),
        ({}, ""),
    ],
)
def test_a_licence_is_read_wherever_it_stands(stated: dict[str, list[str]], licence: str) -> None:
    class About:
        def get(self, name: str) -> str | None:
            return stated.get(name, [None])[0]

        def get_all(self, name: str) -> list[str] | None:
            return stated.get(name)

    assert packages.licence_of(About()) == licence


def test_the_bill_lists_every_package_once() -> None:
    parts = packages.parts()
    found = json.loads(json.dumps(bill.document(parts, PINNED)))
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.5")
    assert found["metadata"]["component"]["name"] == "railgauge"
    references = [one["bom-ref"] for one in found["components"]]
    assert len(set(references)) == len(references) == len(parts) - 1
    known = {*references, found["metadata"]["component"]["bom-ref"]}
    assert {one["ref"] for one in found["dependencies"]} == known
    assert all(set(one["dependsOn"]) <= known for one in found["dependencies"])
    assert all(one["licenses"] for one in found["components"])


def test_a_tested_version_has_the_hashes_of_its_files() -> None:
    part = packages.Part("Some_Package", "1.0", "MIT", ())
    own = packages.Part("railgauge", "0", "Apache-2.0", ())
    text = "some-package==1.0 \\\n    --hash=sha256:" + "a" * 64 + "\nother==2.0 ; x\n"
    found = bill.document({"railgauge": own, "some-package": part}, bill.pinned(text))
    (one,) = found["components"]
    assert one["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert bill.pinned(text)["other", "2.0"] == ()
