"""The folder of one run: how its files are written and read back.

A file is written under a temporary name and then renamed; a line is appended under a lock. A reader
never takes an incomplete file or line for a complete one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from railgauge.core import chain, run_files
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.digests import sha256_of
from railgauge.core.errors import BadInput, RailgaugeError, from_json, to_json
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.model import Case, Transcript
from railgauge.core.naming import title
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.question import CaseResult
from railgauge.core.run_files import MANIFEST, TRANSCRIPTS
from railgauge.judging import telemetry
from railgauge.judging.stamp import Evidence
from railgauge.leases.files import locked
from railgauge.run.appended import NO_JSON, Appended, line_of
from railgauge.run.case_files import case_file, samples_file, text_file
from railgauge.run.disk_quota import DiskQuota
from railgauge.run.kept_text import KeptRuns, changed_text, json_text, readable, whole_text

# The SHA-256 of each file of evidence, in a chain. A line is written when the file is on the disk
# under a temporary name, before it gets its own name: so each file that is listed here exists.
VOUCHED = "vouched.jsonl"
_UTF8 = "utf-8", "replace"
_MOST_CLEAN = 1024  # commands


@dataclass(frozen=True, slots=True)
class Identity:
    """The case to which a file of transcripts belongs."""

    key: str
    sizes: tuple[int, ...]
    repeats: int


@dataclass(frozen=True, slots=True)
class Kept:
    """The content of a JSON file of transcripts."""

    case: Identity
    runs: tuple[tuple[Transcript, ...], ...]
    error: RailgaugeError | None


class Store:
    """Reads and writes a run's folder. Several processes may use it at once."""

    def __init__(
        self,
        folder: Path,
        evidence: Callable[[], str] = lambda: Evidence.HARDWARE,
        quota: DiskQuota | None = None,
        run: Path | None = None,
    ) -> None:
        """``run`` is the folder of the run, which vouches for the files, if ``folder`` is below it.

        ``evidence`` is called at every write: its kind is not known before the survey.
        """
        self.folder = folder
        self._name = str(folder)
        self._run = run or folder
        self._evidence = evidence
        self._clean: set[tuple[str, ...]] = set()
        self._quota = quota or DiskQuota(folder)
        self._lines: dict[str, Appended] = {}
        self._vouched = Appended(self._run / VOUCHED, self._run / VOUCHED)
        self._kept = KeptRuns(
            lambda run: tuple(map(self.masked_transcript, run)),
            to_plain,  # its input is masked already
        )

    @property
    def evidence(self) -> str:
        return self._evidence()

    @property
    def transcripts(self) -> Path:
        return self.folder / TRANSCRIPTS

    def transcript_name(self, case: Case) -> str:
        """The path of a case's readable transcript, relative to the run's folder."""
        return text_file(case)

    def samples_name(self, case: Case) -> str:
        """The path of the samples of a case's GPUs as CSV, relative to the run's folder."""
        return samples_file(case)

    def load(self, case: Case) -> CaseResult | None:
        """Return the repeats stored for this case; ``None`` if there are none.

        A file that is incomplete, or has other sizes or another number of repeats, is ignored.
        Raises ``BadInput`` for a file that a newer version of the package made.
        """
        return kept_in(self.folder / case_file(case), case)

    def save(self, case: Case, result: CaseResult) -> CaseResult:
        """Store a case's transcripts, before they are parsed, as text and as JSON.

        Returns what is stored and judged: secrets are masked in it.
        """
        result = self.keep(case, result)
        self._kept.forget(case_file(case))
        repeats = [readable(run, number) for number, run in enumerate(result.runs, 1)]
        ended = [f"### no more: {result.error}\n"] if result.error else []
        text = "\n".join([f"### {title(case)}, {self.evidence} evidence", *repeats, *ended])
        self._quota.take(len(text))
        put_whole(self.folder / self.transcript_name(case), text)
        if samples := telemetry.columns(result.runs):
            put_whole(self.folder / self.samples_name(case), samples)
        return result

    def keep(self, case: Case, result: CaseResult) -> CaseResult:
        """Store the repeats of a case so far, so that they survive the death of this process."""
        name = case_file(case)
        runs, error = self._kept.of(name, result.runs), self._masked_error(result.error)
        rest = self.plain(_stamped_kept(Kept(identity(case), (), error)))
        assert isinstance(rest, Mapping)
        self._write_vouched(name, whole_text(rest, runs))
        return CaseResult(tuple(one.masked for one in runs), error)

    def write_evidence(self, name: str, data: Mapping[str, Any]) -> None:
        """Write a JSON file for which the run vouches, as for a file of transcripts."""
        self._write_vouched(name, json_text(self.plain(run_files.stamped(name, data))))

    def _write_vouched(self, name: str, text: str) -> None:
        """Write a file whole, vouch for it, and give it its name.

        If the process is killed or the disk fails in between, the file keeps its temporary name,
        and may be vouched for already.
        """
        self._quota.take(len(text))
        path = self.folder / name
        beside = _written_beside(path, text, durable=True)
        digest = hashlib.sha256(text.encode(*_UTF8)).hexdigest()
        listed = path.relative_to(self._run).as_posix()
        line = run_files.stamped(VOUCHED, {"name": listed, "sha256": digest})
        self._vouched.add_bound(line, durable=True)
        beside.replace(path)

    def _masked_error(self, error: RailgaugeError | None) -> RailgaugeError | None:
        plain = None if error is None else to_json(error)
        masked = MASK_OF_PROCESS.data(plain)
        return error if masked == plain else from_json(masked)

    def masked_transcript(self, one: Transcript) -> Transcript:
        return replace(
            one,
            argv=one.argv if one.argv in self._clean else self._masked_words(one.argv),
            stdout=self.masked(one.stdout),
            stderr=self.masked(one.stderr),
            environment=MASK_OF_PROCESS.environment(one.environment),
        )

    def _masked_words(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        masked = MASK_OF_PROCESS.words([word.encode(*_UTF8).decode() for word in argv])
        if masked == argv and len(self._clean) < _MOST_CLEAN:
            self._clean.add(argv)  # the suite's own commands recur
        return masked

    def masked(self, text: str) -> str:
        """The text with secrets masked, and as it reads back from a UTF-8 file."""
        return MASK_OF_PROCESS.text(text if text.isascii() else text.encode(*_UTF8).decode())

    def write_json(self, name: str, data: object) -> None:
        """Write a JSON file as ``json_text`` formats it, with secret values masked.

        An object of a file of a run gets the version of that file.
        """
        whole = run_files.stamped(name, data) if isinstance(data, Mapping) else data
        text = json_text(self.plain(whole))
        self._quota.take(len(text))
        put_whole(self.folder / name, text)

    def plain(self, data: object) -> object:
        """Plain data with secrets masked."""
        return MASK_OF_PROCESS.data(data)

    def read_json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def write_manifest(self, more: Mapping[str, str]) -> None:
        """Write the manifest, the run's last file: every SHA-256, and the fields of ``more``."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        digests = {
            path.relative_to(self.folder).as_posix(): sha256_of(path)
            for path in PROGRESS_OF_PROCESS.counted("manifest.json: file", sorted(found))
            if path != self.folder / MANIFEST
        }
        whole = run_files.stamped(MANIFEST, {"sha256": digests, **more})
        text = json_text(self.plain(whole))
        self._quota.take(len(text))
        put_whole(self.folder / MANIFEST, text, durable=True)

    def renew_in_manifest(self, name: str) -> None:
        """Put the digest that a file has now into the manifest, if the run has one."""
        if (self.folder / MANIFEST).is_file():
            held = self.read_json(MANIFEST)
            digests = {**held["sha256"], name: sha256_of(self.folder / name)}
            self.write_json(MANIFEST, {**held, "sha256": digests})

    def append(self, name: str, data: Mapping[str, object]) -> None:
        """Append one line of JSON to a ``.jsonl`` file."""
        self.append_masked(name, self._masked_line(name, data))

    def append_masked(self, name: str, data: Mapping[str, object]) -> None:
        """Append a line of data in which secrets are masked already."""
        line = line_of(data)
        self._quota.take(len(line))
        self._appended(name).add(line)

    def append_bound(self, name: str, data: Mapping[str, Any]) -> None:
        """Append a line with one more field: a digest that chains it to all lines before it."""
        self._appended(name).add_bound(self._masked_line(name, data))

    def _masked_line(self, name: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self.plain(run_files.stamped(name, data)))

    def _appended(self, name: str) -> Appended:
        if name not in self._lines:
            path = self.folder / name
            self._lines[name] = Appended(path, self._lock_of(path))
        return self._lines[name]

    def _lock_of(self, path: Path) -> Path:
        return self.folder / "leases" / f"{path.name}.lock"

    def take_out(self, name: str, is_out: Callable[[Any], bool]) -> None:
        """Remove the lines of a ``.jsonl`` file for which ``is_out`` is true, under its lock."""
        path = self.folder / name
        with locked(self._lock_of(path)):
            kept = [line for line in self.lines(name)[0] if not is_out(line)]
            if kept and chain.FIELD in kept[0]:
                kept = list(chain.rebound(kept))
            write_whole(path, lines_text(kept))

    def lines(self, name: str, offset: int = 0) -> tuple[list[Any], int]:
        """Return the lines from byte ``offset`` on, and the offset of the next ones.

        An incomplete line is left out, so its item has no result.
        """
        try:
            file = os.open(f"{self._name}/{name}", os.O_RDONLY)  # called for each row of a run
        except FileNotFoundError:
            return [], offset
        with os.fdopen(file, "rb", buffering=0) as opened:
            opened.seek(offset)
            data = opened.read()
        whole = data[: data.rfind(b"\n") + 1]
        return list(_whole_values(whole)), offset + len(whole)


def kept_in(path: Path, case: Case) -> CaseResult | None:
    """The repeats of a case in a JSON file of transcripts; as ``Store.load`` returns them."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, *NO_JSON):
        return None
    run_files.refuse_newer(TRANSCRIPTS, data, str(path))
    try:
        kept = kept_of(data)
    except BadInput:
        return None
    return CaseResult(kept.runs, kept.error) if kept.case == identity(case) else None


def kept_of(data: object) -> Kept:
    """The content of a JSON file of transcripts. Raises ``BadInput``."""
    plain = run_files.unstamped(TRANSCRIPTS, data) if isinstance(data, Mapping) else data
    return from_plain(Kept, plain)


def _stamped_kept(kept: Kept) -> dict[str, Any]:
    return run_files.stamped(TRANSCRIPTS, to_plain(kept))


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a ``.jsonl`` file that hold objects, one by one: it may be gigabytes."""
    if path.is_file():
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield from (one for one in _whole_values(line) if isinstance(one, dict))


def lines_text(lines: Iterable[Mapping[str, Any]]) -> str:
    """The text of a ``.jsonl`` file with these lines."""
    return "".join(map(line_of, lines))


def _whole_values(data: bytes) -> Iterator[Any]:
    for line in data.split(b"\n"):
        with suppress(*NO_JSON):
            yield json.loads(line)


def write_whole(path: Path, text: str) -> None:
    """Write a file of any kind atomically, with secrets masked."""
    mask = MASK_OF_PROCESS
    put_whole(path, changed_text(path.name, text, mask.text, mask.data))


def mask_files(folder: Path) -> None:
    """Mask secrets in files that others wrote, such as attachments of a site's own tests."""
    for path in folder.iterdir():
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        masked = changed_text(path.name, text, MASK_OF_PROCESS.text, MASK_OF_PROCESS.data)
        if masked != text:
            path.write_text(masked, encoding="utf-8", errors="surrogateescape")


def put_whole(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a file atomically whose secrets are masked already.

    With ``durable`` its content survives a power failure.
    """
    beside = _written_beside(path, text, durable=durable)
    try:
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _written_beside(path: Path, text: str, *, durable: bool) -> Path:
    """Write a file whole under a temporary name, and return that."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write(_created(beside), text.encode(*_UTF8), durable=durable)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    return beside


def _created(path: Path) -> int:
    """Open a new file; makes its folder if it is missing."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        return os.open(path, flags, 0o666)  # less the umask
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o666)


def _write(file: int, data: bytes, *, durable: bool) -> None:
    try:
        while data:
            data = data[os.write(file, data) :]
        if durable:
            os.fsync(file)
    finally:
        os.close(file)


def identity(case: Case) -> Identity:
    return Identity(case.key, case.sizes, case.repeats)
