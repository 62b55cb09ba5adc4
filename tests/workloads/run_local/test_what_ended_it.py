import pytest
from training_workloads.run_local.failure import exit_code, what_ended_it

# What the launchers wrote here when rank 1 was killed by SIGKILL, or ended with exit code 3.
OPEN_MPI_5_KILLED = """--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 2850 on node vm exited on
signal 9 (Killed).
--------------------------------------------------------------------------"""
OPEN_MPI_5_EXIT = """--------------------------------------------------------------------------
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-vm-2878@1,1]
   Exit code:    3
--------------------------------------------------------------------------"""
OPEN_MPI_4_EXIT = """mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[2938,1],1]
  Exit code:    3
"""
OPEN_MPI_4_UNKNOWN = """Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted."""
HOROVOD_ELASTIC = """RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus \
causing the job to be terminated. The first process to do so was:
Process name: localhost[1]
Exit code: 137
"""
HOROVOD = HOROVOD_ELASTIC.replace("localhost[1]", "1").replace("137", "3")
ABORT = "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n  Proc: [[1,1],1]\n  Errorcode: 3"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (OPEN_MPI_5_KILLED, 137, "rank 1 was ended by SIGKILL"),
        (OPEN_MPI_5_EXIT, 3, "rank 1 ended with exit code 3"),
        (
            OPEN_MPI_5_EXIT.replace("    3", "    75"),
            75,
            "rank 1 ended with exit code 75 (stopped on request, the state is saved: a restart resumes)",
        ),
        (OPEN_MPI_4_EXIT, 3, "rank 1 ended with exit code 3"),
        (HOROVOD_ELASTIC, 1, "rank 1 was ended by SIGKILL"),
        (HOROVOD, 1, "rank 1 ended with exit code 3"),
        (ABORT, 3, "rank 1 ended with exit code 3"),
        (OPEN_MPI_4_UNKNOWN, 3, "mpirun ended with exit code 3"),
        (OPEN_MPI_4_UNKNOWN, 137, "mpirun ended with exit code 137, as a rank that was ended by SIGKILL"),
        ("", 255, "mpirun ended with exit code 255"),
        (OPEN_MPI_5_KILLED, -9, "mpirun was ended by SIGKILL"),
    ],
)
def test_what_ended_a_run(words: str, status: int, sentence: str) -> None:
    assert what_ended_it("mpirun", status, words) == sentence


@pytest.mark.parametrize(("status", "code"), [(0, 0), (3, 3), (-9, 137), (-15, 143)])
def test_a_signal_is_an_exit_code_above_128(status: int, code: int) -> None:
    assert exit_code(status) == code
