"""Where the project lies, and the documents beside it, which only some machines have."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
