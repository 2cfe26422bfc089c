"""The folder of one run: what is written there, how, and how it is read back.

Whole files are written beside their place and renamed into it, lines are appended under a lock:
nothing half-written is ever read as whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from railgauge.core import chain
from railgauge.core.errors import BadInput, RailgaugeError, from_json, to_json
from railgauge.core.model import Case, Transcript
from railgauge.core.naming import title
from railgauge.core.plain import from_plain, to_plain
from railgauge.core.question import CaseResult
from railgauge.core.redaction import in_strings, mask_assignment, mask_environment, mask_values
from railgauge.judging.stamp import Evidence
from railgauge.leases.files import locked

# The SHA-256 of each file of transcripts, written ahead of the file itself: what may be taken over
# by a run that carries this one on.
VOUCHED = "vouched.jsonl"
# The SHA-256 of every file of a run that has ended.
MANIFEST = "manifest.json"
_TAIL_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class Identity:
    """The case that a file of transcripts is of."""

    key: str
    sizes: tuple[int, ...]
    repeats: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of transcripts, for programs."""

    case: Identity
    runs: tuple[tuple[Transcript, ...], ...]
    error: RailgaugeError | None


class Store:
    """Reads and writes a run's folder. Several processes may use it at once."""

    def __init__(
        self,
        folder: Path,
        evidence: Callable[[], str] = lambda: Evidence.HARDWARE,
        secrets: Sequence[str] = (),
    ) -> None:
        """``secrets`` are values that must not be written, whatever printed them.

        ``evidence`` is asked whenever something is written: before the survey nobody knows.
        """
        self.folder = folder
        self._evidence = evidence
        self._secrets = tuple(secrets)

    @property
    def evidence(self) -> str:
        return self._evidence()

    @property
    def transcripts(self) -> Path:
        return self.folder / "transcripts"

    def transcript_name(self, case: Case) -> str:
        """The readable transcript of a case, relative to the run's folder."""
        return text_file(case)

    def load(self, case: Case) -> CaseResult | None:
        """What was measured for this very case: every size of it, the repeats so far.

        Of a file that is not whole nothing is believed.
        """
        try:
            data = json.loads((self.folder / case_file(case)).read_text(encoding="utf-8"))
            kept = from_plain(Kept, data)
        except (FileNotFoundError, ValueError, BadInput):
            return None
        return CaseResult(kept.runs, kept.error) if kept.case == identity(case) else None

    def save(self, case: Case, result: CaseResult) -> CaseResult:
        """Keep a case's transcripts, for people and for programs, before they are parsed.

        What is kept, without the values of secret variables, is what is returned to be judged.
        """
        result = self.keep(case, result)
        readable = [_readable(run, number) for number, run in enumerate(result.runs, 1)]
        ended = [f"### no more: {result.error}\n"] if result.error else []
        text = "\n".join([f"### {title(case)}, {self.evidence} evidence", *readable, *ended])
        write_whole(self.folder / self.transcript_name(case), text)
        return result

    def keep(self, case: Case, result: CaseResult) -> CaseResult:
        """Keep the repeats of a case so far: what is measured outlives whoever measures."""
        result = self._masked(result)
        kept = Kept(identity(case), result.runs, result.error)
        name, text = case_file(case), json_text(self._plain(to_plain(kept)))
        self._vouch(name, text)
        write_whole(self.folder / name, text, durable=True)
        return result

    def _vouch(self, name: str, text: str) -> None:
        """Say what a file will hold. Whoever is killed before it does has an older one there."""
        path = self.folder / VOUCHED
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path):
            _append_bound(path, {"name": name, "sha256": digest}, durable=True)

    def _masked(self, result: CaseResult) -> CaseResult:
        runs = tuple(tuple(map(self._masked_transcript, run)) for run in result.runs)
        if result.error is None or not self._secrets:
            return CaseResult(runs, result.error)
        return CaseResult(runs, from_json(in_strings(to_json(result.error), self.masked)))

    def _masked_transcript(self, one: Transcript) -> Transcript:
        return replace(
            one,
            argv=tuple(self.masked(mask_assignment(word)) for word in one.argv),
            stdout=self.masked(one.stdout),
            stderr=self.masked(one.stderr),
            environment=in_strings(mask_environment(one.environment), self.masked),
        )

    def masked(self, text: str) -> str:
        """The text without the values of secret variables, as it can be read back from a file."""
        return mask_values(text.encode("utf-8", "replace").decode(), self._secrets)

    def write_json(self, name: str, data: object) -> None:
        """A whole file of JSON, as ``json_text`` writes it, without secret values."""
        write_whole(self.folder / name, json_text(self._plain(data)))

    def _plain(self, data: object) -> object:
        return in_strings(data, self.masked) if self._secrets else data

    def read_json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def write_manifest(self, more: Mapping[str, str]) -> None:
        """SHA-256 of every file of the run, last of all; ``more`` stands beside it."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        digests = {
            path.relative_to(self.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(found)
            if path.name != MANIFEST
        }
        self.write_json(MANIFEST, {"schema_version": 1, "sha256": digests, **more})

    def append(self, name: str, data: Mapping[str, object]) -> None:
        """One line of JSON at the end of a ``.jsonl`` file.

        A writer that was killed may have left half a line there: it stays a line of its own.
        """
        line = _line_of(self._plain(data))
        path = self.folder / name
        with locked(self.folder / "leases" / f"{path.name}.lock"), path.open("ab+") as file:
            file.write(b"" if _at_line_start(file) else b"\n")
            file.write(line.encode())

    def append_bound(self, name: str, data: Mapping[str, Any]) -> None:
        """The same with a field more, which binds the line to all lines before it."""
        path, plain = self.folder / name, self._plain(data)
        assert isinstance(plain, Mapping)
        with locked(self.folder / "leases" / f"{path.name}.lock"):
            _append_bound(path, plain)

    def take_out(self, name: str, is_out: Callable[[Any], bool]) -> None:
        """Have a ``.jsonl`` file without some lines; whoever appends to it waits meanwhile."""
        path = self.folder / name
        with locked(self.folder / "leases" / f"{path.name}.lock"):
            kept = [line for line in self.lines(name)[0] if not is_out(line)]
            if kept and chain.FIELD in kept[0]:
                kept = list(chain.rebound(kept))
            write_whole(path, "".join(map(_line_of, kept)))

    def lines(self, name: str, offset: int = 0) -> tuple[list[Any], int]:
        """The lines from byte ``offset`` on, and where the next ones will start.

        Half a line is left out: the item that it was about counts as one without a result.
        """
        path = self.folder / name
        if not path.exists():
            return [], offset
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        return list(_whole_values(whole)), offset + len(whole)


def json_text(data: object) -> str:
    """JSON as every file of a run is written: the same data give the same bytes."""
    return json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _line_of(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True) + "\n"


def _append_bound(path: Path, line: Mapping[str, Any], *, durable: bool = False) -> None:
    with path.open("ab+") as file:
        last = _last_whole(file)
        begun = b"" if _at_line_start(file) else b"\n"
        file.write(begun + _line_of(chain.bound(line, last)).encode())
        if durable:
            file.flush()
            os.fsync(file.fileno())


def _last_whole(file: BinaryIO) -> str:
    """What binds the last whole line of a file; empty if there is none."""
    end, size = file.seek(0, os.SEEK_END), _TAIL_BYTES
    while True:
        start = max(0, end - size)
        file.seek(start)
        tail = file.read(end - start).split(b"\n")
        for line in reversed(tail if start == 0 else tail[1:]):
            with suppress(ValueError, KeyError, TypeError):
                return str(json.loads(line)[chain.FIELD])
        if start == 0:
            return ""
        size *= 2


def _at_line_start(file: BinaryIO) -> bool:
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _whole_values(data: bytes) -> Iterator[Any]:
    for line in data.split(b"\n"):
        with suppress(ValueError):
            yield json.loads(line)


def write_whole(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a file so that it is there whole or not at all; ``durable`` outlives a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", errors="replace")
        if durable:
            with beside.open("rb") as file:
                os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def new_folder(reports: Path, stem: str) -> Path:
    """A fresh folder ``reports/<stem>``, numbered if there is one of that name."""
    for name in _numbered(stem):
        folder = reports / name
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError("unreachable: the names never end")


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1


def point_latest(reports: Path, folder: Path) -> None:
    """Let ``reports/latest`` lead to ``folder``."""
    beside = reports / f".latest.{os.getpid()}"
    beside.unlink(missing_ok=True)
    beside.symlink_to(folder.name, target_is_directory=True)
    beside.replace(reports / "latest")


def identity(case: Case) -> Identity:
    return Identity(case.key, case.sizes, case.repeats)


def case_file(case: Case) -> str:
    """Where a case's transcripts are kept for programs, relative to the run's folder."""
    return f"transcripts/{_stem(case)}.json"


# With what is added to it while it is written, far below the 255 bytes that a file's name may have.
_LONGEST_STEM = 120
DIGESTED = re.compile(r"-\d+-nodes-[0-9a-f]{16}$")
"""The end of a stem that does not name its nodes."""


def digest(key: str) -> str:
    """What stands for a case's key in the name of a file where the key itself is too long."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _stem(case: Case) -> str:
    """The key, or measurement, number of nodes and digest: the nodes stand in the file."""
    slug = _slug(case.key)
    if len(slug) <= _LONGEST_STEM:
        return slug
    return f"{_slug(case.measurement)[:60]}-{len(case.nodes)}-nodes-{digest(case.key)}"


def text_file(case: Case) -> str:
    """Where they are kept for people."""
    return f"transcripts/{_stem(case)}.txt"


def _slug(key: str) -> str:
    """A case's key as a file name that every system takes.

    The colon between two nodes becomes a plus, which no node's name has: ``a:b_c`` and ``a_b:c``
    are two files.
    """
    return re.sub(r"[^A-Za-z0-9._+-]+", "_", key.replace(":", "+")).strip("_")


def _readable(run: Sequence[Transcript], number: int) -> str:
    return "\n".join(_command_text(transcript, number) for transcript in run)


def _command_text(transcript: Transcript, number: int) -> str:
    ended = transcript.error or f"exit code {transcript.exit_code}"
    head = f"### run {number}, {transcript.role} on {transcript.node}, {transcript.started_at}"
    tail = f"### {ended}, {transcript.duration_s:.3f} s"
    errors = f"### stderr\n{transcript.stderr.rstrip()}\n" if transcript.stderr.strip() else ""
    return f"{head}\n$ {' '.join(transcript.argv)}\n{transcript.stdout}\n{errors}{tail}\n"
