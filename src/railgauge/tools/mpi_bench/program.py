"""mpi-bench: speed and correctness of MPI's own collectives between the hosts of a launch.

A launcher starts it, one process a rank: ``mpirun … mpi-bench all_reduce -b 1048576``. It needs
mpi4py and no other module of this project, so that this one file is enough on a node.

Rank 0 prints these lines, each of which begins with ``mpi-bench``::

    mpi-bench version 1
    mpi-bench run collective=all_reduce ranks=2 type=float32 iterations=5 warmup=1 cycles=1
    mpi-bench library Open MPI v4.1.4 …
    mpi-bench rank 0 node01
    mpi-bench rank 1 node02
    mpi-bench row size=1048576 cycle=0 time_us=9011.214 algbw=0.116364 busbw=0.116364 wrong=0
    mpi-bench end rows=1 wrong=0

``size`` is the message size in bytes, as nccl-tests counts it; ``time_us`` the mean time of an
iteration on the slowest rank; ``algbw`` (GB/s, 10^9) size over time; ``busbw`` algbw times the
factor of the collective (all_reduce: 2(n-1)/n; all_gather, reduce_scatter and alltoall: (n-1)/n;
broadcast: 1). ``wrong`` counts wrong elements over all ranks.
"""

from __future__ import annotations

import argparse
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

VERSION = 1
_ELEMENT_BYTES = 4
_PERIOD = 7  # of the pattern: its sums are whole numbers, which float32 holds exactly
_MOST_BYTES = 1 << 32


@dataclass(frozen=True)
class Shape:
    """A collective of ``n`` ranks: the factor of busbw, and the elements sent and received."""

    factor: Callable[[int], float]
    sends: Callable[[int, int], int]
    gets: Callable[[int, int], int]
    call: Callable[[Any, Any, Any], None]


def _whole(count: int, _ranks: int) -> int:
    return count


def _part(count: int, ranks: int) -> int:
    return count // ranks


def _share(ranks: int) -> float:
    return (ranks - 1) / ranks


SHAPES = {
    "all_reduce": Shape(
        lambda n: 2 * _share(n), _whole, _whole, lambda comm, a, b: comm.Allreduce(a, b)
    ),
    "all_gather": Shape(_share, _part, _whole, lambda comm, a, b: comm.Allgather(a, b)),
    "reduce_scatter": Shape(
        _share, _whole, _part, lambda comm, a, b: comm.Reduce_scatter_block(a, b)
    ),
    "alltoall": Shape(_share, _whole, _whole, lambda comm, a, b: comm.Alltoall(a, b)),
    "broadcast": Shape(lambda _: 1.0, _whole, _whole, lambda comm, a, _: comm.Bcast(a)),
}


@dataclass(frozen=True)
class MpiBenchOptions:
    """The command line."""

    collective: str
    sizes: tuple[int, ...]
    iterations: int
    warmup: int
    cycles: int


def read_options(argv: Sequence[str] | None = None) -> MpiBenchOptions:
    """Read the command line; end with a line on stderr and exit code 2 if it is invalid."""
    parser = argparse.ArgumentParser(prog="mpi-bench")
    parser.add_argument("collective", choices=sorted(SHAPES))
    parser.add_argument("-b", "--begin", type=int, default=1 << 20, metavar="BYTES")
    parser.add_argument("-e", "--end", type=int, metavar="BYTES", help="default: as --begin")
    parser.add_argument("-f", "--factor", type=int, default=2)
    parser.add_argument("-n", "--iterations", type=int, default=5)
    parser.add_argument("-w", "--warmup", type=int, default=1)
    parser.add_argument("-N", "--cycles", type=int, default=1, help="rows for each size")
    given = parser.parse_args(argv)
    end = given.begin if given.end is None else given.end
    if not _ELEMENT_BYTES <= given.begin <= end <= _MOST_BYTES:
        parser.error(f"sizes from {given.begin} to {end}: give {_ELEMENT_BYTES} to {_MOST_BYTES}")
    if given.factor < 2 or min(given.iterations, given.cycles) < 1 or given.warmup < 0:  # noqa: PLR2004
        parser.error("factor must be 2 or more, iterations and cycles 1 or more, warmup 0 or more")
    sizes = tuple(_sweep(given.begin, end, given.factor))
    return MpiBenchOptions(given.collective, sizes, given.iterations, given.warmup, given.cycles)


def _sweep(begin: int, end: int, factor: int) -> Iterator[int]:
    size = begin
    while size <= end:
        yield size
        size *= factor


def _pattern(count: int, offset: int, factor: int = 1) -> array[float]:
    """Return ``count`` elements of the pattern, times ``factor``, plus ``offset``."""
    period = array("f", [factor * index + offset for index in range(_PERIOD)])
    return (period * (count // _PERIOD + 1))[:count]


def _expected(collective: str, count: int, rank: int, ranks: int) -> array[float]:
    """Return what a rank must receive if each rank ``r`` sends the pattern plus ``r``."""
    part = count // ranks
    if collective == "broadcast":
        return _pattern(count, 0)
    if collective == "all_gather":
        return _joined(_pattern(part, sender) for sender in range(ranks))
    if collective == "alltoall":
        own = slice(rank * part, (rank + 1) * part)
        return _joined(_pattern(count, sender)[own] for sender in range(ranks))
    summed = _pattern(count, ranks * (ranks - 1) // 2, ranks)
    return summed if collective == "all_reduce" else summed[rank * part : (rank + 1) * part]


def _joined(parts: Iterator[array[float]]) -> array[float]:
    whole = array("f")
    for part in parts:
        whole.extend(part)
    return whole


def count_wrong(got: array[float], wanted: array[float]) -> int:
    """Return the number of elements that differ; ``nan`` counts as wrong."""
    if got.tobytes() == wanted.tobytes():
        return 0
    wrong = sum(one != other for one, other in zip(got, wanted))  # noqa: B905 - new in Python 3.10
    return wrong + abs(len(got) - len(wanted))


def measure(mpi: Any, options: MpiBenchOptions) -> int:
    """Print the table on rank 0; return the wrong elements over all ranks and rows."""
    comm = mpi.COMM_WORLD
    rank, ranks = comm.Get_rank(), comm.Get_size()
    _print_header(mpi, options, rank, ranks)
    rows = total = 0
    for size in options.sizes:
        for cycle in range(options.cycles):
            time_s, wrong = _row(mpi, options, size)
            rows, total = rows + 1, total + wrong
            if rank == 0:
                _print_row(options.collective, ranks, (size, cycle, time_s, wrong))
    if rank == 0:
        print(f"mpi-bench end rows={rows} wrong={total}", flush=True)
    return total


def _row(mpi: Any, options: MpiBenchOptions, size: int) -> tuple[float, int]:
    """Return seconds of an iteration on the slowest rank, and wrong elements of all ranks."""
    comm, shape = mpi.COMM_WORLD, SHAPES[options.collective]
    rank, ranks = comm.Get_rank(), comm.Get_size()
    count = size // _ELEMENT_BYTES
    sent = _pattern(count, rank)[: shape.sends(count, ranks)]
    got = array("f", bytes(_ELEMENT_BYTES * shape.gets(count, ranks)))
    for _ in range(options.warmup):
        shape.call(comm, sent, got)
    comm.Barrier()
    start_s = mpi.Wtime()
    for _ in range(options.iterations):
        shape.call(comm, sent, got)
    time_s = (mpi.Wtime() - start_s) / options.iterations
    answer = sent if options.collective == "broadcast" else got
    wrong = count_wrong(answer, _expected(options.collective, count, rank, ranks))
    return comm.allreduce(time_s, op=mpi.MAX), comm.allreduce(wrong, op=mpi.SUM)


def _print_header(mpi: Any, options: MpiBenchOptions, rank: int, ranks: int) -> None:
    names = mpi.COMM_WORLD.gather(mpi.Get_processor_name(), root=0)
    if rank:
        return
    library = " ".join(mpi.Get_library_version().replace("\0", " ").split())
    asked = f"iterations={options.iterations} warmup={options.warmup} cycles={options.cycles}"
    print(f"mpi-bench version {VERSION}")
    print(f"mpi-bench run collective={options.collective} ranks={ranks} type=float32 {asked}")
    print(f"mpi-bench library {library[:160]}")
    for number, name in enumerate(names):
        print(f"mpi-bench rank {number} {name}")
    sys.stdout.flush()


def _print_row(collective: str, ranks: int, row: tuple[int, int, float, int]) -> None:
    size, cycle, time_s, wrong = row
    algbw = size / time_s / 1e9 if time_s else 0.0
    busbw = algbw * SHAPES[collective].factor(ranks)
    print(
        f"mpi-bench row size={size} cycle={cycle} time_us={time_s * 1e6:.3f} "
        f"algbw={algbw:.6f} busbw={busbw:.6f} wrong={wrong}",
        flush=True,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if every element was right, 1 if not, 2 if a size does not divide by the ranks."""
    options = read_options(argv)
    from mpi4py import MPI  # noqa: PLC0415 - invalid arguments end before MPI starts

    ranks = MPI.COMM_WORLD.Get_size()
    parts = 1 if options.collective in {"all_reduce", "broadcast"} else ranks
    unit = _ELEMENT_BYTES * parts
    if odd := [size for size in options.sizes if size % unit]:
        if MPI.COMM_WORLD.Get_rank() == 0:
            print(f"mpi-bench: {odd[0]} bytes are not a multiple of {unit}", file=sys.stderr)
        return 2
    return 1 if measure(MPI, options) else 0


if __name__ == "__main__":
    sys.exit(main())
