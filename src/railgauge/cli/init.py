"""``railgauge init``: make a site, or say how an older one differs from the installed package."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from railgauge import __version__
from railgauge.cli import text
from railgauge.core.errors import BadInput
from railgauge.site import contents, folder
from railgauge.site.folder import Manifest
from railgauge.site.state import PENDING, SAYS, Changes, SiteFile, State, overwrite, update

HELP = "make a site: a folder with the tests, platform files, hostfiles and examples"
EXAMPLE = (
    "example: railgauge init acceptance; exit codes: 0 the site is up to date, "
    "1 it differs from this version of railgauge, 2 nothing could be done"
)
_DIFFERS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="the site; made if it is missing")
    parser.add_argument(
        "--update",
        action="store_true",
        help="bring an older site up to date; files that you changed stay as they are",
    )
    parser.add_argument(
        "--overwrite",
        action="append",
        default=[],
        metavar="FILE",
        help="take railgauge's version of this file, which you changed or removed; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    """Make the site or update it as asked; otherwise only compare. Exit code 1: it differs."""
    site = options.folder
    if site.exists() and not site.is_dir():
        raise BadInput("is not a folder", where=str(site))
    made = folder.manifest(site)
    before = folder.states(site, made)
    is_new = all(file.state == State.NEW for file in before)
    changes = update(before) if is_new or options.update else Changes()
    changes = overwrite(before, _known(options.overwrite, before), changes)
    if changes != Changes():
        folder.apply(site, made, changes)
    done = _Done(site, made, changes, folder.states(site, folder.manifest(site)))
    has_environment = not done.waiting and folder.link_environment(site)
    if options.json:
        text.print_json(_json(done))
    elif is_new:
        print("\n".join(_first_steps(done, has_environment)))
    else:
        print("\n".join(_lines(done)))
    return _DIFFERS if done.waiting or changes.beside else 0


def _known(asked: Sequence[str], files: Sequence[SiteFile]) -> list[str]:
    known = {file.name for file in files}
    names = [Path(name).as_posix() for name in asked]
    if unknown := sorted(set(names) - known):
        raise BadInput(
            f"--overwrite {unknown[0]}: railgauge has no such file",
            remedy="give the path from the site, as railgauge init lists it",
        )
    return names


@dataclass(frozen=True, slots=True)
class _Done:
    """What was done to a site, who had made it, and the states of its files afterwards."""

    site: Path
    made: Manifest
    changes: Changes
    files: Sequence[SiteFile]

    def of(self, *states: State) -> list[str]:
        return [file.name for file in self.files if file.state in states]

    @property
    def waiting(self) -> list[str]:
        """The files that an update would change or write beside the user's."""
        return self.of(*PENDING)


def _json(done: _Done) -> dict[str, object]:
    return {
        "folder": str(done.site),
        "version": __version__,
        "made_by": done.made.version or None,
        "written": list(done.changes.write),
        "beside": [f"{name}{folder.BESIDE}" for name in done.changes.beside],
        "deleted": list(done.changes.delete),
        "files": {state.value: done.of(state) for state in State},
    }


def _lines(done: _Done) -> Iterator[str]:
    yield from (f"written: {name}" for name in done.changes.write)
    yield from (f"deleted: {name}" for name in done.changes.delete)
    for name in done.changes.beside:
        yield f"yours stays: {name}; merge {name}{folder.BESIDE} into it, then delete that"
    state = "differs from" if done.waiting else "is up to date with"
    by = f"made by {done.made.version}" if done.made.version else "not made by railgauge init"
    unchanged = "; nothing was changed" if done.changes == Changes() else ""
    yield f"{done.site} ({by}) {state} railgauge {__version__}{unchanged if done.waiting else ''}"
    for kind, says in SAYS.items():
        if names := done.of(kind):
            yield f"{says}:"
            yield from (f"    {name}" for name in names)
    if done.waiting:
        yield f"compare:  diff -u {done.site}/FILE {contents.source()}/FILE"
        yield f"update:   railgauge init --update {done.site}"
        yield "          your changes stay; --overwrite FILE takes railgauge's version of a file"


def _first_steps(done: _Done, has_environment: bool) -> Iterator[str]:
    programs = f"{folder.ENVIRONMENT}/bin/" if has_environment else ""
    yield f"made {done.site} from railgauge {__version__}: {len(done.changes.write)} files"
    yield f"next:  cd {done.site}"
    yield f"       {programs}python -m pytest --level smoke         the embedded lab, simulated"
    yield "       cp hostfiles/example-metax-c500.yaml hostfiles/mine.yaml    then enter your nodes"
    yield f"       {programs}railgauge plan --hostfile hostfiles/mine.yaml"
    yield f"       {programs}python -m pytest --hostfile hostfiles/mine.yaml"
    yield f"       {programs}railgauge docs                            the documentation"
