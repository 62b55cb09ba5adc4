"""Which processes belong to a start: marked by a variable, and the forked ranks by a file each."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

#: In the environment of every process of a start, also of orphans: the start's folder.
MARK = "FAULTS_START"

#: What mpirun starts instead of a rank that is forked.
FORK_CLIENT = str(Path(__file__).with_name("fork_client.py"))

# Of mpirun, Horovod and torchrun.
_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "RANK")


def own_rank() -> str:
    """Return the rank that the launcher gave this process."""
    return next(os.environ[name] for name in _RANK_VARIABLES if name in os.environ)


def note_rank() -> None:
    """Note this process as a rank of its start: the system shows a forked process with the variables of its parent."""
    process = psutil.Process()
    # With its time, because another process may get its number after its end.
    (Path(os.environ[MARK]) / f"rank-{own_rank()}-{process.pid}-{process.create_time()}").touch()


def forked_ranks(folder: Path, rank: int | None = None) -> list[psutil.Process]:
    """Return the living ranks that were noted."""
    living = []
    for path in folder.glob(f"rank-{'*' if rank is None else rank}-*-*"):
        _, _, pid, created = path.name.split("-")
        with suppress(psutil.Error):
            process = psutil.Process(int(pid))
            if process.create_time() == float(created) and process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
    return living


def marked(folder: Path) -> Iterator[tuple[psutil.Process, dict[str, str]]]:
    """Yield all living processes that have the mark of a start, with their environment."""
    for process in psutil.process_iter():
        # Ended by now, or a zombie.
        with suppress(psutil.Error):
            variables = process.environ()
            if variables.get(MARK) == str(folder):
                yield process, variables


def rank_of(process: psutil.Process, variables: dict[str, str]) -> str | None:
    """Return the rank that a marked process is, which the client of a forked one is not."""
    try:
        if FORK_CLIENT in process.cmdline():
            return None
    except psutil.Error:
        # It has ended by now.
        return None
    return next((variables[name] for name in _RANK_VARIABLES if name in variables), None)


def kill(processes: Sequence[psutil.Process]) -> None:
    """Kill processes that may have ended, and wait a moment for their end."""
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(processes, timeout=1)


def marked_below(folder: Path) -> list[psutil.Process]:
    """Return all living processes of the starts below a folder, the forked ranks among them."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK, "").startswith(f"{folder}{os.sep}"):
                found.append(process)
    return found
