"""MPI under the seccomp profile of the pods, with real launchers: no call that it needs is rejected."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.containerd_profile import reject_calls
from tests.training.mpirun import mpirun_variables
from training_workloads.mpijob.launcher_argv import HOSTFILE, mpirun_command

# Without mpi4py: sums vectors that are too long for one message of MPI's shared memory.
RANK = """
import ctypes, os, sys

mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(238, 0, None, 0)
sys.stdout.write(f"memory policy: {os.strerror(ctypes.get_errno())}\\n")

def handle(name):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))

mpi.MPI_Init(None, None)
count = 4 << 20
own, total = (ctypes.c_float * count)(*([1.0] * count)), (ctypes.c_float * count)()
operation, world = handle("ompi_mpi_op_sum"), handle("ompi_mpi_comm_world")
mpi.MPI_Allreduce(own, total, count, handle("ompi_mpi_float"), operation, world)
sys.stdout.write(f"sum: {total[0]} {total[count - 1]}\\n")
mpi.MPI_Finalize()
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter has the call numbers of x86-64")
@pytest.mark.parametrize("ranks_per_socket", [None, 2])
def test_ranks_of_a_node_exchange_large_messages(
    environment: Path, tmp_path: Path, ranks_per_socket: int | None
) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("localhost slots=2\n")
    command = mpirun_command(2, [], [sys.executable, "-c", RANK], ranks_per_socket=ranks_per_socket)
    words = [str(hostfile) if word == HOSTFILE else word for word in command]
    path = f"{environment}/bin{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "LD_LIBRARY_PATH": f"{environment}/lib"}
    variables = os.environ | mpirun_variables(tmp_path / "mpi") | given
    done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=120, preexec_fn=reject_calls)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("memory policy: Operation not permitted") == 2
    assert done.stdout.count("sum: 2.0 2.0") == 2
    assert "expected" not in done.stderr
