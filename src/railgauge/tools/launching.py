"""The command of a tool whose ranks a launcher starts. Pure."""

from __future__ import annotations

from dataclasses import replace

from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.core.terms import LaunchWay
from railgauge.launchers import Host, Launch, launcher, mpich, on_core
from railgauge.tools import Setting, container_of
from railgauge.tools.options import Options


def hosts(setting: Setting, ranks: int) -> tuple[Host, ...]:
    """Return the nodes of the case, each with this number of ranks."""
    nodes = (setting.cluster.node(name) for name in setting.case.nodes)
    return tuple(Host(node.name, node.data_address, ranks) for node in nodes)


def may_be_root(setting: Setting) -> bool:
    """Return whether the launcher may run as root: the hostfile's user may be, or a container's."""
    if container_of(setting.cluster, setting.measurement.tool):
        return True
    return setting.cluster.node(setting.case.nodes[0]).ssh.user in {None, "root"}


def sweep_flags(setting: Setting, options: Options) -> tuple[str, ...]:
    """Return the first size of the case, its last one, and the ``factor`` from one to the next.

    Raises ``BadInput`` for sizes that are not such a sweep.
    """
    sizes, factor = sorted(set(setting.case.sizes)), options.number("factor", 2, least=2)
    if not sizes or sizes[0] < 1:
        options.refuse(f"no message size to measure in {sizes}", "give sizes of 1 byte or more")
    swept = [sizes[0] * factor**n for n in range(len(sizes))]
    if sizes != swept:
        missing = next(size for size in swept if size not in sizes)
        remedy = f"give sizes each {factor} times the one before, or another factor"
        options.refuse(f"the sizes are not a sweep: {missing} is missing", remedy)
    return ("-b", str(sizes[0]), "-e", str(sizes[-1]), "-f", str(factor))


def launcher_options(setting: Setting, options: Options) -> tuple[str, ...]:
    """Return the launcher's arguments: those of the measurement, then those of the hostfile.

    The option ``launcher_args`` is a list, or one by launcher, ``{"openmpi": ["-mca", …]}``. An MCA
    parameter, a binding or a mapping of the hostfile replaces the measurement's: Open MPI refuses a
    parameter that is given twice. Raises ``BadInput`` if an argument of the measurement would
    differ by node.
    """
    given = options.values.get("launcher_args", ())
    if isinstance(given, dict):
        given = given.get(setting.cluster.launcher, ())
    if not isinstance(given, list | tuple) or not all(isinstance(word, str) for word in given):
        remedy = "give a list of words, or one by launcher"
        options.refuse(f"launcher_args is {given!r}", remedy)
    own = tuple(given)
    site = setting.cluster.launcher_args
    names = set(_named(site).values())
    replaced = {at for at, name in _named(own).items() if name in names}
    kept = (word for at, word in enumerate(own) if at not in replaced)
    return (*(_on_nodes(setting, word) for word in kept), *site)


def _on_nodes(setting: Setting, word: str) -> str:
    """Return the argument with the names of devices on the nodes, which must be the same on all.

    Open MPI takes no list with the name of an interface that a node does not have.
    """
    names = setting.platform.devices
    texts = [names.text_on(node, word) for node in setting.case.nodes]
    if len({frozenset(text.split(",")) for text in texts}) > 1:
        given = dict.fromkeys(texts)
        raise BadInput(
            f"the launcher's argument {word} would be {' or '.join(given)}, by node",
            where=setting.measurement.name,
            remedy="name the network in its place: set launcher_args: [-mca, btl_tcp_if_include,"
            " 10.0.0.0/24] in the hostfile",
        )
    return texts[0]


_PLACING = ("bind-to", "map-by", "cpu-bind")


def _named(words: tuple[str, ...]) -> dict[int, str]:
    """Return the place of each word of ``-mca NAME VALUE``, ``--bind-to VALUE``, … and its name."""
    found: dict[int, str] = {}
    for at, word in enumerate(words):
        option, equals, _ = word.partition("=")
        name, length = option.lstrip("-").replace("_", "-"), 1 if equals else 2
        if word in ("-mca", "--mca"):
            name, length = "".join(words[at + 1 : at + 2]), 3
        elif not word.startswith("-") or name not in _PLACING:
            continue
        if at + length <= len(words):
            found |= dict.fromkeys(range(at, at + length), name)
    return found


def launched(setting: Setting, launch: Launch, started: str) -> Command:
    """Return the launcher's command, which runs on the first node; its ranks run ``started``.

    With ``launch: through-suite`` the suite starts the launcher's daemons on the nodes. If the
    launcher is asked to bind each rank to a core, each rank prints its core.
    """
    others = {host.address: host.name for host in launch.hosts}
    through = setting.cluster.launch == LaunchWay.THROUGH_SUITE and len(others) > 1
    program = launch.program
    if on_core.is_asked(launch.options):
        program = on_core.on_core(program)
    launch = replace(launch, through_suite=through, program=program)
    argv = launcher(setting.cluster.launcher).argv(launch)
    return Command(
        node=setting.case.nodes[0],
        argv=argv,
        time_limit_s=setting.measurement.time_limit_s,
        environment={**(mpich.within(launch.ports) if launch.ports else {}), **launch.by_name},
        daemons_on=others if through else {},
        programs=(argv[0], started),
    )
