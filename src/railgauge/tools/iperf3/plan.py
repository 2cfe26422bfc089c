"""What to run: a server for one test on the target, then the client on the source."""

from __future__ import annotations

from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.options import Options, check_port, one_size, program, read_options

_OPTIONS = frozenset({"duration_s", "streams", "reverse", "omit_s", "bind_device"})
_MOST_STREAMS = 128


def commands(setting: Setting, port: int) -> tuple[Command, ...]:
    """The server on the pair's target, which listens on TCP ``port``, then the client.

    Options: ``duration_s`` (10), ``streams`` (1), ``reverse`` (the target sends), ``omit_s`` (how
    much of the start is left out), ``bind_device`` (bind both sides to the pairing's NIC). A size
    of the case is the length of each write (``-l``). Raises ``BadInput`` for anything else.
    """
    options = read_options(setting, _OPTIONS)
    check_port(port, options.where)
    source, target = _pair(setting)
    node, pairing = setting.cluster.node(target), setting.case.pairing
    address = node.reached_over(pairing.nic) if pairing else node.data_address
    tool, bind = program(setting, "iperf3", "iperf3"), _bind(setting, options)
    server = (tool, "-s", "-1", "-p", str(port), *bind)
    client = (tool, "-c", address, "-p", str(port), "-J", *bind, *_flags(setting, options))
    return (
        _command(setting, target, server, port),
        _command(setting, source, client, None),
    )


def _pair(setting: Setting) -> tuple[str, str]:
    if len(setting.case.nodes) != 2:  # noqa: PLR2004 - a pair
        raise BadInput("iperf3 runs between two nodes", where=setting.measurement.name)
    return setting.case.nodes[0], setting.case.nodes[1]


def _bind(setting: Setting, options: Options) -> tuple[str, ...]:
    if not options.flag("bind_device"):
        return ()
    if setting.case.pairing is None:
        options.refuse("bind_device without a NIC", "measure it over the platform's pairings")
    return ("--bind-dev", setting.case.pairing.nic)


def _flags(setting: Setting, options: Options) -> tuple[str, ...]:
    streams = options.count("streams", 1) or 1
    if streams > _MOST_STREAMS:
        options.refuse(f"{streams} streams", f"iperf3 takes {_MOST_STREAMS} at most")
    flags = ["-t", str(options.count("duration_s", 10)), "-P", str(streams)]
    if omitted_s := options.count("omit_s", 0, least=0):
        flags += ["-O", str(omitted_s)]
    if size := one_size(setting):
        flags += ["-l", str(size)]
    return (*flags, *(("-R",) if options.flag("reverse") else ()))


def _command(setting: Setting, node: str, argv: tuple[str, ...], listens_on: int | None) -> Command:
    return Command(
        node=node,
        argv=argv,
        environment=dict(setting.environment),
        time_limit_s=setting.measurement.time_limit_s,
        listens_on=listens_on,
    )
