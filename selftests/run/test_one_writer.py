"""Every text that is written or shown passes one mask: nobody writes or prints around it."""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from testing.places import ROOT

from railgauge.core import masking
from railgauge.core.masking import Mask
from railgauge.core.secret_forms import MASK
from railgauge.run import store, streams
from railgauge.run.store import mask_files, write_whole

TOKEN = "glpat-a1b2c3d4e5f6g7h8i9j0"
SOURCES = ROOT / "src/railgauge"
# Modules that write files themselves, and why nothing in these has to be masked.
WRITE_THEMSELVES = {
    "run/store.py": "it masks",
    "run/holding.py": "a random name",
    "bundle/archive.py": "files that the bundle has masked",
    "bundle/merging.py": "files of runs and bundles, byte by byte, whose digests count",
    "bundle/unpack.py": "files of a bundle, byte by byte, whose digests count",
    "cli/allure.py": "settings of a program, in a temporary folder",
    "cli/requalify.py": "deviations that the run has masked, in a temporary folder",
    "cli/thresholds.py": "a platform file to check, in a temporary folder",
    "report/certificate/printing.py": "a page to print, in a temporary folder",
    "leases/files.py": "locks",
    "site/folder.py": "files of the package",
    "transport/host_keys.py": "public keys of hosts",
}
_WRITES = {"write_text", "write_bytes"}


def written_by(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = [*node.args, *(word.value for word in node.keywords)]
            modes = [one.value for one in given if isinstance(one, ast.Constant)]
            opens = node.func.attr in ("open", "fdopen") and any(
                isinstance(mode, str) and set(mode) & set("wax+") and len(mode) < 4
                for mode in modes
            )
            if node.func.attr in _WRITES or opens:
                yield node.func.attr


def test_no_module_writes_a_file_without_the_mask():
    paths = {p.relative_to(SOURCES).as_posix(): p for p in SOURCES.rglob("*.py")}
    found = {name for name, path in paths.items() if any(written_by(path))}
    assert found == WRITE_THEMSELVES.keys()


@pytest.fixture
def mask(monkeypatch: pytest.MonkeyPatch) -> Mask:
    made = Mask()
    for module in (masking, store):
        monkeypatch.setattr(module, "MASK_OF_PROCESS", made)
    return made


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", f"<p>see {TOKEN} &amp; more</p>"),
        ("a.xml", f'<testcase name="x" message="{TOKEN}"/>'),
        ("a.csv", f"node,serial\nn1,{TOKEN}\n"),
        ("a.json", f'{{"a": ["{TOKEN}"], "password": "pw"}}'),
        ("a.jsonl", f'{{"a": 1}}\n{{"a": "{TOKEN}"}}\n'),
        ("a.svg", f"<text>{TOKEN}</text>"),
    ],
)
def test_every_written_file_is_masked(name: str, text: str, tmp_path: Path, mask: Mask):
    write_whole(tmp_path / name, text)
    stored = (tmp_path / name).read_text()
    assert TOKEN not in stored
    assert MASK in stored
    (tmp_path / name).write_text(text)
    mask_files(tmp_path)
    assert (tmp_path / name).read_text() == stored


def test_a_text_without_a_secret_is_written_byte_by_byte(tmp_path: Path, mask: Mask):
    text = '{"b": 1,   "a": "x"}'
    write_whole(tmp_path / "a.json", text)
    assert (tmp_path / "a.json").read_text() == text


def test_all_output_is_masked_whoever_prints_it(monkeypatch: pytest.MonkeyPatch):
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with streams.masked_streams():
        sys.stderr.write(f"a {TOKEN}\n")
        sys.stdout.writelines([f"b {TOKEN}\n"])
        with streams.masked_streams():
            sys.stdout.write(f"c {TOKEN}\n")
        print(f"d {TOKEN}")  # noqa: T201 - it writes as C code
    sys.stdout.write("e\n")
    for stream in (out, err):
        stream.flush()
        text = stream.buffer.getvalue().decode()  # type: ignore[attr-defined]
        assert TOKEN not in text
        assert MASK in text
    assert out.buffer.getvalue().endswith(b"\ne\n")  # type: ignore[attr-defined]
