"""``railgauge verify``: check that a bundle is intact and that its verdict is confirmed.

The exit code is that of the verdict (0 accepted, 1 rejected, 10 incomplete, 11 accepted with
deviations) if the bundle verifies and is signed with the given key. Without such a signature it is
10 instead of 0 or 11, unless ``--unsigned`` is given. If the bundle does not verify, it is 1, with
one line ``railgauge: NOT VERIFIED: <file>: <why>`` on stderr. It is 2 for a file that is not a
bundle. With ``--json`` the key ``verified`` distinguishes the two meanings of 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railgauge import __version__
from railgauge.cli import text
from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput, NotVerified, Uncovered
from railgauge.core.terms import Verdict
from railgauge.planning import plan
from railgauge.planning.marks import marked_tests
from railgauge.planning.needs import Candidate, candidates
from railgauge.verdict.counts import RunVerdict

if TYPE_CHECKING:
    from railgauge.bundle.check import Report
    from railgauge.bundle.signing import Signature

HELP = "check a bundle, judge its transcripts again, and report whether its verdict is confirmed"
EXAMPLE = "example: railgauge verify night.railgauge --key acceptance.pub"

_NOT_VERIFIED = 1
_REJECTED, _INCOMPLETE = Verdict.REJECTED.exit_code, Verdict.INCOMPLETE.exit_code
_NOBODY = (
    "NOBODY VOUCHES FOR IT: give --key with the public key of who must have signed, or --unsigned "
    "to be content without"
)
_MOST_LINES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.add_argument(
        "--thresholds", type=Path, metavar="FILE", help="also judge by the limits of this file"
    )
    who = parser.add_mutually_exclusive_group()
    who.add_argument(
        "--unsigned",
        action="store_true",
        help="accept a bundle without a signature of a known key",
    )
    who.add_argument(
        "--key",
        type=Path,
        action="append",
        metavar="PUBLIC",
        help="the key that must have signed: an OpenSSH or PEM public key, or an allowed-signers "
        "file; may be given several times, and one of the keys must have signed",
    )
    parser.add_argument(
        "--require",
        type=_count,
        default=0,
        metavar="N",
        help="require N valid signatures of different keys: of those that --key names, if any",
    )


def run(options: argparse.Namespace) -> int:
    from railgauge.bundle import archive, check, signers  # noqa: PLC0415 - 0.3 s to import

    trusted = None
    if options.key:
        trusted = [one for path in options.key for one in signers.load(path, time.time())]
    other = _limits(options.thresholds) if options.thresholds else None
    try:
        with archive.opened(options.bundle) as held:
            report = check.verify(held, trusted, other, _tests(options.root), options.require)
    except NotVerified as error:
        if options.json:
            text.print_json({"verified": False, "file": error.where, "why": error.what})
        print(f"railgauge: NOT VERIFIED: {text.printable(str(error))}", file=sys.stderr)
        return _NOT_VERIFIED
    (_print_json if options.json else _print_text)(report)
    if report.is_vouched or options.unsigned:
        return report.exit_code
    if not options.json:
        print(_NOBODY)
    return report.exit_code if report.exit_code == _REJECTED else _INCOMPLETE


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(f"{text} is less than 1")
    return value


def _limits(path: Path) -> Platform:
    platform = thresholds.load_file(path, text.read(str(path)), path.parent)
    if complaints := list(plan.complaints(platform)):
        raise Uncovered(complaints[0], where=str(path))
    return platform


def _tests(root: Path) -> tuple[Candidate, ...]:
    """Return what the tests below ``root`` ask for; empty without a checkout."""
    try:
        return candidates(marked_tests(root))
    except BadInput:
        return ()


def _print_json(report: Report) -> None:
    about = report.statement.about
    data: dict[str, Any] = {
        "verified": True,
        "signature": _signature_json(report.signature),
        "signatures": [_signature_json(one) for one in report.signatures if one.fingerprint],
        "vouched": report.is_vouched,
        "limits": asdict(report.limits),
        "run_id": about.run_id,
        "evidence": about.evidence,
        "software": about.software,
        "texts_compared": report.is_own,
        "files": report.files,
        "one_machine": [list(nodes) for nodes in report.shared],
        "items": {"again": report.again, "kept": report.kept, "absent": report.absent},
        "verdict": report.verdict.to_json(),
        "not_limited_by_tests_here": list(report.unlisted),
        "redacted": text.redacted_json(about.redacted),
    }
    if report.other:
        data["under_other_limits"] = {
            "verdict": report.other.to_json(),
            "stands": report.other.verdict == report.verdict.verdict,
            "differences": [
                {"id": d.id, "recorded": d.recorded, "judged": d.judged, "reason": d.reason}
                for d in report.differences
            ],
        }
    text.print_json(data)


def _print_text(report: Report) -> None:
    about = report.statement.about
    print(
        f"run        {about.run_id}, {about.evidence.upper()} evidence, railgauge {about.software}"
    )
    for one in report.signatures:
        print(text.printable(f"signature  {_signature(one)}"))
    limits = report.limits
    print(text.printable(f"limits     {limits.platform}: {limits.title}, sha256 {limits.sha256}"))
    print(f"files      {report.files}, each as the statement says")
    print(f"redacted   {text.redacted(about.redacted)}")
    if not report.is_own:
        made = f"railgauge {about.software} made the run, this is {__version__}"
        print(f"texts      not compared: {made}")
    print(
        f"items      {report.again} judged again, {report.kept} taken as recorded (no evidence "
        f"decides them), {report.absent} never ended"
    )
    verdict, counts = report.verdict, asdict(report.verdict.counts)
    for nodes in report.shared:
        print(f"ONE MACHINE {', '.join(nodes[:_MOST_LINES])}: {len(nodes)} names, one boot id")
    print(f"level      {verdict.level}, tested {_coverage(verdict)}")
    if verdict.scope:
        print(text.printable(f"scope      {verdict.scope}"))
    lacking = f", {absent} not run" if (absent := counts.get("not_run", 0)) else ""
    print(
        f"verdict    {verdict.verdict}: it stands, asserted {counts['asserted']} of "
        f"{counts['planned']}{lacking}"
    )
    for line in verdict.measured_again:
        print(text.printable(f"again      {line}"))
    for deviation in verdict.deviations:
        line_text = f"{deviation.head}: {deviation.effect}; {deviation.signature}"
        print(text.printable(f"deviation  {line_text}"))
    for line in _not_limited(report):
        print(f"possible   {line}")
    if report.other:
        _print_other(report)


def _not_limited(report: Report) -> Iterator[str]:
    """Yield a line for what could have been tested on that cluster and was not."""
    verdict = report.verdict
    if verdict.not_limited is None:
        yield "here, not limited: the run did not keep which tests there were"
    elif verdict.excluded:
        yield verdict.excluded_line
    if report.unlisted:
        yield f"by the tests here, and not named by the run: {', '.join(report.unlisted)}"


def _coverage(verdict: RunVerdict) -> str:
    found = verdict.coverage.items()
    return ", ".join(f"{c['tested']} of {c['declared']} {what}" for what, c in found)


def _print_other(report: Report) -> None:
    assert report.other is not None
    for one in report.differences[:_MOST_LINES]:
        print(text.printable(f"  {one.id}: {one.recorded} -> {one.judged}  {one.reason}"))
    if len(report.differences) > _MOST_LINES:
        print(f"  and {len(report.differences) - _MOST_LINES} more (all with --json)")
    same = report.other.verdict == report.verdict.verdict
    word = "the same verdict" if same else "ANOTHER VERDICT"
    print(
        f"under these other limits {len(report.differences)} items differ: {word}, "
        f"{report.other.verdict}"
    )


def _signature_json(signature: Signature) -> dict[str, str | None]:
    key, name = signature.fingerprint or None, signature.name or None
    return {"state": signature.state, "key": key, "signer": name}


def _signature(signature: Signature) -> str:
    from railgauge.bundle.signing import TRUSTED, UNKNOWN  # noqa: PLC0415

    if signature.state == TRUSTED:
        return f"of {signature}, one of the given keys"
    if signature.unfit:
        return f"of {signature}: IT DOES NOT COUNT"
    if signature.state == UNKNOWN:
        return f"of {signature}, WHICH IS NOT KNOWN HERE: give --key"
    return "UNSIGNED: nothing proves who made this bundle"
