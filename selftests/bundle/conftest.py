"""Two runs that all bundle tests read, each made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from testing import bundle_bench as bench
from testing import commands
from testing import forger_bench as forger
from testing.bundle_bench import Bundled

from railgauge.bundle import signing
from railgauge.cli import main, pytest_session

_SESSION = pytest_session.ended
Verify = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session", autouse=True)
def _reports_of_merged_runs() -> Iterator[None]:
    """``merge`` runs in a prepared interpreter (``own_interpreter``)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("railgauge.cli.pytest_session.ended", commands.session)
        yield


@pytest.fixture
def own_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """``merge`` starts an interpreter for its reports, as at a user's."""
    monkeypatch.setattr("railgauge.cli.pytest_session.ended", _SESSION)


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundled")


@pytest.fixture(scope="session")
def healthy(runs_folder: Path) -> Bundled:
    return bench.healthy(runs_folder)


@pytest.fixture(scope="session")
def red(runs_folder: Path) -> Bundled:
    return bench.red(runs_folder)


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    """``verify(path, *options)`` returns exit code, stdout and stderr; an error is one line.

    Nobody has to vouch for the bundle unless a key is given.
    """

    def verify(path: Path, *options: object) -> tuple[int, str, str]:
        capsys.readouterr()
        who = () if "--key" in options else ("--unsigned",)
        code = main(["verify", str(path), *who, *map(str, options)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert len(err.splitlines()) <= 1
        return code, out, err

    return verify


@pytest.fixture
def refused(verify: Verify, tmp_path: Path) -> Callable[..., str]:
    """``refused(bundle, change)`` forges the bundle and returns the message that refuses it."""
    key = Ed25519PrivateKey.generate()
    public = tmp_path / "forger.pub"
    public.write_text(signing.public_line(key))

    def refused(source: Bundled, *changes: object, **more: object) -> str:
        path = forger.sealed(source.path, tmp_path / "forged", key, *changes, **more)
        code, out, err = verify(path, "--key", public)
        assert (code, out) == (1, ""), err
        assert err.startswith("railgauge: NOT VERIFIED: ")
        return err

    refused.key, refused.public = key, public
    return refused
