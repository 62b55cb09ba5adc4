import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.training.mpirun import PATIENCE, ROOT, mpirun, mpirun_variables

_RANK = """\
import os, sys, time
from training.runtime.lost_launcher import end_with_the_launcher
end_with_the_launcher()
print(os.getpid(), flush=True)
time.sleep(float(sys.argv[1]))
"""


@contextmanager
def piped(command: list[str], **variables: str) -> Iterator["subprocess.Popen[str]"]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_")}
    environment |= variables
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        yield process


@pytest.mark.parametrize("variable", ["HOROVOD_RANK", "OMPI_COMM_WORLD_RANK"])
def test_a_rank_ends_when_its_output_is_closed(variable: str) -> None:
    with piped([sys.executable, "-c", _RANK, "600"], **{variable: "0"}) as process:
        assert process.stdout
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=PATIENCE) == 1
        assert process.stderr
        assert process.stderr.read() == (
            "error: the other end of this rank's output is closed, as when its launcher is lost: the rank ends\n"
        )


def test_a_rank_without_output_continues() -> None:
    program = "import os, time\nos.close(1)\n" + _RANK.replace("print(os.getpid(), flush=True)", "")
    subprocess.run([sys.executable, "-c", program, "1"], cwd=ROOT, env=os.environ | {"HOROVOD_RANK": "0"}, check=True)


def test_a_rank_of_a_killed_mpirun_ends_without_open_mpi_s_help(tmp_path: Path) -> None:
    # The program never calls MPI, whose threads would notice the loss.
    with piped([*mpirun(1), "-c", _RANK, "600"], **mpirun_variables(tmp_path)) as launcher:
        assert launcher.stdout
        rank = psutil.Process(int(launcher.stdout.readline()))
        launcher.kill()
        rank.wait(timeout=PATIENCE)


def test_a_program_without_a_launcher_continues() -> None:
    with piped([sys.executable, "-c", _RANK, "1"]) as process:
        assert process.stdout
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=PATIENCE) == 0


def test_a_rank_whose_output_is_a_file_continues(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:
        command = [sys.executable, "-c", _RANK, "0.2"]
        environment = os.environ | {"HOROVOD_RANK": "0"}
        subprocess.run(command, cwd=ROOT, env=environment, stdout=log, check=True, timeout=PATIENCE)
