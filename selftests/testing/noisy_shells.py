"""Login shells whose start-up files print, as on sites with banners, conda, and ``echo``."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

# The start-up file that each shell reads for a command over ssh. bash reads its own only if it
# finds itself started by sshd; Debian's and Red Hat's do.
START_FILES = {
    "bash": ".bashrc",
    "zsh": ".zshenv",
    "fish": ".config/fish/config.fish",
    "tcsh": ".tcshrc",
}
_BANNER = "Welcome to the cluster! All use is *monitored*; ask 'the desk'.\n" * 4000
# A line on stdout comes at once, the rest later: whoever takes the first line takes the wrong one.
# The last has no line end.
_START = """\
echo "held by the banner"
cat {folder}/banner
cat {folder}/banner >{stderr}
sleep 0.02
printf "(base) activated"
"""


def installed(name: str) -> str | None:
    return shutil.which(name, path="/usr/bin:/bin:/usr/local/bin")


def start_file(folder: str) -> tuple[str, str]:
    """The text of a start-up file that prints, and that of the ``banner`` in ``folder``."""
    return _START.format(folder=folder, stderr="/dev/stderr"), _BANNER


def noisy(name: str, folder: Path) -> tuple[str, ...]:
    """The argv of the shell ``name`` with a home in ``folder`` whose start-up file prints."""
    home, program = folder / "home", installed(name)
    assert program
    start = home / START_FILES[name]
    start.parent.mkdir(parents=True)
    text, banner = start_file(shlex.quote(str(folder)))
    start.write_text(text)
    (folder / "banner").write_text(banner)
    as_by_sshd = (f"HOME={home}", f"XDG_CONFIG_HOME={home}/.config", "SSH_CLIENT=::1 1 22")
    return ("env", "-u", "SHLVL", "-u", "ZDOTDIR", *as_by_sshd, program)
