"""Open MPI's ``mpirun``, versions 4 and 5."""

from __future__ import annotations

from railgauge.launchers.model import Launch

_DAEMON_PORTS = 4  # one is enough; others may be taken


def argv(launch: Launch) -> tuple[str, ...]:
    """Return ``mpirun -np N --host a:8,b:8 … -x NAME program``."""
    hosts = ",".join(f"{host.address}:{host.ranks}" for host in launch.hosts)
    return (
        "mpirun",
        *(("--allow-run-as-root",) if launch.allow_run_as_root else ()),
        *("-np", str(launch.ranks), "--host", hosts),
        *_placement(launch),
        *_network(launch),
        *_ports(launch),
        *launch.options,
        *_environment(launch),
        *launch.program,
    )


def through(agent: str) -> dict[str, str]:
    """Return the variables of version 4 (OMPI) and of version 5, whose launcher is PRRTE."""
    # Version 4 hands the agent on to every daemon, which fails if it does not have that program.
    by = f"/bin/sh {agent}"
    return {
        "OMPI_MCA_plm_rsh_agent": by,
        "PRTE_MCA_plm_ssh_agent": by,
        # All daemons are started from the first node, none by another daemon.
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        # A daemon stays in the process group in which the suite started it, and ends with it.
        "OMPI_MCA_orte_leave_session_attached": "1",
        "PRTE_MCA_prte_leave_session_attached": "1",
    }


def _placement(launch: Launch) -> tuple[str, ...]:
    # Without this mapping Open MPI may distribute ranks over the nodes in turn. A test uses the GPU
    # with the number of the rank on its node, so consecutive ranks must run on the same node.
    mapping = ("--map-by", "slot") if not launch.has_option("--map-by", "-map-by") else ()
    if launch.has_option("--bind-to", "-bind-to"):
        return mapping
    return (*mapping, "--bind-to", launch.bind)


def _network(launch: Launch) -> tuple[str, ...]:
    """Return the options that set the network of the daemons that start the ranks (oob), and that
    of the ranks' own TCP messages (btl). Those that the options set are left out: Open MPI refuses
    a parameter that is given twice."""
    if not launch.network:
        return ()
    both = ("btl_tcp_if_include", "oob_tcp_if_include")
    names = (name for name in both if name not in launch.options)
    return tuple(part for name in names for part in ("-mca", name, launch.network))


def _ports(launch: Launch) -> tuple[str, ...]:
    """Return the options that limit the ports of the daemons (oob) and of the ranks (btl).

    A daemon listens on all ports that it is given, so the ranks have the others.
    """
    if launch.ports is None:
        return ()
    first, last = launch.ports
    ranks = first + _DAEMON_PORTS
    named = {
        "oob_tcp_dynamic_ipv4_ports": f"{first}-{ranks - 1}",
        "btl_tcp_port_min_v4": str(ranks),
        "btl_tcp_port_range_v4": str(last - ranks + 1),
    }
    given = ((name, value) for name, value in named.items() if name not in launch.options)
    return tuple(part for name, value in given for part in ("-mca", name, value))


def _environment(launch: Launch) -> tuple[str, ...]:
    values = (f"{name}={value}" for name, value in launch.by_value.items())
    return tuple(part for word in (*launch.by_name, *values) for part in ("-x", word))
