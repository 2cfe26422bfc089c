"""The entry point of the package in pytest (``pytest11``): starts pytest where the site is.

pytest looks for its configuration near the paths of the command line, before it knows the options
of any plugin. For ``pytest --hostfile /etc/clusters/mine.yaml`` it takes the hostfile for a test,
looks in ``/etc/clusters``, finds neither ``tox.ini`` nor ``conftest.py``, and refuses
``--hostfile``. This module then starts pytest again with ``--hostfile=/etc/clusters/mine.yaml``,
which is not ambiguous.

The options, and everything else of the suite, belong to ``railgauge.plugin``, which the
``conftest.py`` of a site loads. In every other session this module does nothing.
"""

from __future__ import annotations

import os
import shlex
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.config import ConftestImportFailure

from railgauge.site import installed

# The options of railgauge.plugin whose value pytest may take for the path of a test. They are here
# because an import of that package would cost every session of other projects a second.
WITH_VALUE = (
    *("--hostfile", "--platform", "--replay", "--resume", "--deviations", "--lab-fault"),
    *("--soak", "--soak-below", "--shard"),
    *("--only", "--partners", "--partners-from", "--merged", "--run-id-file"),
)

_HOSTFILE = WITH_VALUE[0]
_NO_SITE = (
    "{here}: neither this folder nor one above it is a site of railgauge, so pytest does not know "
    "--hostfile and has no tests to run; change to the folder of your site, name its tests "
    "(pytest DIR/tests --hostfile FILE), or make a site: railgauge init DIR"
)
_ADDOPTS = "PYTEST_ADDOPTS"
_JOINED = pytest.StashKey[list[str]]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Iterator[None]:
    """Make this session an empty one if its configuration is not that of the site.

    Raises ``UsageError`` without a site, because ``--hostfile`` is then unknown, and if the site's
    ``conftest.py`` or a plugin fails: pytest may end with 1 then, the code of a rejected cluster.
    """
    invoked = early_config.invocation_params
    given = [os.fspath(arg) for arg in invoked.args]
    everywhere = [*shlex.split(os.environ.get(_ADDOPTS, "")), *given]
    if is_astray(everywhere, invoked.dir):
        early_config.stash[_JOINED] = joined(given)
        early_config.known_args_namespace.noconftest = True
        args.clear()  # options of the site's own conftest.py are not known here
    try:
        yield
    except (Exception, SystemExit) as error:
        failed = installed.failed_import(error)
        if isinstance(error, _REPORTED_BY_PYTEST if failed is None else pytest.UsageError):
            raise
        if found(everywhere, invoked.dir) is None:
            raise
        what = installed.explained(failed) if failed else _of_a_plugin(error)
        raise pytest.UsageError(f"railgauge: {what}") from None
    if is_homeless(everywhere, invoked.dir) and _is_unknown(_HOSTFILE, parser, args):
        raise pytest.UsageError(_NO_SITE.format(here=invoked.dir))


_REPORTED_BY_PYTEST = (pytest.UsageError, ConftestImportFailure)  # in one line, and exit code 4


def _of_a_plugin(error: BaseException) -> str:
    """The line about an error of a plugin, such as one that has an option of this suite too."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    message = " ".join(str(error).split())
    return (
        f"a plugin or a conftest.py has failed: {type(error).__name__}: {message}"
        f" ({Path(last.filename).name}:{last.lineno}); switch that plugin off: -p no:NAME"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    again = config.stash.get(_JOINED, None)
    if again is None:
        return None
    config._ensure_unconfigure()  # gives back the streams that this session has captured
    if added := os.environ.get(_ADDOPTS):
        os.environ[_ADDOPTS] = shlex.join(joined(shlex.split(added)))
    return pytest.main(again, config.invocation_params.plugins)


def is_astray(words: Sequence[str], here: Path) -> bool:
    """Whether the value of an option leads pytest out of the site in which it was started.

    A file that is not there counts too: the run may make it (``--run-id-file``) before a worker
    starts, which has the same words.
    """
    values = [here / value for _, value in _pairs(words)]
    if not values:
        return False
    site = found(words, here)
    return site is not None and any(site not in Path(os.path.abspath(p)).parents for p in values)  # noqa: PTH100 - keeps links, as pytest does


def is_homeless(words: Sequence[str], here: Path) -> bool:
    """Whether a hostfile is given where there is no site."""
    asked = any(word.split("=")[0] == _HOSTFILE for word in words)
    return asked and found(words, here) is None


def _is_unknown(option: str, parser: pytest.Parser, args: Sequence[str]) -> bool:
    """Whether no plugin and no ``conftest.py`` that pytest has loaded has the option."""
    _, unknown = parser.parse_known_and_unknown_args(list(args))
    return any(word.split("=")[0] == option for word in unknown)


def found(words: Sequence[str], here: Path) -> Path | None:
    """The site that the paths of a command line are in, or else the one around ``here``."""
    named = [here / word.split("::")[0] for word in joined(words) if not word.startswith("-")]
    for start in (*filter(_exists, named), here):
        whole = Path(os.path.abspath(start))  # noqa: PTH100 - keeps links, as pytest does
        for folder in (whole, *whole.parents):
            if _is_site(folder):
                return folder
    return None


def _exists(path: Path) -> bool:
    """Whether there is such a file; the value of an option may be no name of one, as that of -k."""
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def joined(words: Sequence[str]) -> list[str]:
    """The same words with ``--hostfile FILE`` as one, ``--hostfile=FILE``."""
    after = {place: f"{words[place]}={value}" for place, value in _pairs(words)}
    return [after.get(place, word) for place, word in enumerate(words) if place - 1 not in after]


def _pairs(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The place of each option that has its value in the next word, and that value."""
    place = 0
    while place < len(words) - 1:
        if words[place] == "--":
            return
        if words[place] in WITH_VALUE:
            yield place, words[place + 1]
            place += 1
        place += 1


def _is_site(folder: Path) -> bool:
    """Whether the folder's ``conftest.py`` loads the suite."""
    try:
        return b"railgauge.plugin" in (folder / "conftest.py").read_bytes()
    except OSError:
        return False
