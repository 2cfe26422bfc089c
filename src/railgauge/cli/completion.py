"""``railgauge completion SHELL``: what a shell needs to complete the words of a command."""

from __future__ import annotations

import argparse
from pathlib import Path

from railgauge import tools
from railgauge.cli import COMMANDS, parser, text
from railgauge.cli.pages import MADE
from railgauge.site import contents

HELP = "print a script with which a shell completes commands, options, choices and files"
EXAMPLE = (
    "in the shell's start-up file: bash and zsh (after compinit): eval \"$(railgauge completion "
    'SHELL)"; fish: railgauge completion fish | source; tcsh: railgauge completion tcsh >FILE, '
    "and source FILE"
)
_SHELLS = ("bash", "zsh", "fish", "tcsh")
_FOLDERS = frozenset({"DIR", "FOLDER"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def run(options: argparse.Namespace) -> int:
    import shtab  # noqa: PLC0415 - no other command needs it

    whole = parser(COMMANDS)
    _mark(whole)
    script = shtab.complete(whole, options.shell)
    if options.json:
        text.print_json({"shell": options.shell, "script": script})
    else:
        print(script)
    return 0


def _mark(whole: argparse.ArgumentParser) -> None:
    """Mark for shtab which arguments are files or folders, and which have known names."""
    names = {"TOOL": tools.NAMES, "PAGE": (*contents.pages(contents.documentation()), *MADE)}
    for action in whole._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _mark(command)
        elif action.metavar in names:
            action.choices = names[action.metavar]
        elif action.metavar in _FOLDERS:
            action.complete = "directory"  # type: ignore[attr-defined]
        elif action.type is Path or action.metavar == "FILE":
            action.complete = "file"  # type: ignore[attr-defined]
