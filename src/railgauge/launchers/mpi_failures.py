"""The messages of Open MPI and MPICH when ranks did not start, or died. Pure.

The texts are those that Open MPI 4.1 and MPICH 4.0 printed on hosts whose ssh, daemons and networks
were broken on purpose. Those of Open MPI 5 and of mismatched versions are from the source code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from railgauge.core.problems import ProblemKind

_DAEMONS = r"(?:orted|prted|hydra_pmi_proxy|hydra_bstrap_proxy)"

# Causes come before their consequences: ssh's message before that of the launcher, whose daemon
# then fails to start. Open MPI's advice lists every possible cause and is therefore not matched.
# If a kind is listed twice, its more specific messages come first.
_SIGNS: tuple[tuple[ProblemKind, str], ...] = (
    (
        ProblemKind.TOOL_MISSING,
        r"was unable to launch the specified application as it could not access\s+or execute an "
        r"executable:\s+Executable: [^\n]{1,200}\s+Node: \S{1,255}"
        r"|\[(?:proxy:|mpiexec@)[^\]\n]{1,80}\] HYDU_create_process [^\n]{1,80}execvp "
        r"error on file \S{1,200}"
        # The shell code that binds a rank beside its GPU prints this line.
        r"|railgauge: rank [0-9]{1,4} of \S{1,255}: \S{1,400}: not found",
    ),
    (
        ProblemKind.VERSION_MISMATCH,
        r"Open MPI detected a mismatch in versions between two processes"
        r"|PRTE detected a mismatch in versions between two processes"
        r"|UI version string does not match proxy version"
        rf"|{_DAEMONS}: Error: unknown option [^\n]{{1,80}}"
        r"|a different version of Open MPI|different versions of Open MPI|mismatched versions",
    ),
    (
        ProblemKind.HOST_KEY,
        r"No \S{1,20} host key is known for \S{1,255} and you have requested strict checking"
        r"|Host key for \S{1,255} has changed and you have requested strict checking",
    ),
    (
        ProblemKind.HOST_KEY,
        r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED",
    ),
    (
        ProblemKind.LOGIN_REFUSED,
        r"(?<!\S)(?:\S{1,80}@)?\S{1,255}: Permission denied \([a-z,-]{1,80}\)"
        r"|Permission denied \(publickey|Too many authentication failures",
    ),
    (
        ProblemKind.NAME_NOT_RESOLVED,
        r"Could not resolve hostname \S{1,255}: [^\n]{1,80}|Name or service not known"
        r"|Temporary failure in name resolution|No address associated with hostname"
        r"|Name does not resolve|HYDU_getfullhostname|getaddrinfo"
        r"|unable to get host address for \S{1,255}",
    ),
    (ProblemKind.HOST_UNREACHABLE, r"ssh: connect to host \S{1,255} port \d{1,5}: [^\n]{1,80}"),
    (ProblemKind.RUN_AS_ROOT, r"attempt to run as root"),
    (
        ProblemKind.BINDING_OVERLOAD,
        r"result in binding more\s{1,9}processes than cpus on a resource:"
        r"(?:\s{1,9}Bind to:[^\n]{0,80}\s{1,9}Node: {1,20}\S{1,255})?",
    ),
    (
        ProblemKind.NOT_ENOUGH_SLOTS,
        r"not enough slots available[^\n]{0,80}\n?[^\n]{0,80}"
        r"|requested more processes than the ppr|binding more processes than the number",
    ),
    (
        ProblemKind.LAUNCHER_DAEMON_MISSING,
        rf"(?:(?<!\S)\S{{1,80}}/)?{_DAEMONS}: (?:command not found|not found|No such file|"
        r"Permission denied)[^\n]{0,80}",
    ),
    # Hydra's own proxy ended before it started any rank, as a proxy of another version does.
    (
        ProblemKind.LAUNCHER_DAEMON_LOST,
        r"\[mpiexec@[^\]\n]{1,80}\] control_cb \([^\n]{1,80}assert \(!closed\)",
    ),
    (
        ProblemKind.LAUNCHER_DAEMON,
        r"railgauge: launch: [^\n]{1,200}"
        r"|was unable to reliably start one or more daemons|An ORTE daemon has unexpectedly"
        r"|ORTE has lost communication|PRTE has lost communication|A daemon \(pid"
        r"|unable to reach one or more"
        r"|tcp_peer_send_blocking|HYDU_sock_connect|unable to connect from"
        r"|failed to start a daemon",
    ),
    (
        ProblemKind.RANK_DIED,
        r"noticed that process rank \d{1,7} with PID \d{1,9} on node \S{1,255} exited on signal "
        r"[^\n]{1,60}"
        r"|BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES(?:\s+=\s+PID \d{1,9} RUNNING AT "
        r"\S{1,255}\s+=\s+EXIT CODE: \d{1,5})?",
    ),
    (
        ProblemKind.RANK_DIED,
        r"exited on signal|KILLED BY SIGNAL|returned\s+a non-zero exit code"
        r"|exited with non-zero status",
    ),
)
_COMPILED = tuple((kind, re.compile(sign)) for kind, sign in _SIGNS)
# A sign is searched for only in a text with one of its words: a healthy output has none of them,
# and trying each sign at each position takes several times as long. Each alternative has a word.
_WORDS: Mapping[ProblemKind, tuple[str, ...]] = {
    ProblemKind.TOOL_MISSING: ("unable to launch the", "HYDU_create_process", "railgauge: rank "),
    ProblemKind.VERSION_MISMATCH: ("mismatch", "version string", "unknown option", " of Open MPI"),
    ProblemKind.HOST_KEY: (" host key is known", "Host key ", "HOST IDENTIFICATION"),
    ProblemKind.LOGIN_REFUSED: ("Permission denied", "Too many authentication failures"),
    ProblemKind.NAME_NOT_RESOLVED: (
        "resolve hostname", "service not known", "name resolution", "HYDU_getfull", "getaddrinfo",
        "get host address", "address associated", "does not resolve",
    ),
    ProblemKind.HOST_UNREACHABLE: ("connect to host",),
    ProblemKind.RUN_AS_ROOT: ("run as root",),
    ProblemKind.BINDING_OVERLOAD: ("result in binding more",),
    ProblemKind.NOT_ENOUGH_SLOTS: ("slots available", "processes than the "),
    ProblemKind.LAUNCHER_DAEMON_MISSING: ("not found", "No such file", "Permission denied"),
    ProblemKind.LAUNCHER_DAEMON_LOST: ("control_cb",),
    ProblemKind.LAUNCHER_DAEMON: (
        "railgauge: launch: ", "start one or more", "ORTE daemon", "has lost comm", "A daemon ",
        "reach one or more", "tcp_peer_send", "HYDU_sock", "unable to connect", "start a daemon",
    ),
    ProblemKind.RANK_DIED: (
        "exited on signal", "BAD TERMINATION", "KILLED BY", "exit code", "non-zero status",
    ),
}  # fmt: skip


def find(text: str) -> Iterator[tuple[ProblemKind, str]]:
    """Yield each kind of failure in ``text`` with the text that shows it, most specific first."""
    seen: set[ProblemKind] = set()
    may_be = {kind for kind, words in _WORDS.items() if any(word in text for word in words)}
    for kind, sign in _COMPILED if may_be else ():
        if kind in may_be - seen and (found := sign.search(text)):
            seen.add(kind)
            yield kind, " ".join(_context(text, found).split())


def _context(text: str, found: re.Match[str]) -> str:
    """Return the match with the rest of its first and last line, at most 200 characters of each."""
    start = text.rfind("\n", max(0, found.start() - _LONGEST), found.start()) + 1
    start = max(start, found.start() - _LONGEST)
    end = text.find("\n", found.end())
    return text[start : min(end if end >= 0 else len(text), found.end() + _LONGEST)]


_LONGEST = 200
