"""An MPI program without a compiler: MPICH's library by its fixed binary interface."""

import ctypes
import os
import sys

WORLD, INT, SUM = 0x44000000, 0x4C000405, 0x58000003

mpi = ctypes.CDLL("libmpich.so.12")
mpi.MPI_Init(None, None)
rank, size, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
mpi.MPI_Comm_size(WORLD, ctypes.byref(size))
mpi.MPI_Allreduce(ctypes.byref(rank), ctypes.byref(total), 1, INT, SUM, WORLD)
sys.stdout.write(f"{rank.value}/{size.value} {total.value} {os.environ['SLURMD_NODENAME']}\n")
sys.stdout.flush()
mpi.MPI_Finalize()
