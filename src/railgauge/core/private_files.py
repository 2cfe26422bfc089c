"""The modes of the files that this process makes: private, or those of the user's umask."""

from __future__ import annotations

import os
from collections.abc import Callable

_PRIVATE = 0o077
_UNCHANGED = -1
_users: list[int] = []


def begin() -> Callable[[], None]:
    """Make all files private from now on: 0600, folders 0700; return what ends it.

    The umask belongs to the whole process: to all of its threads, and to plugins that write
    reports.
    """
    before = os.umask(_PRIVATE)
    _users.append(before)

    def end() -> None:
        os.umask(before)
        _users.remove(before)

    return end


def umask_of_commands() -> int:
    """Return the umask of commands that nodes run, the user's; -1 if this process has it anyway."""
    return _users[0] if _users else _UNCHANGED
