"""The folders of the project and of the shared documents, which not every machine has."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
